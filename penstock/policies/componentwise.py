"""One component after the other: each is left alone while a change of it is under way, and all changes are one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.changes import Assign, PartKind, Rescale, Target
from penstock.policies.policy import Decision, Memory, View
from penstock.policies.treatment import Treatment, answer, asked


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted for one component. No part: it stays as it is. `memory` is what its policy keeps of it."""

    why: str
    part: Rescale | Assign | None = None
    alerts: tuple[str, ...] = ()
    memory: Mapping[str, Any] = field(default_factory=dict)


# From a component, since when its configuration has been what it is, and what its policy kept of it
Regulate = Callable[[Target, float, Mapping[str, Any]], Wish]


def componentwise(view: View, memory: Memory, regulate: Regulate) -> Decision:
    if view.history.latest is None:
        return Decision(why="nothing has been seen yet", memory=memory)
    wishes: dict[Target, Wish] = {}
    kept: dict[str, Any] = {}
    for target in view.targets:
        wishes[target], kept[str(target)] = _regulated(view, target, memory.get(str(target), {}), regulate)
    parts = tuple(w.part for w in wishes.values() if w.part is not None)
    told = [f"{t.component}: {w.why}" for t, w in wishes.items() if w.part is not None or not parts]
    alerts = tuple(a for w in wishes.values() for a in w.alerts)
    return Decision(parts, alerts, "; ".join(told) or "no component is regulated", kept)


def _regulated(view: View, target: Target, known: Mapping[str, Any], regulate: Regulate) -> tuple[Wish, dict[str, Any]]:
    answered = answer(Treatment.of(known), view, target)
    treatment = answered.treatment
    own = {key: value for key, value in known.items() if key != "treatment"}
    wish = Wish("the last change is not in force yet", memory=own)
    if not answered.active:
        outside = within_bounds(view, target)
        wish = _brought_back(outside) if outside else regulate(target, treatment.since_s, own)
    if wish.part is not None:
        treatment = _asked(view.now_s, treatment.since_s, wish.part)
    alerts = (answered.alert,) if answered.alert else ()
    return Wish(wish.why, wish.part, (*alerts, *wish.alerts)), {**wish.memory, **treatment.json}


def rescale(view: View, target: Target, parallelism: int) -> Rescale | None:
    """Within the bounds; None where that changes nothing, or cannot be."""
    wanted = view.bounds[target].nearest(max(1, parallelism))
    can = PartKind.RESCALE in view.deployment.capabilities.parts
    return Rescale(target, wanted) if can and wanted != view.deployment.parallelism(target) else None


def within_bounds(view: View, target: Target) -> Rescale | None:
    """Whoever runs outside of what was laid down is brought there first."""
    return rescale(view, target, view.deployment.parallelism(target))


def _brought_back(part: Rescale) -> Wish:
    return Wish(f"its bounds ask for {part.parallelism} instances", part)


def _asked(now_s: float, since_s: float, part: Rescale | Assign) -> Treatment:
    if isinstance(part, Assign):
        return asked(now_s, since_s, part.assignment.parallelism, part.assignment)
    return asked(now_s, since_s, part.parallelism)
