"""One cycle of regulation, pure: a snapshot in, changes out. The regulator runs it live, replay on recorded history.

state     what is carried from one cycle to the next
outcome   what one policy concluded in one cycle: a change to apply, a change refused, or nothing; and why
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.changes import Change, Target
from penstock.deployment import Deployment
from penstock.ids import ChangeId
from penstock.observe.history import History
from penstock.observe.snapshot import Snapshot
from penstock.policies.gate import why_refused
from penstock.policies.policy import Bounds, Decision, Memory, Policy, View
from penstock.policies.rule import Regulation, bounds_of

HISTORY_S = 900.0  # three of the longest windows that a paper's policy reads (300 s)
ALERT_AGAIN_S = 600.0  # an alert is told once; again only when it has been quiet for so long


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """`run` begins the id of every change, so that the changes of two regulators of one deployment differ."""

    run: str = "change"
    history: History = field(default_factory=lambda: History(HISTORY_S))
    memories: Mapping[str, Memory] = field(default_factory=dict)
    heard_at_s: Mapping[str, float] = field(default_factory=dict)
    started_s: float = 0.0
    cycles: int = 0
    changes: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """`refused` says why `change` was not passed on."""

    policy: str
    why: str
    change: Change | None = None
    refused: str | None = None
    alerts: tuple[str, ...] = ()


def is_fresh(state: State, snapshot: Snapshot | None) -> bool:
    latest = state.history.latest
    return snapshot is not None and (latest is None or snapshot.end_s > latest.end_s)


def cycle(
    state: State, deployment: Deployment, snapshot: Snapshot, regulation: Regulation, seed: int
) -> tuple[State, tuple[Outcome, ...]]:
    """What every policy concludes from a fresh snapshot."""
    state = _begun(state, snapshot)
    promised = _with_objectives(deployment, regulation)
    outcomes = []
    for label, policy, bounds in _scopes(promised, regulation):
        view = View(promised, state.history, bounds, snapshot.end_s, state.started_s)
        rng = np.random.default_rng([seed, zlib.crc32(label.encode()), state.cycles])
        attempt = _attempt(policy, view, state.memories.get(label, {}), rng)
        state, outcome = _concluded(state, label, policy, attempt)
        outcomes.append(outcome)
    return state, tuple(outcomes)


def _begun(state: State, snapshot: Snapshot) -> State:
    oldest_s = snapshot.end_s - ALERT_AGAIN_S
    return replace(
        state,
        history=state.history.appended(snapshot),
        heard_at_s={alert: at_s for alert, at_s in state.heard_at_s.items() if at_s > oldest_s},
        started_s=state.started_s if state.history.latest else snapshot.start_s,
        cycles=state.cycles + 1,
    )


def _with_objectives(deployment: Deployment, regulation: Regulation) -> Deployment:
    promises = {t: regulation.for_query(t.component).promises or () for t in deployment.targets}
    asked = {t: tuple(p.objective for p in promised) for t, promised in promises.items() if promised}
    return replace(deployment, objectives={**deployment.objectives, **asked})


def _scopes(deployment: Deployment, regulation: Regulation) -> Iterator[tuple[str, Policy, dict[Target, Bounds]]]:
    """Each policy with the components that it regulates."""
    policies: dict[str, Policy] = {}
    bounds: dict[str, dict[Target, Bounds]] = {}
    for target in (t for t in deployment.targets if t not in deployment.unregulated):
        if found := regulation.policy_of(target.component):
            policies[found[0]] = found[1]
            rule = regulation.for_query(target.component)
            bounds.setdefault(found[0], {})[target] = bounds_of(deployment, target, rule)
    return ((label, policies[label], bounds[label]) for label in sorted(policies))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """`heard` are the decision's alerts by what makes them the same alert as before."""

    decision: Decision
    refused: str | None
    heard: Mapping[str, str]
    now_s: float


def _attempt(policy: Policy, view: View, memory: Memory, rng: np.random.Generator) -> _Attempt:
    """A policy that raises, or decides what makes no sense, changes nothing and keeps its memory."""
    try:
        decision = policy.decide(view, memory, rng)
        heard = {alert: alert for alert in decision.alerts}
        return _Attempt(decision, why_refused(decision.parts, view), heard, view.now_s)
    except Exception as error:
        place = f"{type(error).__name__} in {_line_of(error)}"
        told = f"policy {policy.name} raised {place}: {error}; it is asked again at the next step"
        failed = Decision(alerts=(told,), why=told, memory=memory)
        return _Attempt(failed, None, {f"{policy.name} {place}": told}, view.now_s)


def _line_of(error: Exception) -> str:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "nowhere"


def _concluded(state: State, label: str, policy: Policy, attempt: _Attempt) -> tuple[State, Outcome]:
    decision = attempt.decision
    changes = state.changes + bool(decision.parts)
    change = Change(ChangeId(f"{state.run}-{changes}"), decision.parts, decision.why, policy.name)
    alerts = tuple(told for alert, told in attempt.heard.items() if alert not in state.heard_at_s)
    following = replace(
        state,
        memories={**state.memories, label: decision.memory},
        heard_at_s={**state.heard_at_s, **{alert: attempt.now_s for alert in attempt.heard}},
        changes=changes,
    )
    asked = change if decision.parts else None
    return following, Outcome(policy.name, decision.why, asked, attempt.refused, alerts)
