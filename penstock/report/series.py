"""What a component did over time, in a bounded number of pieces: a run of a week makes no longer page than a minute's.

slice   consecutive steps as one: rows add up, latencies merge, what stands at the end is the last one's
bar     consecutive batches as one: their mean
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from statistics import median
from typing import Generic, TypeVar

import numpy as np

from penstock.observe.latency import LatencyHistogram, merged
from penstock.observe.snapshot import Array, BatchSeen, ComponentSeen, How, Snapshot

T = TypeVar("T")
MOST_PIECES = 600  # about two pixels each on a wide screen


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """`untimed_rows` were completed and nobody knows how late. Arrays are by instance or by substream."""

    start_s: float
    end_s: float
    rows_arrived: float | None = None
    rows_completed: float | None = None
    rows_pending: float | None = None
    parallelism: int | None = None
    latency: LatencyHistogram | None = None
    untimed_rows: float = 0.0
    useful_s: Array | None = None
    cpu_s: Array | None = None
    fetch_wait_s: Array | None = None
    substream_rows: Array | None = None

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s

    def per_s(self, amount: float | None) -> float | None:
        return None if amount is None or self.duration_s <= 0 else amount / self.duration_s


def slice_of(snapshot: Snapshot, seen: ComponentSeen) -> Slice:
    timed = seen.latency is not None and seen.latency.count > 0 and seen.latency_how is not How.UNKNOWN
    completed, instances, substreams = seen.rows_completed, seen.instances, seen.substreams
    return Slice(
        snapshot.start_s,
        snapshot.end_s,
        seen.rows_arrived,
        completed,
        seen.rows_pending,
        seen.parallelism,
        seen.latency if timed else None,
        _untimed(completed or 0.0, seen.latency.count if seen.latency is not None and timed else 0.0),
        instances.useful_s if instances else None,
        instances.cpu_s if instances else None,
        instances.fetch_wait_s if instances else None,
        substreams.rows_completed if substreams else None,
    )


def _untimed(completed: float, timed: float) -> float:
    """Counts of arrivals that were read off a curve do not add up to the last row."""
    left = completed - timed
    return left if left > 0.01 * completed else 0.0


def joined(a: Slice, b: Slice) -> Slice:
    late = [s.latency for s in (a, b) if s.latency is not None]
    return Slice(
        a.start_s,
        b.end_s,
        _both(a.rows_arrived, b.rows_arrived),
        _both(a.rows_completed, b.rows_completed),
        b.rows_pending,
        b.parallelism,
        merged(late) if late else None,
        a.untimed_rows + b.untimed_rows,
        _sum(a.useful_s, b.useful_s),
        _sum(a.cpu_s, b.cpu_s),
        _sum(a.fetch_wait_s, b.fetch_wait_s),
        _sum(a.substream_rows, b.substream_rows),
    )


def _both(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def _sum(a: Array | None, b: Array | None) -> Array | None:
    """
    >>> _sum(np.array([1.0]), np.array([1.0, 5.0])).tolist()
    [2.0, 5.0]
    """
    if a is None or b is None:
        return b if a is None else a
    total = np.zeros(max(a.size, b.size))
    total[: a.size] += a
    total[: b.size] += b
    return total


@dataclass(frozen=True, slots=True)
class Bar:
    start_s: float
    end_s: float
    duration_s: float
    phases_s: Mapping[str, float]
    batches: int = 1


def bar_of(batch: BatchSeen) -> Bar:
    return Bar(batch.started_at_s, batch.ended_at_s, batch.duration_s, batch.phases_s)


def joined_bars(a: Bar, b: Bar) -> Bar:
    """
    >>> bar = joined_bars(Bar(0.0, 1.0, 1.0, {"addBatch": 0.5}), Bar(1.0, 4.0, 3.0, {"walCommit": 1.0}))
    >>> bar.duration_s, dict(sorted(bar.phases_s.items()))
    (2.0, {'addBatch': 0.25, 'walCommit': 0.5})
    """
    n = a.batches + b.batches
    share_a, share_b = a.batches / n, b.batches / n
    names = {**a.phases_s, **b.phases_s}
    phases = {k: share_a * a.phases_s.get(k, 0.0) + share_b * b.phases_s.get(k, 0.0) for k in names}
    return Bar(a.start_s, b.end_s, share_a * a.duration_s + share_b * b.duration_s, phases, n)


@dataclass(slots=True)
class Thinned(Generic[T]):
    """All that was added, neighbours joined two by two whenever there are too many.

    >>> thinned = Thinned(lambda a, b: a + b, 4)
    >>> for i in range(9): thinned.add(i)
    >>> thinned.pieces
    [6, 22, 8]
    """

    join: Callable[[T, T], T]
    most: int = MOST_PIECES
    pieces: list[T] = field(default_factory=list)
    _each: int = 1  # how many of those added make one piece
    _added: int = 0

    def add(self, piece: T) -> None:
        if self._added % self._each:
            self.pieces[-1] = self.join(self.pieces[-1], piece)
        else:
            self.pieces.append(piece)
        self._added += 1
        if len(self.pieces) > self.most:
            pairs = [self.pieces[i : i + 2] for i in range(0, len(self.pieces), 2)]
            self.pieces = [reduce(self.join, pair) for pair in pairs]
            self._each *= 2


@dataclass(slots=True)
class ComponentSeries:
    steps: Thinned[Slice] = field(default_factory=lambda: Thinned(joined))
    batches: Thinned[Bar] = field(default_factory=lambda: Thinned(joined_bars))
    arrivals_how: How = How.UNKNOWN

    def add(self, snapshot: Snapshot, seen: ComponentSeen) -> None:
        self.steps.add(slice_of(snapshot, seen))
        self.arrivals_how = seen.arrivals_how
        for batch in seen.batches:
            self.batches.add(bar_of(batch))

    @property
    def slices(self) -> list[Slice]:
        return self.steps.pieces

    @property
    def bars(self) -> list[Bar]:
        return self.batches.pieces

    @property
    def rate_window_s(self) -> float:
        """Long enough for two usual batches, so that rates show the load and not its lumps."""
        usual_s = median(b.duration_s for b in self.bars) if self.bars else 0.0
        span_s = self.slices[-1].end_s - self.slices[0].start_s if self.slices else 0.0
        return max(2.0, 2 * usual_s, span_s / 150)


def coarser(slices: Iterable[Slice], least_s: float) -> list[Slice]:
    """Joined until each is that long; a rest that is much shorter goes with the one before it. What has arrivals that
    are known is not joined with what has not: the sum would be unknown."""
    out: list[Slice] = []
    for piece in slices:
        alike = bool(out) and (out[-1].rows_arrived is None) == (piece.rows_arrived is None)
        if alike and out[-1].duration_s < least_s * (1 - 1e-6):
            out[-1] = joined(out[-1], piece)
        else:
            out.append(piece)
    alike = len(out) > 1 and (out[-1].rows_arrived is None) == (out[-2].rows_arrived is None)
    if alike and out[-1].duration_s < least_s / 2:
        rest = out.pop()
        out[-1] = joined(out[-1], rest)
    return out


def sums(slices: Sequence[Slice]) -> Slice | None:
    return reduce(joined, slices) if slices else None
