"""From a component to the next: how many rows come out of those that went in, and where each falls."""

from __future__ import annotations

import numpy as np

from penstock.simulator.arrays import Counts, Floats, Ints, Rows, shared_out
from penstock.simulator.arrivals import GOLDEN
from penstock.topology.topology import Grouping

_BELOW = 1e-9  # 0.1 times 10 must be 1


class Route:
    """One stream. `emits` is rows out per row in, whole rows only and none forgotten; `weights` are the target's."""

    def __init__(self, grouping: Grouping, emits: float, weights: Floats, rng: np.random.Generator) -> None:
        self._grouping, self._emits, self._rng = grouping, emits, rng
        self._came = self._sent = self._turn = 0
        self.reweigh(weights)

    def reweigh(self, weights: Floats) -> None:
        """The target has other substreams now, or rows fall on them otherwise."""
        self._cumulated = np.cumsum(weights)

    @property
    def _substreams(self) -> int:
        return self._cumulated.size

    def counts(self, departed: Ints) -> Counts:
        """Rows per step and substream of the target."""
        sent = self._emitted(departed)
        if self._grouping is Grouping.GLOBAL:
            counts = np.zeros((sent.size, self._substreams), dtype=np.int64)
            counts[:, 0] = sent
            return counts
        if self._grouping is Grouping.ALL:
            return np.broadcast_to(sent[:, None], (sent.size, self._substreams)).copy()
        offset = ((self._turn + np.arange(1, sent.size + 1)) * GOLDEN) % 1.0
        self._turn += sent.size
        return shared_out(sent, self._cumulated, np.asarray(offset, dtype=np.float64))

    def _emitted(self, departed: Ints) -> Ints:
        came = self._came + np.cumsum(departed)
        sent = np.floor(came * self._emits + _BELOW).astype(np.int64)
        per_step: Ints = np.diff(sent, prepend=self._sent)
        self._came, self._sent = int(came[-1]), int(sent[-1])
        return per_step

    def rows(self, departures_s: Floats) -> Rows:
        """Single rows, at the times when their parents departed."""
        if not departures_s.size:
            return Rows(departures_s, np.empty(0, dtype=np.int64))
        arrival_s = np.repeat(np.sort(departures_s), self._emitted(np.ones(departures_s.size, dtype=np.int64)))
        if self._grouping is Grouping.ALL:
            everyone = np.tile(np.arange(self._substreams), arrival_s.size)
            return Rows(np.repeat(arrival_s, self._substreams), everyone)
        return Rows(arrival_s, self._places(arrival_s.size))

    def _places(self, n: int) -> Ints:
        if self._grouping is Grouping.GLOBAL or self._substreams == 1:
            return np.zeros(n, dtype=np.int64)
        if self._grouping is Grouping.SHUFFLE:
            self._turn += n
            return np.arange(self._turn - n, self._turn) % self._substreams
        places = np.searchsorted(self._cumulated, self._rng.random(n), side="right")
        return np.minimum(places, self._substreams - 1)


def joined(parts: list[Rows | Counts]) -> Rows | Counts:
    """What several streams bring to one component: a union."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Rows):
        arrival_s = np.concatenate([p.arrival_s for p in parts if isinstance(p, Rows)])
        substream = np.concatenate([p.substream for p in parts if isinstance(p, Rows)])
        order = np.argsort(arrival_s, kind="stable")
        return Rows(arrival_s[order], substream[order])
    counts: Counts = np.sum([p for p in parts if not isinstance(p, Rows)], axis=0)
    return counts
