"""The law of micro-batches, as far as averages tell: every batch works off what arrived during the one before.

With overhead o, cost c of each of K substreams, trigger interval tau, and for each instance rho = lambda / mu:

    a = o + c K       D = a / (1 - rho) back to back, a + rho tau where that is below tau       I = max(D, tau)
    mean latency = I / 2 + D       q-quantile = q I + D

The slowest instance sets the pace of its component, so each has a level of its own: the latency if it were the slowest.
Barrier noise and other corrections for comparing with measurement are in `barrier.py`.

    o     c      tau  mu    lambda  K   eps |  D      mean    p95
    .15   .0125  0    1000  600     8   0   |  .625   .9375   1.21875
    .15   .0125  0    1000  300     4   0   |  .2857  .4286
    .15   .0125  0    1000  600     8   .2  |  1.0    1.5
    .25   0      1    1000  600     1   0   |  .85    1.35    1.80
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.models.latency_law import UNSTABLE_S, Array

MEAN_WAIT = 0.5  # of an interval, for a row that arrives anywhere in it


@dataclass(frozen=True, slots=True)
class BatchLaw:
    """
    overhead_s     of every batch (o), all of it: before its output is visible, and after
    after_s        the part of it after the output is visible: it delays the next batch only (K3)
    substream_s    for each substream of an instance (c): committing its state
    trigger_s      tau; 0 is back to back
    before_share   how busy the stages before the shuffle keep each slot: stages add up (K4)
    margin         eps
    quantile       None projects the mean, 1.0 the maximum
    """

    overhead_s: float
    substream_s: float = 0.0
    trigger_s: float = 0.0
    after_s: float = 0.0
    before_share: float = 0.0
    margin: float = 0.0
    quantile: float | None = None

    @property
    def counts_substreams(self) -> bool:
        return self.substream_s > 0

    def duration_s(self, rows_per_s: Array, service_rows_per_s: Array, substreams: Array) -> Array:
        """D of a component whose slowest instance this is."""
        rho = rows_per_s / ((1 - self.margin) * service_rows_per_s) + self.before_share / (1 - self.margin)
        a = self.overhead_s + self.substream_s * substreams
        with np.errstate(divide="ignore", invalid="ignore"):
            d: Array = np.minimum(np.maximum(a, TINY_S) / (1 - rho), UNSTABLE_S)
        if self.trigger_s > 0:
            d = np.where(d < self.trigger_s, a + rho * self.trigger_s, d)
        return np.where(rho < 1, d, UNSTABLE_S * np.maximum(rho, 1.0))

    def level_s(self, rows_per_s: Array, service_rows_per_s: Array, substreams: Array) -> Array:
        duration_s = self.duration_s(rows_per_s, service_rows_per_s, substreams)
        return np.where(duration_s < UNSTABLE_S, self._latency_s(duration_s), duration_s)

    def floor_s(self, substreams: float) -> float:
        idle = self.level_s(np.zeros(1), np.ones(1), np.array([float(substreams)]))
        return float(idle[0])

    def _latency_s(self, duration_s: Array) -> Array:
        """Below `UNSTABLE_S`, so that what is stable is always better than what is not."""
        waited = MEAN_WAIT if self.quantile is None else self.quantile
        interval_s = np.maximum(duration_s, self.trigger_s)
        return np.minimum(waited * interval_s + duration_s - self.after_s, UNSTABLE_S)


TINY_S = 1e-9  # a batch takes time even where its overhead is not known yet


def largest_load(law: BatchLaw, limit_s: float, substreams: float = 0.0) -> float | None:
    """The largest rho, back to back, that keeps a limit; None where no load does: the limit is refused as unreachable.

    >>> law = BatchLaw(overhead_s=0.25)
    >>> largest_load(law, 1.0), largest_load(law, 0.375)
    (0.625, None)
    """
    a = law.overhead_s + law.substream_s * substreams
    waited = MEAN_WAIT if law.quantile is None else law.quantile
    rho = 1 - (1 + waited) * a / (limit_s + law.after_s)
    return rho if rho > 0 else None
