"""What is learnt online of a component: service rates, the overhead of a batch, the cost of a substream.

Estimates come from the history alone, so that a replay learns the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KEPT = 7 / 8  # StreamSwitch 4.2: eta = 1/8, TCP's smoothing of round-trip times
FEWEST_POINTS = 3
ROWS_APART = 0.1  # of their mean: below, noise decides the slope
WIDTHS_APART = 0.5  # substreams: with fewer apart, batches cannot tell o from c


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Rows and useful seconds of each instance in one step; `slots` is how many of the paper's slots it was long."""

    rows: Array
    useful_s: Array
    slots: float


def service_rates(steps: Sequence[Work], instances: int) -> Array:
    """Rows per useful second, smoothed: mu[m] = (7/8) mu[m-1] + (1/8) C / rho. NaN where an instance never worked.

    What is not busy tells nothing: the rate stays. An instance that was not there before starts afresh.

    >>> def step(rows, useful_s):
    ...     return Work(np.array([rows]), np.array([useful_s]), 1.0)
    >>> service_rates([step(40.0, 0.04), step(50.0, 0.04), step(0.0, 0.0), step(30.0, 0.05)], 1).tolist()
    [977.34375]
    """
    rates = np.full(instances, np.nan)
    for step in steps:
        here = min(instances, step.rows.size)
        rates[here:] = np.nan
        rows, useful_s = step.rows[:here], step.useful_s[:here]
        worked = (useful_s > 0) & (rows > 0)
        seen = rows[worked] / useful_s[worked]
        kept = np.where(np.isnan(rates[:here][worked]), 0.0, KEPT**step.slots)
        rates[:here][worked] = kept * np.nan_to_num(rates[:here][worked]) + (1 - kept) * seen
    return rates


@dataclass(frozen=True, slots=True, eq=False)
class BatchTimes:
    """One entry per step with batches: means over its batches. `most_substreams` are those of the widest instance."""

    duration_s: Array
    after_s: Array
    slowest_s: Array
    most_substreams: Array


@dataclass(frozen=True, slots=True)
class Learnt:
    """`overhead_s` o, `substream_s` c; `after_s` is the part of o after the output is visible, `inside_s` the part of c
    within a substream's useful time."""

    overhead_s: float
    substream_s: float
    after_s: float
    variance_s2: float
    batches: int
    inside_s: float = 0.0


def learnt_overheads(times: BatchTimes) -> Learnt | None:
    """What of a batch its rows do not explain, o + c K, by least squares; None without a batch.

    Where all batches had the same width, o and c cannot be told apart, and all of it counts as o: scaling out is then
    expected to gain less than it does.

    >>> width = np.array([8.0, 8, 4, 4])
    >>> found = learnt_overheads(BatchTimes(0.5 + 0.02 * width, np.zeros(4), np.full(4, 0.3), width))
    >>> round(found.overhead_s, 3), round(found.substream_s, 3)
    (0.2, 0.02)
    """
    n = times.duration_s.size
    if n == 0:
        return None
    rest_s = np.maximum(times.duration_s - times.slowest_s, 0.0)
    overhead_s, substream_s = line(times.most_substreams, rest_s)
    off_s = rest_s - overhead_s - substream_s * times.most_substreams
    variance_s2 = float((off_s**2).sum() / max(1, n - 2))
    after_s = min(float(times.after_s.mean()), overhead_s)
    return Learnt(overhead_s, substream_s, after_s, variance_s2, n)


def substream_cost_s(rows: Array, useful_s: Array) -> float:
    """What a substream of a batch takes beside its rows, from the useful time of many: the intercept of a line.

    0 where all have about as many rows: nothing then tells the cost of a substream from that of its rows.

    >>> rows = np.array([10.0, 100.0, 1000.0])
    >>> round(substream_cost_s(rows, 0.05 + rows / 2000), 3)
    0.05
    """
    worked = (rows > 0) & (useful_s > 0)
    x, y = rows[worked], useful_s[worked]
    if x.size < FEWEST_POINTS or float(x.std()) < ROWS_APART * float(x.mean()):
        return 0.0
    slope = max(0.0, float(((x - x.mean()) * (y - y.mean())).sum()) / float(((x - x.mean()) ** 2).sum()))
    return max(0.0, float(y.mean()) - slope * float(x.mean()))


def line(x: Array, y: Array) -> tuple[float, float]:
    """Intercept and slope by least squares, neither below zero; a flat line where x hardly varies.

    >>> line(np.array([1.0, 2.0]), np.array([5.0, 4.0]))
    (4.5, 0.0)
    """
    mean_x, mean_y = float(x.mean()), float(y.mean())
    spread = float(((x - mean_x) ** 2).sum())
    if spread < WIDTHS_APART**2:
        return mean_y, 0.0
    slope = max(0.0, float(((x - mean_x) * (y - mean_y)).sum()) / spread)
    slope = min(slope, mean_y / mean_x) if mean_x > 0 else slope
    return mean_y - slope * mean_x, slope
