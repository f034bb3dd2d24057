"""What a component's batches cost beside their rows, as far as its history tells: the parameters of the batch law."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from statistics import median

import numpy as np

from penstock.models.learn import BatchTimes, Learnt, learnt_overheads, substream_cost_s
from penstock.models.microbatch import BatchLaw
from penstock.policies.figures import Array, Figures, Step, known
from penstock.policies.streamswitch_setting import Ints

IDLE_SHARE = 0.05  # of a batch: with less rest in between, batches run back to back
POINTS = 4000  # on a line: more do not move it, and cost as much as the rest of a decision
REGULAR = 0.1  # intervals that differ by less come from a trigger, not from rows that were late


def learnt_from(fresh: Figures, where: Ints) -> Learnt | None:
    """From the steps with batches; an earlier width counts as even."""
    steps = [s for s in fresh.steps if s[1].batches]
    times = [t for s in steps if (t := _times(s, where)) is not None]
    columns = [np.array(column, dtype=np.float64) for column in zip(*times, strict=True)]
    found = learnt_overheads(BatchTimes(*columns)) if columns else None
    if found is None:
        return None
    own_s = _inside_s(fresh)
    return replace(found, substream_s=found.substream_s + own_s, inside_s=own_s)


def _inside_s(fresh: Figures) -> float:
    """What each substream of a batch takes within its useful time: committing its state, where the switch sees it."""
    rows, useful_s = list[Array](), list[Array]()
    for _, seen in reversed(fresh.steps):
        own = seen.substreams
        if sum(r.size for r in rows) >= POINTS:
            break
        if seen.batches and own is not None and own.rows_completed is not None and own.useful_s is not None:
            rows.append(own.rows_completed / len(seen.batches))
            useful_s.append(own.useful_s / len(seen.batches))
    return substream_cost_s(np.concatenate(rows), np.concatenate(useful_s)) if rows else 0.0


def _times(step: Step, where: Ints) -> tuple[float, float, float, float] | None:
    """Duration, time after publication, longest work on rows, and substreams of the widest instance."""
    seen = step[1]
    n = len(seen.batches)
    if seen.instances is None or seen.instances.useful_s is None:
        return None
    duration_s = sum(b.duration_s for b in seen.batches) / n
    after_s = sum(b.ended_at_s - b.visible_at_s for b in seen.batches) / n
    slowest_s = float(known(seen.instances.useful_s).max(initial=0.0)) / n
    return duration_s, after_s, slowest_s, _most(seen.parallelism, where)


def _most(parallelism: int | None, where: Ints) -> float:
    counts = np.bincount(where)
    if parallelism is None or parallelism == counts.size:
        return float(counts.max())
    return float(-(-where.size // max(1, parallelism)))


def batch_law(fresh: Figures, learnt: Learnt | None, margin: float, quantile: float | None) -> BatchLaw:
    costs = learnt or Learnt(0.0, 0.0, 0.0, 0.0, 0)
    return BatchLaw(
        overhead_s=costs.overhead_s,
        substream_s=costs.substream_s,
        trigger_s=trigger_s(fresh),
        after_s=costs.after_s,
        before_share=before_share(fresh),
        margin=margin,
        quantile=quantile,
    )


def trigger_s(fresh: Figures) -> float:
    """The interval at which batches start, where they rest in between and start regularly; else 0: back to back."""
    batches = fresh.batches
    pairs = list(pairwise(batches))
    if len(pairs) < 2:
        return 0.0
    intervals_s = [b.started_at_s - a.started_at_s for a, b in pairs]
    usual_s = median(intervals_s)
    rests = median(b.started_at_s - a.ended_at_s for a, b in pairs) > IDLE_SHARE * usual_s
    regular = median(abs(i - usual_s) for i in intervals_s) < REGULAR * usual_s
    return usual_s if rests and regular else 0.0


def before_share(fresh: Figures) -> float:
    """How busy the stages before the shuffle keep each instance, at the present width and load."""
    before_s = arrived = completed = 0.0
    width = 1
    for _, seen in fresh.steps:
        inside, own = seen.instances, seen.substreams
        if inside is None or inside.useful_s is None or own is None or own.useful_s is None:
            continue
        before_s += max(0.0, float(known(inside.useful_s).sum()) - float(known(own.useful_s).sum()))
        completed += seen.rows_completed or 0.0
        arrived += seen.rows_arrived or 0.0
        width = seen.parallelism or inside.useful_s.size
    if completed <= 0 or before_s < IDLE_SHARE * fresh.seconds / 10:
        return 0.0
    return min(0.95, before_s / completed * arrived / max(fresh.seconds, 1e-9) / width)
