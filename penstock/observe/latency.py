"""Latency as a histogram that merges: what a quantile over many batches, substreams or steps is read from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

GROWTH = 1.02  # a bin is 2% wide: a quantile is at most 1% off
SMALLEST_S = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class LatencyHistogram:
    """Rows by latency in bins of 2%; the sum and the extremes are exact.

    >>> h = LatencyHistogram.of([1.0, 2.0, 3.0, 10.0])
    >>> h.mean_s, h.max_s, round(h.quantile_s(0.5), 1)
    (4.0, 10.0, 2.0)
    """

    bins: NDArray[np.int64]
    rows: NDArray[np.float64]
    sum_s: float
    max_s: float

    @classmethod
    def of(cls, latencies_s: Iterable[float], rows: Iterable[float] | None = None) -> Self:
        values = np.asarray(list(latencies_s), dtype=np.float64)
        weights = np.ones_like(values) if rows is None else np.asarray(list(rows), dtype=np.float64)
        return cls.of_arrays(values, weights)

    @classmethod
    def of_arrays(cls, latencies_s: NDArray[np.float64], rows: NDArray[np.float64]) -> Self:
        kept = rows > 0
        values, weights = np.maximum(latencies_s[kept], 0.0), rows[kept]
        bins, counts = _grouped(_bin_of(values), weights)
        return cls(bins, counts, float(values @ weights), float(values.max(initial=0.0)))

    @property
    def count(self) -> float:
        return float(self.rows.sum())

    @property
    def mean_s(self) -> float | None:
        return self.sum_s / self.count if self.count else None

    @property
    def values_s(self) -> NDArray[np.float64]:
        """The middle of each bin."""
        middles = np.where(self.bins > 0, SMALLEST_S * GROWTH ** (self.bins - 0.5), 0.0)
        return np.minimum(middles, self.max_s)

    def quantile_s(self, q: float) -> float | None:
        """The smallest latency that a share q of the rows does not exceed; None where there are no rows."""
        if not self.rows.size:
            return None
        at = int(np.searchsorted(np.cumsum(self.rows), q * self.count * (1 - 1e-12)))
        return float(self.values_s[min(at, self.bins.size - 1)])

    def share_below(self, limit_s: float) -> float | None:
        if not self.rows.size:
            return None
        if self.max_s < limit_s:
            return 1.0
        return float(self.rows[self.bins < _bin_of(np.asarray([limit_s]))[0]].sum() / self.count)


def _bin_of(latencies_s: NDArray[np.float64]) -> NDArray[np.int64]:
    scaled = np.log(np.maximum(latencies_s, SMALLEST_S) / SMALLEST_S) / math.log(GROWTH)
    return np.where(latencies_s <= SMALLEST_S, 0, np.floor(scaled).astype(np.int64) + 1)


def _grouped(bins: NDArray[np.int64], rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    unique, where = np.unique(bins, return_inverse=True)
    return unique, np.bincount(where, weights=rows, minlength=unique.size).astype(np.float64)


def merged(histograms: Iterable[LatencyHistogram]) -> LatencyHistogram:
    """All rows of all of them; none at all gives the empty histogram.

    >>> merged([LatencyHistogram.of([1.0]), LatencyHistogram.of([3.0])]).mean_s
    2.0
    """
    parts = list(histograms)
    bins = np.concatenate([h.bins for h in parts]) if parts else np.empty(0, dtype=np.int64)
    rows = np.concatenate([h.rows for h in parts]) if parts else np.empty(0)
    bins, rows = _grouped(bins, rows)
    return LatencyHistogram(bins, rows, sum(h.sum_s for h in parts), max((h.max_s for h in parts), default=0.0))


EMPTY = merged([])
