"""Latency histograms without sorting: rows are counted straight into the bins of `observe/latency.py`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from penstock.observe.latency import EMPTY, GROWTH, SMALLEST_S, LatencyHistogram
from penstock.simulator.arrays import Floats

BINS = 1200  # the last one begins at some 20 days
_LOG_GROWTH = math.log(GROWTH)


@njit(cache=True)
def bin_of(latency_s: float) -> int:
    if latency_s <= SMALLEST_S:
        return 0
    return min(BINS - 1, math.floor(math.log(latency_s / SMALLEST_S) / _LOG_GROWTH) + 1)


@njit(cache=True)
def _count_rows(latency_s: Floats, counts: Floats) -> float:
    longest_s = 0.0
    for one_s in latency_s:
        counts[bin_of(one_s)] += 1
        longest_s = max(longest_s, one_s)
    return longest_s


def histogram_of(latency_s: Floats) -> LatencyHistogram:
    """Of single rows.

    >>> histogram_of(np.array([1.0, 2.0, 3.0])).mean_s
    2.0
    """
    counts = np.zeros(BINS)
    longest_s = _count_rows(latency_s, counts)
    return histogram(counts, float(latency_s.sum()), longest_s)


def histogram(counts: Floats, sum_s: float, longest_s: float) -> LatencyHistogram:
    bins = np.flatnonzero(counts)
    return LatencyHistogram(bins, counts[bins], sum_s, longest_s) if bins.size else EMPTY
