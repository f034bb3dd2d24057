"""Dhalion's two policies (Floratou et al.; docs/background/dhalion.md).

provisioning   no backpressure, and no more instances than that takes (5.1)
throughput     an objective for the rows that the sources emit; never scales down (5.2)
"""

from __future__ import annotations

from penstock.changes import Target
from penstock.objectives.objective import Throughput
from penstock.policies.detectors import Reading, backpressure, nothing_waits
from penstock.policies.diagnosers import backpressure_diagnoses, over_provisioning, slo_violation
from penstock.policies.health_policy import HealthPolicy, Invocation, Pace, Resolution
from penstock.policies.policy import View
from penstock.policies.resolvers import Action, rescale, scaled_sources
from penstock.policies.symptoms import Diagnosis, DiagnosisKind, Symptom, SymptomKind

DAY_PACE = Pace()
WAITING_BATCHES = 2.0  # a batch's worth waits always on micro-batches: more than this is data that is not read
WAITING_S = 1.0  # the same for continuous sources
ROUNDING = 1e-3  # an objective of 4 M rows that gets 3.999 M is met


def provisioning(pace: Pace = DAY_PACE) -> HealthPolicy:
    return HealthPolicy(
        "dhalion",
        (_backpressure_of_bolts, _nothing_waits_at_bolts),
        (backpressure_diagnoses, lambda symptoms, batched: over_provisioning(symptoms)),
        select_provisioning,
        pace=pace,
    )


def throughput(pace: Pace = DAY_PACE) -> HealthPolicy:
    return HealthPolicy(
        "dhalion-throughput",
        (_backpressure_behind_sources, too_few_rows),
        (backpressure_diagnoses, lambda symptoms, batched: slo_violation(symptoms)),
        select_throughput,
        pace=pace,
    )


# detectors of the two ------------------------------------------------------------------------------------------------


def is_source(view: View, target: Target) -> bool:
    return not view.deployment.topologies[target.topology].parents(target.component)


def _backpressure_of_bolts(reading: Reading, view: View) -> Symptom | None:
    """Where sources stop, a source's queue is data that is available. Elsewhere a source is a query like any other."""
    return None if reading.sources_stop and is_source(view, reading.target) else backpressure(reading)


def _nothing_waits_at_bolts(reading: Reading, view: View) -> Symptom | None:
    return None if reading.sources_stop and is_source(view, reading.target) else nothing_waits(reading)


def _backpressure_behind_sources(reading: Reading, view: View) -> Symptom | None:
    """Backlog before a source is no backpressure: it is data available (D-map 2)."""
    return None if is_source(view, reading.target) else backpressure(reading)


def too_few_rows(reading: Reading, view: View) -> Symptom | None:
    """The Emit Count detector: all sources of a topology together against the objective."""
    wanted = objective_rows_per_s(view, reading.target)
    emitted = sources_rows_per_s(view, reading)
    if not is_source(view, reading.target) or wanted is None or emitted is None or emitted >= wanted * (1 - ROUNDING):
        return None
    says = f"the sources emit {emitted * 60:,.0f} rows/min of {wanted * 60:,.0f}"
    return Symptom(SymptomKind.TOO_FEW_ROWS, reading.target, says, share=emitted / wanted)


def objective_rows_per_s(view: View, target: Target) -> float | None:
    asked = [
        o.at_least_rows_per_s
        for t, objectives in view.deployment.objectives.items()
        for o in objectives
        if t.topology == target.topology and isinstance(o, Throughput)
    ]
    return max(asked, default=None)


def sources_rows_per_s(view: View, reading: Reading) -> float | None:
    """What is completed at a source is emitted; one that nobody regulates counts as well."""
    seconds, total = reading.figures.seconds, 0.0
    since_s = reading.figures.steps[0][0].start_s
    for target in (t for t in view.deployment.targets if t.topology == reading.target.topology and is_source(view, t)):
        seen = [c.rows_completed for s, c in view.history.of(target) if s.start_s >= since_s - 1e-6]
        if None in seen:
            return None
        total += sum(n for n in seen if n is not None)
    return total / seconds if seconds > 0 else None


# selections ----------------------------------------------------------------------------------------------------------


def select_provisioning(at: Invocation, diagnoses: tuple[Diagnosis, ...]) -> tuple[Resolution, ...]:
    """Over-provisioning excludes the rest. One component shrinks at a time, the most downstream first (6.2)."""
    pressed = [d for d in diagnoses if d.kind is not DiagnosisKind.OVER_PROVISIONING]
    if pressed:
        return select_backpressure(at, pressed)
    order = {t: i for i, t in enumerate(at.view.deployment.targets)}
    for diagnosis in sorted(diagnoses, key=lambda d: -order[d.target]):
        found = at.resolution(diagnosis)
        if found.parts:
            return (found,)
    return ()


def select_backpressure(at: Invocation, diagnoses: list[Diagnosis]) -> tuple[Resolution, ...]:
    """Where sources stop, the component that caused most of it; on durable streams each has its own backlog (C15)."""
    worst_first = sorted(diagnoses, key=lambda d: -max(s.share for s in d.symptoms))
    found: dict[Target, Resolution] = {}
    for diagnosis in worst_first:
        resolution = Resolution() if diagnosis.target in found else at.resolution(diagnosis)
        if resolution.parts:
            found[diagnosis.target] = resolution
            if at.readings[diagnosis.target].sources_stop:
                break
    return tuple(found.values())


def select_throughput(at: Invocation, diagnoses: tuple[Diagnosis, ...]) -> tuple[Resolution, ...]:
    pressed = [d for d in diagnoses if d.kind is not DiagnosisKind.SLO_VIOLATION]
    if pressed:
        return select_backpressure(at, pressed)
    return tuple(_more_sources(at, d) for d in diagnoses)


def _more_sources(at: Invocation, diagnosis: Diagnosis) -> Resolution:
    reading, target = at.readings[diagnosis.target], diagnosis.target
    wanted, emitted = objective_rows_per_s(at.view, target), sources_rows_per_s(at.view, reading)
    assert wanted is not None and emitted is not None
    if not has_data(reading):
        return Resolution(alerts=(f"{target}: {diagnosis.says}, and no more data waits: there is not enough of it",))
    if at.is_listed(diagnosis, Action.SCALE_SOURCES):
        return Resolution()
    parallelism = scaled_sources(reading.parallelism, emitted, wanted)
    part = rescale(parallelism, reading, at.view)
    bound = at.view.bounds[target]
    alerts = (f"{target}: {parallelism} sources are wanted, its upper bound is {bound.highest}",)
    return Resolution(
        () if part is None else (part,),
        alerts if parallelism not in bound else (),
        Action.SCALE_SOURCES,
        diagnosis,
    )


def has_data(reading: Reading) -> bool:
    """Whether rows wait outside that a faster source would emit."""
    pending, arrived_per_s = reading.figures.pending_rows, reading.figures.per_s("rows_arrived")
    batches = reading.figures.batches
    usual_s = WAITING_BATCHES * sum(b.duration_s for b in batches) / len(batches) if batches else WAITING_S
    return pending is not None and pending > (arrived_per_s or 0.0) * usual_s
