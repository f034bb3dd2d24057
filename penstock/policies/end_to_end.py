"""StreamSwitch for one bound over a whole path: each component gets a part of it, moved to where it is missed (6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penstock.changes import Target
from penstock.objectives.objective import Latency
from penstock.policies.batch_costs import learnt_from
from penstock.policies.figures import Figures
from penstock.policies.policy import Decision, Memory, View
from penstock.policies.split import split
from penstock.policies.streamswitch import StreamSwitch
from penstock.policies.streamswitch_examine import is_batched

FLOOR = 1.5  # batches: what a row waits back to back when there is no load


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """
    limit_s   mean latency of the path: of all components that are regulated together
    every_s   how often the parts are moved: success is a share of many windows
    """

    limit_s: float
    every_s: float = 30.0
    inner: StreamSwitch = field(default_factory=StreamSwitch)

    @property
    def name(self) -> str:
        return "streamswitch-end-to-end"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        bounds = _bounds(memory.get("bounds", {}), view, self.limit_s)
        moved_s = memory.get("moved_s", view.now_s)
        alerts: tuple[str, ...] = ()
        if view.now_s - moved_s >= self.every_s:
            bounds, alerts = self._moved(view, bounds, moved_s)
            moved_s = view.now_s
        asked = {t: (Latency(bounds[str(t)]),) for t in view.targets}
        objectives = {**view.deployment.objectives, **asked}
        inside = replace(view, deployment=replace(view.deployment, objectives=objectives))
        found = self.inner.decide(inside, memory.get("inner", {}), rng)
        kept = {"bounds": bounds, "moved_s": moved_s, "inner": found.memory}
        return replace(found, alerts=(*alerts, *found.alerts), memory=kept)

    def _moved(
        self, view: View, bounds: Mapping[str, float], since_s: float
    ) -> tuple[dict[str, float], tuple[str, ...]]:
        names = [str(t) for t in view.targets]
        figures = {str(t): Figures.since(view, t, since_s) for t in view.targets}
        successes = [success(figures[n], bounds[n]) for n in names]
        floors_s = [_floor_s(view, t, figures[str(t)]) for t in view.targets]
        found = split([bounds[n] for n in names], successes, floors_s)
        if found is None:
            told = f"{self.limit_s:g} s end to end cannot be kept: empty batches alone take {sum(floors_s):.2g} s"
            return dict(bounds), (told,)
        return dict(zip(names, found, strict=True)), ()


def _bounds(before: Mapping[str, Any], view: View, limit_s: float) -> dict[str, float]:
    """Even parts to begin with, and when the path has changed."""
    names = [str(t) for t in view.targets]
    if sorted(before) == sorted(names):
        return {name: float(before[name]) for name in names}
    return {name: limit_s / len(names) for name in names}


def success(figures: Figures, limit_s: float) -> float:
    """The share of steps in which it held: a step without completions by the age of what is pending."""
    held = [
        _held(seen.latency.mean_s if seen.latency else None, seen.oldest_pending_s, limit_s)
        for _, seen in figures.steps
    ]
    known = [h for h in held if h is not None]
    return sum(known) / len(known) if known else 1.0


def _held(mean_s: float | None, oldest_s: float | None, limit_s: float) -> bool | None:
    value_s = oldest_s if mean_s is None else mean_s
    return None if value_s is None else value_s < limit_s


def _floor_s(view: View, target: Target, figures: Figures) -> float:
    assignment = view.deployment.assignments.get(target)
    if not is_batched(view):
        return 0.0
    parallelism = view.deployment.parallelism(target)
    where = np.array(assignment.instance_of if assignment else range(parallelism), dtype=np.intp)
    learnt = learnt_from(figures, where)
    most = float(np.bincount(where).max())
    return 0.0 if learnt is None else FLOOR * (learnt.overhead_s + learnt.substream_s * most) - learnt.after_s
