"""StreamSwitch: latency objectives by moving substreams between instances (Wu et al.; docs/background/streamswitch.md).

Examine what was seen, diagnose each component, treat it: one unit strategy at a time as the paper prints it, or on
micro-batches, where a treatment costs one batch whatever it moves, as many as it takes, put into one change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.changes import Assign, PartKind, Target
from penstock.objectives.objective import Latency
from penstock.policies.componentwise import Wish, componentwise, rescale
from penstock.policies.figures import Figures
from penstock.policies.policy import Decision, Memory, View
from penstock.policies.streamswitch_diagnose import Goals, Health, diagnose
from penstock.policies.streamswitch_even import Even, examine_even, why_even
from penstock.policies.streamswitch_examine import Asked, Invalid, State, examine, is_batched
from penstock.policies.streamswitch_words import stuck_alerts, why
from penstock.topology.assignment import Assignment

ALERT_S = 0.1  # the paper's l on continuous engines: robust from 20 to 500 ms at L = 1 s (S16)
COMPOSED = 64  # unit strategies in a change: enough to go from 8 instances to 64 at once
QUIET_BATCHES = 5  # a quiet stretch shorter than this is noise: scaling in and out again costs two batches


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One component in one decision. `quiet_since_s` is when it was first found that fewer instances would do."""

    view: View
    target: Target
    objective: Latency
    quiet_since_s: float | None

    @property
    def since_s(self) -> float:
        return self.view.now_s if self.quiet_since_s is None else self.quiet_since_s

    @property
    def quiet(self) -> dict[str, float]:
        return {} if self.quiet_since_s is None else {"quiet_since_s": self.quiet_since_s}

    def waiting(self, alerts: tuple[str, ...]) -> Wish:
        return Wish("fewer instances would do, but not for long yet", None, alerts, {"quiet_since_s": self.since_s})


@dataclass(frozen=True, slots=True)
class StreamSwitch:
    """
    margin         share of the service rate that decisions leave unused: the paper's baseline Switch(.2)
    alert_s        l; None: 100 ms on continuous engines, on micro-batches half-way from their floor to the limit
    at_once        unit strategies in one change; None: 1 on continuous engines, as many as it takes on micro-batches
    quiet_share    of the limit that a scale-in stays below; None: all of it (the paper) one at a time, .8 composed, for
                   a component at its limit goes back and forth with the noise of its batches
    """

    margin: float = 0.2
    alert_s: float | None = None
    at_once: int | None = None
    quiet_share: float | None = None

    @property
    def name(self) -> str:
        return "streamswitch"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        def regulate(target: Target, since_s: float, own: Mapping[str, Any]) -> Wish:
            objective = tightest(view, target)
            if objective is None:
                return Wish("no latency was asked for")
            case = _Case(view, target, objective, own.get("quiet_since_s"))
            wish = Asked(objective.limit_s, objective.window_s, self.margin, objective.quantile)
            if target not in view.deployment.assignments or PartKind.ASSIGN not in view.deployment.capabilities.parts:
                figures = Figures.since(view, target, since_s)
                return self._treat_even(case, examine_even(view, figures, view.deployment.parallelism(target), wish))
            return self._treat(case, examine(view, target, since_s, wish))

        return componentwise(view, memory, regulate)

    def _treat(self, case: _Case, state: State | Invalid) -> Wish:
        if isinstance(state, Invalid):
            return Wish(state.why, memory=case.quiet)
        goals = self._goals(case, state.floor_s)
        if (unreachable := _unreachable(state, goals)) is not None:
            return Wish(unreachable, alerts=(f"{case.target}: {unreachable}",))
        diagnosis = diagnose(state.setting, state.latency_s, goals)
        alerts = stuck_alerts(case.target, diagnosis, goals)
        if not diagnosis.strategies:
            return Wish(why(diagnosis, goals), alerts=alerts)
        part = Assign(case.target, Assignment(tuple(diagnosis.after.instance_of.tolist())))
        if diagnosis.health is Health.GOOD and not self._has_been_quiet(case):
            return case.waiting(alerts)
        return Wish(why(diagnosis, goals), part, alerts)

    def _treat_even(self, case: _Case, even: Even | Invalid) -> Wish:
        if isinstance(even, Invalid):
            return Wish(even.why, memory=case.quiet)
        goals = self._goals(case, even.law.floor_s(1))
        part = rescale(case.view, case.target, even.wanted(goals))
        wanted = even.parallelism if part is None else part.parallelism
        if wanted < even.parallelism and not self._has_been_quiet(case):
            return case.waiting(())
        return Wish(why_even(even, wanted, goals), part)

    def _has_been_quiet(self, case: _Case) -> bool:
        if self._at_once(case.view) == 1:
            return True
        return len(Figures.since(case.view, case.target, case.since_s).batches) >= QUIET_BATCHES

    def _at_once(self, view: View) -> int:
        return self.at_once or (COMPOSED if is_batched(view) else 1)

    def _goals(self, case: _Case, floor_s: float) -> Goals:
        limit_s, at_once = case.objective.limit_s, self._at_once(case.view)
        quiet_share = self.quiet_share or (1.0 if at_once == 1 else 0.8)
        bounds = case.view.bounds[case.target]
        return Goals(limit_s, self._alert_s(case.view, limit_s, floor_s), bounds, at_once, quiet_share)

    def _alert_s(self, view: View, limit_s: float, floor_s: float) -> float:
        """Below the limit, else every sign would come too late (3.3)."""
        if self.alert_s is not None:
            return min(self.alert_s, limit_s / 2)
        if is_batched(view):
            return (floor_s + limit_s) / 2 if floor_s < limit_s else limit_s / 2
        return min(ALERT_S, limit_s / 2)


def tightest(view: View, target: Target) -> Latency | None:
    latencies = [o for o in view.deployment.objectives.get(target, ()) if isinstance(o, Latency)]
    return min(latencies, key=lambda o: o.limit_s, default=None)


def _unreachable(state: State, goals: Goals) -> str | None:
    """Where even the widest assignment, without load, is above the limit (D-map 8)."""
    highest = goals.bounds.highest or state.setting.rows_per_s.size
    least = -(-state.setting.rows_per_s.size // max(1, highest))
    floor_s = state.setting.law.floor_s(least)
    if floor_s < goals.limit_s:
        return None
    return (
        f"{goals.limit_s:g} s cannot be reached: an empty batch alone means {floor_s:.2g} s; "
        "what a batch costs beside its rows must become less"
    )
