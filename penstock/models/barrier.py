"""What micro-batches measure: the law with its corrections K1 to K8, never with a margin.

K1  a batch ends with the slowest of its tasks, and the mean of a maximum is above the maximum of the means
K2  batches differ: a row is likelier to arrive in a long interval
K3  what follows the publication of a batch's output delays the next batch, not this one's rows
K4  stages before the shuffle add to the load; rows that are aggregated before it are fewer than those that arrive
K5  a cap on the rows of a batch is a cap on throughput
K6  rows that are published in bulk wait for that; a stage fed less often than it could run does not wait at all
K7  no margin     K8  steady state only: it is approached by a factor rho with every batch
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.models.extremes import slowest
from penstock.models.latency_law import Array

STEPS = 80  # of bisection: a bracket of any width is closed to the last digits
QUIET = 0.01  # K2: below this variance of the interval the fluid quantile holds


@dataclass(frozen=True, slots=True)
class Overheads:
    """
    before_s, after_s    o: before its output is visible, and after
    substream_s          c
    trigger_s            tau
    variance_s2          of o, from batch to batch
    task_variance_s2     of one task's work, beside what its rows explain
    """

    before_s: float
    after_s: float = 0.0
    substream_s: float = 0.0
    trigger_s: float = 0.0
    variance_s2: float = 0.0
    task_variance_s2: float = 0.0


@dataclass(frozen=True, slots=True)
class Feed:
    """
    arrival_cv2, service_cv2   squared coefficients of variation: 0 regular, 1 Poisson and exponential
    distinct_rows              V: partial aggregation leaves V (1 - e^(-x / V)) of x rows
    before_s_per_row           work of the stages before the shuffle, over the slots they run on
    cap_rows                   of a batch
    fed_every_s                interval of the upstream's batches, where there is one
    published_every_s          rows wait half of it before anybody can see them
    """

    arrival_cv2: float = 0.0
    service_cv2: float = 0.0
    distinct_rows: float | None = None
    before_s_per_row: float = 0.0
    cap_rows: float | None = None
    fed_every_s: float = 0.0
    published_every_s: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Of each instance."""

    rows_per_s: Array
    service_rows_per_s: Array
    substreams: Array


@dataclass(frozen=True, slots=True)
class Steady:
    """Where a component settles. `load_share` is the slowest instance's rho."""

    duration_s: float
    interval_s: float
    mean_s: float
    interval_cv2: float
    load_share: float
    after_s: float = 0.0
    offset_s: float = 0.0

    def quantile_s(self, q: float, measured_ratio: float | None = None) -> float:
        """Where intervals vary, a quantile is the mean times what was measured between the two (K2)."""
        if self.interval_cv2 > QUIET and measured_ratio is not None:
            return self.mean_s * measured_ratio
        return q * self.interval_s + self.duration_s - self.after_s + self.offset_s

    @property
    def time_constant_batches(self) -> float:
        """After so many batches 63% of a change of load has come through (K8).

        >>> round(Steady(1.0, 1.0, 1.5, 0.0, 0.6).time_constant_batches, 2)
        1.96
        """
        return 1 / -math.log(self.load_share) if 0 < self.load_share < 1 else 0.0


def steady(load: Load, overheads: Overheads, feed: Feed = Feed()) -> Steady | None:
    """None where there is no steady state.

    >>> one = Load(np.array([600.0]), np.array([1000.0]), np.array([8.0]))
    >>> round(steady(one, Overheads(0.15, substream_s=0.0125)).mean_s, 4)
    0.9375
    """
    batch = _Batch(load, overheads, feed)
    duration_s = batch.settled_s()
    if duration_s is None or batch.is_capped(duration_s):
        return None
    interval_s = max(duration_s, overheads.trigger_s, feed.fed_every_s)
    if interval_s > duration_s:
        duration_s = batch.mean_s(interval_s)
    return _measured(batch, duration_s, interval_s)


