"""Rows as counts: how many of each substream arrived in each step and still wait (fidelity `counts`).

A cell's rows arrive evenly over its step; each substream's first one at a phase of its own, so that substreams do not
all beat at once. Cells are taken in order of time: what a step is, and nothing finer, is what `counts` does not know.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.simulator.arrays import Floats, Ints, shared_out

Table = NDArray[np.int64]  # [step modulo length, substream]
GOLDEN = 0.6180339887498949


class Cells:
    """A ring of steps that grows when backlog outlasts it. `oldest` is the first step that may have rows."""

    __slots__ = ("oldest", "table")

    def __init__(self, substreams: int, steps: int = 64) -> None:
        self.table: Table = np.zeros((steps, substreams), dtype=np.int64)
        self.oldest = 0

    def put(self, first: int, rows: Table) -> None:
        """The rows of the steps from `first` on, which follow all that were put before."""
        while first + rows.shape[0] - self.oldest > self.table.shape[0]:
            self._grow(first)
        self.table[np.arange(first, first + rows.shape[0]) % self.table.shape[0]] = rows

    def _grow(self, end: int) -> None:
        before = self.table
        self.table = np.zeros((2 * before.shape[0], before.shape[1]), dtype=np.int64)
        steps = np.arange(self.oldest, end)
        self.table[steps % self.table.shape[0]] = before[steps % before.shape[0]]

    def steps_until(self, newest: int) -> Ints:
        """Places in the ring, oldest first."""
        places: Ints = np.arange(self.oldest, newest + 1) % self.table.shape[0]
        return places

    def spread_over(self, substreams: int, newest: int) -> None:
        """Other substreams from now on: what waits is spread evenly over them."""
        before, places = self.table, self.steps_until(newest)
        self.table = np.zeros((before.shape[0], substreams), dtype=np.int64)
        evenly = np.arange(1, substreams + 1) / substreams
        self.table[places] = shared_out(
            before[places].sum(axis=1), evenly, np.asarray((places * GOLDEN) % 1.0, np.float64)
        )


@njit(cache=True)
def share_whole(rows: Ints, wanted: int, out: Ints) -> None:
    """`wanted` of all these rows, from each its share, in whole rows and none lost."""
    total = rows.sum()
    seen = given = 0
    for k in range(rows.size):
        seen += rows[k]
        upto = seen * wanted // total
        out[k] = upto - given
        given = upto


@njit(cache=True)
def arrived_by(rows: int, phase: float, share_of_step: float) -> int:
    """How many of a cell's rows are there when so much of its step is over."""
    if share_of_step >= 1.0:
        return rows
    return min(rows, max(0, int(np.floor(rows * share_of_step - phase + 1e-9)) + 1))


def phases(substreams: int) -> Floats:
    places: Floats = (0.5 + GOLDEN * np.arange(substreams, dtype=np.float64)) % 1.0
    return places
