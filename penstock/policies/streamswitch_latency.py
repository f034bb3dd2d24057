"""The latency that an instance's rows met lately: the paper's l_i (4.1), and l^k of its substreams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.models.tracing import traced
from penstock.observe.latency import LatencyHistogram, merged
from penstock.policies.figures import Array, Figures
from penstock.policies.streamswitch_setting import Ints

MAXIMUM = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """`recent` is the objective's window, the end of `longer`: rows that were completed in it may be older."""

    recent: Figures
    longer: Figures
    batched: bool


def instance_latency_s(at: Seen, where: Ints, quantile: float | None) -> tuple[Array, Array]:
    """Of each instance, and of each substream (0 where it completed nothing). A stalled one counts by the age of what
    is pending (C18): it would never look bad otherwise."""
    recent = at.recent
    instances = int(where.max()) + 1
    per_substream = _measured(recent, where.size)
    if per_substream is not None:
        return _by_instance(per_substream, where, quantile, _age_s(recent)), _means(per_substream)
    found_s = statistic_s(recent.latency, quantile)
    counts = None if at.batched else _traced(at.longer, where.size, len(recent.steps))
    if counts is not None:
        return _summed_by_instance(counts, where, recent, found_s)
    whole_s = _age_s(recent) if found_s is None else found_s
    return np.full(instances, whole_s), np.zeros(where.size)


def statistic_s(latency: LatencyHistogram, quantile: float | None) -> float | None:
    if quantile is None:
        return latency.mean_s
    if not latency.count:
        return None
    return latency.max_s if quantile >= MAXIMUM else latency.quantile_s(quantile)


def _age_s(recent: Figures) -> float:
    return (recent.steps[-1][1].oldest_pending_s or 0.0) if recent.steps else 0.0


def _measured(recent: Figures, substreams: int) -> list[LatencyHistogram] | None:
    steps = [s.latency for _, seen in recent.steps if (s := seen.substreams) is not None and s.latency is not None]
    if not steps or any(len(step) != substreams for step in steps):
        return None
    return [merged(column) for column in zip(*steps, strict=True)]


def _means(per_substream: list[LatencyHistogram]) -> Array:
    return np.array([h.mean_s or 0.0 for h in per_substream])


def _by_instance(per_substream: list[LatencyHistogram], where: Ints, quantile: float | None, age_s: float) -> Array:
    found = []
    for i in range(int(where.max()) + 1):
        latency_s = statistic_s(merged(per_substream[k] for k in np.flatnonzero(where == i)), quantile)
        found.append(latency_s)
    stalled_s = age_s if any(f is not None for f in found) else 0.0
    return np.array([stalled_s if f is None else f for f in found])


def _traced(longer: Figures, substreams: int, steps: int) -> tuple[Array, Array] | None:
    """Summed latency and rows of each substream over the last steps; None without counts of each step."""
    arrived, completed, times_s = [], [], [longer.steps[0][0].start_s]
    for snapshot, seen in longer.steps:
        own = seen.substreams
        if own is None or own.rows_arrived is None or own.rows_completed is None or own.rows_pending is None:
            return None
        if own.rows_arrived.size != substreams:
            return None
        arrived.append(own.rows_arrived)
        completed.append(own.rows_completed)
        times_s.append(snapshot.end_s)
        pending = own.rows_pending
    waited = pending - np.sum(arrived, axis=0) + np.sum(completed, axis=0)
    a = np.vstack([np.zeros(substreams), np.cumsum(arrived, axis=0)]) + np.maximum(waited, 0.0)
    c = np.vstack([np.zeros(substreams), np.cumsum(completed, axis=0)])
    return traced(np.array(times_s), a, c)[-steps:].sum(axis=0), c[-1] - c[-1 - steps]


def _summed_by_instance(
    counts: tuple[Array, Array], where: Ints, recent: Figures, measured_s: float | None
) -> tuple[Array, Array]:
    """Tracing knows whole slots only: what was measured of the component says by how much it is low."""
    sums_s, rows = counts
    total_s, total = _by(where, sums_s), _by(where, rows)
    missed_s = max(0.0, (measured_s or 0.0) - sums_s.sum() / rows.sum()) if rows.sum() > 0 else 0.0
    pending = recent.steps[-1][1].substreams
    waits = _by(where, pending.rows_pending) if pending and pending.rows_pending is not None else np.zeros(total.size)
    stalled_s = np.where(waits > 0, _age_s(recent), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_instance = np.where(total > 0, total_s / total + missed_s, stalled_s)
        by_substream = np.where(rows > 0, sums_s / rows, 0.0)
    return by_instance, by_substream


def _by(where: Ints, per_substream: Array) -> Array:
    sums: Array = np.bincount(where, weights=per_substream).astype(np.float64)
    return sums
