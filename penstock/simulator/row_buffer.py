"""Waiting rows in order of arrival, in arrays that grow at one end and are used up at the other.

What a step costs depends on the rows it touches, not on how many wait: a backlog of millions is left where it lies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.simulator.arrays import Floats, Ints, Rows


class Waiting(NamedTuple):
    """A row brings its work along, drawn when it arrives: it costs the same whoever serves it."""

    arrival_s: Floats
    substream: Ints
    work_s: Floats

    def at(self, which: NDArray[np.bool_]) -> Waiting:
        return Waiting(self.arrival_s[which], self.substream[which], self.work_s[which])

    def between(self, first: int, last: int) -> Waiting:
        return Waiting(self.arrival_s[first:last], self.substream[first:last], self.work_s[first:last])


class RowBuffer:
    __slots__ = ("_columns", "_first", "_last")

    def __init__(self) -> None:
        self._columns = _empty(1024)
        self._first = self._last = 0

    def __len__(self) -> int:
        return self._last - self._first

    @property
    def rows(self) -> Waiting:
        """Views: what is written into them is written here."""
        return self._columns.between(self._first, self._last)

    @property
    def oldest_s(self) -> float | None:
        return float(self._columns.arrival_s[self._first]) if len(self) else None

    def append(self, arrived: Rows, work_s: Floats) -> None:
        n = arrived.arrival_s.size
        if self._last + n > self._columns.arrival_s.size:
            self._make_room(n)
        for column, values in zip(self._columns, (arrived.arrival_s, arrived.substream, work_s), strict=True):
            column[self._last : self._last + n] = values
        self._last += n

    def _make_room(self, n: int) -> None:
        """To the front of arrays of twice the size that is needed: copied seldom."""
        rows = self.rows
        self._columns = _empty(2 * (len(self) + n))
        self._first, self._last = 0, rows.arrival_s.size
        for column, values in zip(self._columns, rows, strict=True):
            column[: self._last] = values

    def use(self, scanned: int, stays: NDArray[np.bool_]) -> None:
        """Of the first `scanned` rows only those that stay wait on."""
        kept = self._columns.between(self._first, self._first + scanned).at(stays)
        self._first += scanned - kept.arrival_s.size
        for column, values in zip(self._columns, kept, strict=True):
            column[self._first : self._first + values.size] = values

    def skip(self, n: int) -> None:
        self._first += n


def _empty(size: int) -> Waiting:
    return Waiting(np.empty(size), np.empty(size, dtype=np.int64), np.empty(size))
