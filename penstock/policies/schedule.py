"""Schedule: changes at given times.

- {at_s: 30, component: counts, parallelism: 4}      at_s counts from the start of regulation
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.changes import Rescale, Target
from penstock.policies.policy import Decision, Memory, View
from penstock.reading import probably_meant


@dataclass(frozen=True, slots=True)
class Appointment:
    at_s: float
    component: str
    parallelism: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """An appointment with a component that is not there yet waits for it, and says so once. Of several that are due
    for one component the last one counts."""

    appointments: tuple[Appointment, ...] = ()

    @property
    def name(self) -> str:
        return "schedule"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        if view.history.latest is None:
            return Decision(why="nothing has been seen yet", memory=memory)
        kept = {int(i) for i in memory.get("kept", ())}
        due = [i for i, a in enumerate(self.appointments) if i not in kept and a.at_s <= view.now_s - view.started_s]
        now = [i for i in due if _named(self.appointments[i].component, view)]
        waiting = sorted({self.appointments[i].component for i in due if i not in now})
        last = _last_of_each([self.appointments[i] for i in now])
        changes = [(a, t) for a in last for t in _named(a.component, view)]
        parts = tuple(_rescale(a, t, view) for a, t in changes if _is_change(a, t, view))
        told = memory.get("told", ())
        alerts = [_unknown(name, view) for name in waiting if name not in told] + _bounded(changes, view)
        why = ", ".join(f"{a.component} at {a.at_s:g} s: {a.parallelism}" for a in last) or "nothing is due"
        return Decision(parts, tuple(alerts), why, {"kept": sorted({*kept, *now}), "told": sorted({*told, *waiting})})


def _last_of_each(appointments: Sequence[Appointment]) -> list[Appointment]:
    return list({a.component: a for a in sorted(appointments, key=lambda a: a.at_s)}.values())


def _named(component: str, view: View) -> tuple[Target, ...]:
    """By the component's name, or by `topology/component` where a name alone is not enough."""
    return tuple(t for t in view.targets if component in (t.component, str(t)))


def _is_change(appointment: Appointment, target: Target, view: View) -> bool:
    return view.bounds[target].nearest(appointment.parallelism) != view.deployment.parallelism(target)


def _rescale(appointment: Appointment, target: Target, view: View) -> Rescale:
    return Rescale(target, view.bounds[target].nearest(appointment.parallelism))


def _bounded(changes: Sequence[tuple[Appointment, Target]], view: View) -> list[str]:
    return [
        f"{t} gets {view.bounds[t].nearest(a.parallelism)} instances, not {a.parallelism}: its bound"
        for a, t in changes
        if a.parallelism not in view.bounds[t]
    ]


def _unknown(component: str, view: View) -> str:
    left_alone = [why for t, why in view.deployment.unregulated.items() if component in (t.component, str(t))]
    if left_alone:
        return f"the schedule names {component!r}, which is not regulated: {left_alone[0]}"
    meant = probably_meant(component, [t.component for t in view.targets])
    return f"the schedule names {component!r}, and this schedule regulates no such component: {meant}"
