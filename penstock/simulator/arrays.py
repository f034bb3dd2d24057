"""The few records of arrays that the parts of the simulator hand to each other.

span       a run of equal steps: what one snapshot covers
fleet      the instances of one component as they stand: who serves what, how fast, until when they may not
rows       single rows: when each arrived and in which substream (fidelity `rows`)
progress   what happened to a component in one span
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.observe.latency import EMPTY, LatencyHistogram
from penstock.observe.snapshot import BatchSeen

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = NDArray[np.int64]  # [step, substream]: rows that arrive


def no_times() -> Floats:
    return np.empty(0)


def no_rows() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Span:
    """What a snapshot covers: `steps` equal steps from number `first` on. Single rows know no finer steps than this."""

    start_s: float
    end_s: float
    first: int
    steps: int = 1

    @property
    def last(self) -> int:
        return self.first + self.steps - 1

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


class Rows(NamedTuple):
    """In order of arrival."""

    arrival_s: Floats
    substream: Ints


@dataclass(slots=True)
class Fleet:
    """Mutable: changes and faults write into it between steps, the component's queue reads it within one."""

    instance_of: Ints
    speed: Floats
    suspended_until_s: Floats

    @classmethod
    def of(cls, instance_of: Ints) -> Fleet:
        p = int(instance_of.max()) + 1
        return cls(instance_of, np.ones(p), np.full(p, -np.inf))

    @property
    def instances(self) -> int:
        return self.speed.size

    @property
    def substreams(self) -> int:
        return self.instance_of.size

    def per_instance(self, per_substream: Ints | Floats) -> Ints:
        """Totals over the substreams of each instance."""
        sums = np.bincount(self.instance_of, weights=per_substream, minlength=self.instances)
        return sums.astype(np.int64)

    def suspended_s(self, span: Span) -> Floats:
        return np.clip(self.suspended_until_s - span.start_s, 0.0, span.duration_s)


@dataclass(slots=True)
class Progress:
    """Rows are whole numbers, so that arrived = completed + pending + dropped holds exactly."""

    arrived: Ints
    completed: Ints
    dropped: Ints
    pending: Ints
    useful_s: Floats
    executed: Ints
    latency_sum_s: Floats
    latency: LatencyHistogram = EMPTY
    suspended_s: Floats = field(default_factory=no_times)
    samples: tuple[Ints, Floats] | None = None  # substream and latency of single rows, where rows are single
    by_substream: tuple[LatencyHistogram, ...] | None = None
    oldest_pending_s: float | None = None
    batches: tuple[BatchSeen, ...] = ()
    departures_s: Floats = field(default_factory=no_times)  # of single rows, in any order
    departed_rows: Ints = field(default_factory=no_rows)  # in each step, where rows are counts


def count(where: Ints, size: int) -> Ints:
    return np.bincount(where, minlength=size)


def total(where: Ints, values: Floats, size: int) -> Floats:
    return np.bincount(where, weights=values, minlength=size).astype(np.float64, copy=False)


def folded(values: Floats, size: int) -> Floats:
    """The same total over another number of places.

    >>> folded(np.array([1.0, 2.0, 4.0]), 2)
    array([5., 2.])
    """
    return total(np.arange(values.size) % size, values, size)


def shared_out(rows: Ints, weights_cumulated: Floats, offset: Floats) -> Counts:
    """In each step whole rows by weight, none lost: systematic sampling, each part within one row of its share.

    >>> shared_out(np.array([10, 1]), np.array([0.5, 0.8, 1.0]), np.array([0.5, 0.5]))
    array([[5, 3, 2],
           [1, 0, 0]])
    """
    bounds: Counts = np.floor(weights_cumulated * rows[:, None] + offset[:, None]).astype(np.int64)
    bounds[:, -1] = rows
    return np.diff(bounds, axis=1, prepend=0)
