"""Examine: from what was seen to a state that can be diagnosed, or the reason why there is none (StreamSwitch 4).

rates      of each substream: its share of the recent rows times what arrived at the component; never what was completed
service    rows per useful second of each instance, smoothed over time
latency    on micro-batches as measured, and the same for all instances; on continuous engines traced from counts
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.changes import Execution, Target
from penstock.models.latency_law import LatencyLaw
from penstock.models.learn import Learnt, Work, service_rates
from penstock.models.mm1 import QueueLaw
from penstock.policies.batch_costs import batch_law, learnt_from
from penstock.policies.figures import Array, Figures
from penstock.policies.policy import View
from penstock.policies.streamswitch_latency import Seen, instance_latency_s
from penstock.policies.streamswitch_setting import Ints, Setting

LEAST_BATCHES = 3  # D-map 5: fewer are noise where the objective's window is shorter than a batch
SLOT_S = 0.1  # the paper's delta: it says how fast a continuous engine's service rates are forgotten
LEARNT_OVER_S = 60.0  # rows that were completed now may have waited so long
LEARNT_OVER = 40  # batches: costs drift with the state's size
SMOOTHED_OVER = 30  # slots, or batches: what is older weighs less than 2% at (7/8)^n


@dataclass(frozen=True, slots=True)
class Asked:
    """What of an objective and of the policy's settings matters here."""

    limit_s: float
    window_s: float
    margin: float
    quantile: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """`latency_s` is the paper's l_i, of each instance; `floor_s` the latency without load at the present width."""

    setting: Setting
    latency_s: Array
    floor_s: float
    learnt: Learnt | None = None


@dataclass(frozen=True, slots=True)
class Invalid:
    why: str


def examine(view: View, target: Target, since_s: float, asked: Asked) -> State | Invalid:
    """Only from what was seen since the last change."""
    assignment = view.deployment.assignments[target]
    fresh = Figures.since(view, target, since_s).latest(*_learnt_over(view))
    recent = window(view, fresh, asked)
    if isinstance(recent, Invalid):
        return recent
    where = np.array(assignment.instance_of, dtype=np.intp)
    rates = substream_rates(recent, fresh, where.size)
    if rates is None:
        return Invalid("how the rows fall on its substreams is not known yet")
    learnt = learnt_from(fresh, where) if is_batched(view) else None
    service = _service(fresh, where, assignment.parallelism, learnt)
    if service is None:
        return Invalid("no instance has worked since the last change: its speed is not known yet")
    law = _law(fresh, learnt, asked, view)
    seen = Seen(recent, fresh, is_batched(view))
    latency_s, substream_latency_s = instance_latency_s(seen, where, asked.quantile)
    order = -rates if seen.batched else substream_latency_s
    setting = Setting(law, rates, order, where, service)
    return State(setting, latency_s, law.floor_s(float(setting.counts.max())), learnt)


def _learnt_over(view: View) -> tuple[float, int]:
    return (0.0, LEARNT_OVER) if is_batched(view) else (LEARNT_OVER_S, 0)


def is_batched(view: View) -> bool:
    return view.deployment.capabilities.execution is Execution.MICRO_BATCH


def window(view: View, fresh: Figures, asked: Asked) -> Figures | Invalid:
    """What counts as now: the objective's window, on micro-batches at least some batches; nothing before a gap.

    A state is invalid where figures are missing (S14). What is late already need not wait for more batches.
    """
    latest = view.history.latest
    if not fresh.steps or fresh.steps[-1][0] is not latest:
        return Invalid("the last step did not see it")
    batches = LEAST_BATCHES if is_batched(view) else 0
    recent = fresh.without_gaps(asked.window_s).latest(asked.window_s, batches)
    if not recent.steps or recent.steps[-1][0] is not latest:
        return Invalid("figures of the last step are missing")
    if not recent.covers(asked.window_s):
        return Invalid(f"waiting for {asked.window_s:g} s of figures")
    is_late = (recent.steps[-1][1].oldest_pending_s or 0.0) > asked.limit_s
    if not recent.covers(asked.window_s, batches) and not is_late:
        return Invalid(f"waiting for {batches} batches")
    return recent


def substream_rates(recent: Figures, fresh: Figures, substreams: int) -> Array | None:
    """Rows a second, in the rows that instances work on: after partial aggregation these are fewer than arrived."""
    arrived = recent.per_substream("rows_arrived", substreams)
    if arrived is not None:
        return arrived / recent.seconds
    completed, arrived_per_s = fresh.per_substream("rows_completed", substreams), recent.per_s("rows_arrived")
    read = fresh.total("rows_completed")
    if completed is None or arrived_per_s is None or not read or completed.sum() <= 0:
        return np.zeros(substreams) if arrived_per_s == 0 else None
    return completed / read * arrived_per_s


def _service(fresh: Figures, where: Ints, instances: int, learnt: Learnt | None) -> Array | None:
    batched = learnt is not None
    smoothed = fresh.latest(0.0, SMOOTHED_OVER) if batched else fresh.latest(SMOOTHED_OVER * SLOT_S)
    steps = [w for s in smoothed.steps if (w := _work(Figures((s,)), where, instances, batched))]
    if learnt is not None and learnt.inside_s > 0:
        own_s, counts = learnt.inside_s, np.bincount(where, minlength=instances)
        steps = [replace(w, useful_s=np.maximum(w.useful_s - own_s * counts * w.slots, 0.0)) for w in steps]
    rates = service_rates(steps, instances)
    if np.isnan(rates).all():
        return None
    return np.where(np.isnan(rates), float(np.nanmedian(rates)), rates)


def _work(step: Figures, where: Ints, instances: int, batched: bool) -> Work | None:
    """By instance where that counts the same rows as its substreams do; else from the substreams themselves: stages
    without state run in the same instances, and are no work of the substreams."""
    slots = float(len(step.batches)) if batched else step.seconds / SLOT_S
    rows, useful_s = step.per_instance("rows_executed", instances), step.per_instance("useful_s", instances)
    by_substream = step.per_substream("rows_completed", where.size)
    of_substream_s = step.per_substream("useful_s", where.size)
    apart = by_substream is not None and of_substream_s is not None
    if rows is not None and useful_s is not None and not (apart and _differ(rows, by_substream)):
        return Work(rows, useful_s, slots)
    if by_substream is None or of_substream_s is None:
        return None
    return Work(_by(where, by_substream, instances), _by(where, of_substream_s, instances), slots)


def _differ(rows: Array, by_substream: Array | None) -> bool:
    """By more than a hundredth: rounding of what is shared out."""
    if by_substream is None:
        return False
    total = float(by_substream.sum())
    return abs(float(rows.sum()) - total) > 0.01 * total


def _by(where: Ints, values: Array, instances: int) -> Array:
    sums: Array = np.bincount(where, weights=values, minlength=instances).astype(np.float64)
    return sums


def _law(fresh: Figures, learnt: Learnt | None, asked: Asked, view: View) -> LatencyLaw:
    if not is_batched(view):
        return QueueLaw(asked.margin, asked.quantile)
    return batch_law(fresh, learnt, asked.margin, asked.quantile)
