"""Latency read off cumulative counts (StreamSwitch 4.1): FIFO, so the r-th row completed is the r-th that arrived."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def traced(times_s: Array, arrived: Array, completed: Array, midpoint: bool = False) -> Array:
    """Summed latency of the rows completed in each slot, for each substream.

    Cumulative counts have one line per time. A row that arrived in slot m' and completed in slot m counts t_m - t_m',
    wrong by less than a slot each way; with `midpoint`, as batches need it, from the middle of slot m' (D-map 7).

    >>> a = np.array([[0.0], [10], [20], [30], [40], [40]])
    >>> c = np.array([[0.0], [5], [10], [20], [35], [40]])
    >>> (traced(np.arange(6.0), a, c) / np.diff(c, axis=0)).round(3).ravel().tolist()
    [0.0, 1.0, 1.0, 0.667, 1.0]
    """
    done, slots_s = completed[1:] - completed[:-1], np.diff(times_s)[:, None]
    sums_s = np.zeros_like(done)
    here = _overlap(arrived[1:], completed[:-1], done)
    for lag in range(1, len(done) + 1):
        before = np.zeros_like(done)
        before[lag - 1 :] = _overlap(arrived[: len(done) - lag + 1], completed[lag - 1 : -1], done[lag - 1 :])
        if midpoint:
            sums_s[lag - 1 :] += (here - before)[lag - 1 :] * slots_s[: len(done) - lag + 1] / 2
        if not before.any():
            break
        sums_s[lag - 1 :] += before[lag - 1 :] * slots_s[_started(lag, len(done))]
        here = before
    return sums_s


def _overlap(arrived: Array, completed_before: Array, done: Array) -> Array:
    """Rows completed in a slot that had arrived by some time."""
    rows: Array = np.clip(arrived - completed_before, 0.0, done)
    return rows


def _started(lag: int, slots: int) -> slice:
    """Waiting from time j = m - lag on lasts for the slot that follows it."""
    return slice(0, slots - lag + 1)


def filled(times_s: Array, counts: Array, longest_s: float) -> Array | None:
    """Gaps (NaN) in cumulative counts by straight lines; None where one is longer than `longest_s`, or still open.

    >>> a = np.array([10.0, np.nan, np.nan, 40.0])
    >>> filled(np.arange(4.0), a, longest_s=3.0).tolist()
    [10.0, 20.0, 30.0, 40.0]
    >>> filled(np.arange(4.0), a, longest_s=1.0) is None
    True
    """
    known = np.flatnonzero(~np.isnan(counts))
    if known.size == 0 or known[-1] != counts.size - 1 or known[0] != 0:
        return None
    if any(times_s[b] - times_s[a] > longest_s for a, b in pairwise(known) if b > a + 1):
        return None
    return np.interp(times_s, times_s[known], counts[known])
