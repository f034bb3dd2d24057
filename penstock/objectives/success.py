"""In which share of time was an objective kept?

window    as long as the objective says, ending every second (every step in the simulator)
held      the mean (quantile, maximum) of the rows completed in the window is below the limit; in a window without
          completions: the oldest row that is pending at its end is younger than the limit
sample    a window that counts: something was completed in it, or was pending at its end
share     of the samples, those that held; averaged over substreams where the objective says `per substream`
row-weighted share   the same, each window weighing as many rows as were completed in it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.objectives.objective import Juice, Latency, Objective, Throughput

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

THROUGHPUT_WINDOW_S = 60.0  # throughput is promised per minute in the papers; micro-batches complete rows in lumps
CLOCK_NOISE_S = 1e-6  # what completes at a window's very end belongs to it, in spite of rounding
ROUNDING = 1e-12


def _none() -> Array:
    return np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """What happened to the rows of a component, or of one substream, between `start_s` and `end_s`.

    `rows[i]` rows were completed at `completed_at_s[i]`, `latency_s[i]` after they arrived. From `pending_from_s[j]`
    to `pending_until_s[j]` the oldest pending row was one that had arrived at `pending_since_s[j]`; these intervals
    are in order and do not overlap.
    """

    start_s: float
    end_s: float
    completed_at_s: Array = field(default_factory=_none)
    latency_s: Array = field(default_factory=_none)
    rows: Array = field(default_factory=_none)
    pending_from_s: Array = field(default_factory=_none)
    pending_until_s: Array = field(default_factory=_none)
    pending_since_s: Array = field(default_factory=_none)


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """One entry for each window, in order of time."""

    end_s: Array
    held: Flags
    sampled: Flags
    rows: Array

    @property
    def share(self) -> float | None:
        return float(self.held[self.sampled].mean()) if self.sampled.any() else None

    @property
    def row_weighted_share(self) -> float | None:
        rows = float(self.rows.sum())
        return float(self.rows[self.held].sum()) / rows if rows > 0 else None


@dataclass(frozen=True, slots=True)
class Success:
    """None is: no window tells."""

    share: float | None = None
    row_weighted_share: float | None = None
    samples: int = 0


def success_share(objective: Objective, timelines: Sequence[Timeline], every_s: float = 1.0) -> Success:
    """Averaged over the timelines: the component's one, or where it is asked per substream one for each of them.

    Batches of 4 s with a mean latency of 6 s, promised 1 s: never kept, though 3 of 4 windows complete nothing.

    >>> at_s, one = np.arange(4.0, 41.0, 4.0), np.ones(10)
    >>> waits = Timeline(0, 40, at_s, 6 * one, 100 * one, np.array([0.0]), np.array([40.0]), np.array([-2.0]))
    >>> success_share(Latency(1.0), [waits])
    Success(share=0.0, row_weighted_share=0.0, samples=40)
    """
    judged = [windows(objective, t, every_s) for t in timelines]
    return Success(
        _mean([w.share for w in judged]),
        _mean([w.row_weighted_share for w in judged]),
        sum(int(w.sampled.sum()) for w in judged),
    )


def _mean(shares: Sequence[float | None]) -> float | None:
    known = [s for s in shares if s is not None]
    return sum(known) / len(known) if known else None


def windows(objective: Objective, timeline: Timeline, every_s: float = 1.0) -> Windows:
    """Every whole window; none of them is a sample where a timeline cannot tell (juice is a topology's figure)."""
    length_s = _length_s(objective)
    count = int((timeline.end_s - timeline.start_s - length_s + CLOCK_NOISE_S) // every_s) + 1
    start_s = every_s * np.arange(max(count, 0), dtype=np.float64)
    completed = _Completed.within(timeline, start_s, start_s + length_s)
    age_s = _oldest_age_s(timeline, start_s + length_s)
    empty = ~completed.any
    held = np.where(empty, _held_by_age(objective, age_s), _held_by_rows(objective, completed))
    sampled = ~(empty & np.isnan(age_s)) & (not isinstance(objective, Juice))
    end_s = timeline.start_s + start_s + length_s
    return Windows(end_s, held & sampled, sampled, completed.total(completed.rows))


def _length_s(objective: Objective) -> float:
    return objective.window_s if isinstance(objective, Latency) else THROUGHPUT_WINDOW_S


@dataclass(frozen=True, slots=True, eq=False)
class _Completed:
    """The rows of window i are those from `first[i]` to before `last[i]`, by time of completion."""

    latency_s: Array
    rows: Array
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    @classmethod
    def within(cls, timeline: Timeline, start_s: Array, end_s: Array) -> _Completed:
        """After the start, up to and with the end; times count from the timeline's start."""
        kept = timeline.rows > 0
        order = np.argsort(timeline.completed_at_s[kept], kind="stable")
        at_s = timeline.completed_at_s[kept][order] - timeline.start_s
        first, last = (np.searchsorted(at_s, edge + CLOCK_NOISE_S, "right") for edge in (start_s, end_s))
        return cls(timeline.latency_s[kept][order], timeline.rows[kept][order], first, last)

    @property
    def any(self) -> Flags:
        return self.last > self.first

    def total(self, values: Array) -> Array:
        """Summed window by window: the difference of running sums would lose a small window in a large total."""
        edges = np.stack([self.first, self.last], axis=1).ravel()
        sums: Array = np.add.reduceat(np.append(values, 0.0), edges)[::2] if edges.size else np.empty(0)
        return np.where(self.any, sums, 0.0)


def _held_by_rows(objective: Objective, completed: _Completed) -> Flags:
    rows = completed.total(completed.rows)
    match objective:
        case Throughput(at_least_rows_per_s=rate):
            return rows >= rate * THROUGHPUT_WINDOW_S * (1 - ROUNDING)
        case Latency(limit_s=limit_s, quantile=None):
            return completed.total(completed.rows * completed.latency_s) < limit_s * rows
        case Latency(limit_s=limit_s, quantile=float(quantile)):
            late = completed.total(completed.rows * (completed.latency_s >= limit_s))
            return late <= (1 - quantile) * rows * (1 + ROUNDING)
        case _:
            return np.zeros(rows.shape, dtype=np.bool_)


def _held_by_age(objective: Objective, age_s: Array) -> Flags:
    if isinstance(objective, Latency):
        return age_s < objective.limit_s
    return np.zeros(age_s.shape, dtype=np.bool_)


def _oldest_age_s(timeline: Timeline, at_s: Array) -> Array:
    """NaN where nothing is pending, or nobody knows."""
    if not timeline.pending_from_s.size:
        return np.full(at_s.shape, np.nan)
    time_s = at_s + timeline.start_s
    last = np.searchsorted(timeline.pending_from_s, time_s + CLOCK_NOISE_S, "right") - 1
    known = (last >= 0) & (time_s <= timeline.pending_until_s[last] + CLOCK_NOISE_S)
    return np.where(known, time_s - timeline.pending_since_s[last], np.nan)