def _measured(batch: _Batch, duration_s: float, interval_s: float) -> Steady:
    overheads, feed = batch.overheads, batch.feed
    rho = batch.load_share(interval_s)
    noise_s2 = (overheads.variance_s2 + batch.slowest_s(interval_s)[1]) / max(1e-9, 1 - rho**2)
    v = noise_s2 / interval_s**2 if interval_s <= duration_s else 0.0
    waited_s = batch.waiting_share(interval_s) * interval_s * (1 + v) / 2 if interval_s > feed.fed_every_s else 0.0
    own_s = feed.arrival_cv2 / float(batch.load.service_rows_per_s.min())
    longer_s = rho * interval_s * v
    offset_s = feed.published_every_s / 2
    mean_s = waited_s + duration_s + longer_s + own_s - overheads.after_s + offset_s
    return Steady(duration_s, interval_s, mean_s, v, rho, overheads.after_s, offset_s)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """One batch as a function of the interval whose rows it takes."""

    load: Load
    overheads: Overheads
    feed: Feed

    @property
    def total_rows_per_s(self) -> float:
        return float(self.load.rows_per_s.sum())

    def rows(self, interval_s: float) -> Array:
        """Of each instance, after partial aggregation (K4)."""
        x, v = self.load.rows_per_s * interval_s, self.feed.distinct_rows
        return x if v is None else v * -np.expm1(-x / v)

    def slowest_s(self, interval_s: float) -> tuple[float, float]:
        """Mean and variance of the longest task (K1): s^2 = jitter^2 + lambda I (C_a^2 + C_s^2) / mu^2."""
        rows, mu = self.rows(interval_s), self.load.service_rows_per_s
        means = self.overheads.substream_s * self.load.substreams + rows / mu
        noise = self.feed.arrival_cv2 + self.feed.service_cv2
        return slowest(means, np.sqrt(self.overheads.task_variance_s2 + rows * noise / mu**2))

    def mean_s(self, interval_s: float) -> float:
        before_s = self.feed.before_s_per_row * self.total_rows_per_s * interval_s
        return self.overheads.before_s + self.overheads.after_s + before_s + self.slowest_s(interval_s)[0]

    def settled_s(self) -> float | None:
        """D = mean_s(D): a batch that takes as long as the interval it works off."""
        return _crossing(self.mean_s, start_s=max(1e-6, self.mean_s(0.0)))

    def load_share(self, interval_s: float) -> float:
        """rho at the interval: how much longer a batch gets for every second more of input."""
        more_s = 1e-4 * interval_s
        return max(0.0, (self.mean_s(interval_s + more_s) - self.mean_s(interval_s)) / more_s)

    def is_capped(self, duration_s: float) -> bool:
        """K5: with at most B rows a batch, capacity is B over the time that B rows take."""
        cap_rows, total = self.feed.cap_rows, self.total_rows_per_s
        if cap_rows is None or total <= 0:
            return False
        return cap_rows / self.mean_s(cap_rows / total) < total and duration_s * total > cap_rows

    def waiting_share(self, interval_s: float) -> float:
        """Rows that do not find the engine idle: with N Poisson rows an interval, N / (N + e^-N) of them (K6)."""
        n = self.total_rows_per_s * interval_s
        idle = math.exp(-n) if self.feed.arrival_cv2 > 0 else 0.0
        return n / (n + idle) if n > 0 else 1.0


def _crossing(g: Callable[[float], float], start_s: float) -> float | None:
    """The smallest d with g(d) = d, for a rising g that begins above its argument; None where there is none."""
    low_s, high_s = start_s, 2 * start_s
    while g(high_s) > high_s:
        low_s, high_s = high_s, 2 * high_s
        if high_s > 1e7:
            return None
    for _ in range(STEPS):
        middle_s = (low_s + high_s) / 2
        low_s, high_s = (middle_s, high_s) if g(middle_s) > middle_s else (low_s, middle_s)
    return (low_s + high_s) / 2
