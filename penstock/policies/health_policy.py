"""The frame of Dhalion's policies (4.1 to 4.3): detectors, diagnosers, a selection, resolvers, what helped so far.

invocation   evaluate the last action, once its wait is over; detect symptoms over the window; diagnose; select; check
             the blacklist before acting; act; wait for the topology to settle, and consider nothing seen meanwhile
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penstock.changes import Part, Target
from penstock.policies.blacklist import Blacklist, Health, Outcome, judged
from penstock.policies.detectors import Reading
from penstock.policies.figures import Figures
from penstock.policies.policy import Decision, Memory, View
from penstock.policies.resolvers import Action, resolved
from penstock.policies.symptoms import Diagnosis, DiagnosisKind, Symptom, SymptomKind
from penstock.policies.treatment import answered_s

Detector = Callable[[Reading, View], Symptom | None]
Diagnoser = Callable[[tuple[Symptom, ...], bool], tuple[Diagnosis, ...]]

CURES: Mapping[DiagnosisKind, Action] = {
    DiagnosisKind.UNDER_PROVISIONING: Action.SCALE_UP,
    DiagnosisKind.SLOW_INSTANCES: Action.RESTART,
    DiagnosisKind.DATA_SKEW: Action.REBALANCE,
    DiagnosisKind.OVER_PROVISIONING: Action.SCALE_DOWN,
    DiagnosisKind.SLO_VIOLATION: Action.SCALE_SOURCES,
}
FOR_BACKPRESSURE = (Action.SCALE_UP, Action.RESTART, Action.REBALANCE)


@dataclass(frozen=True, slots=True)
class Pace:
    """
    window_s             symptoms are looked for in the last 300 s (5.1): a spike or a gap in it changes nothing
    interval_s           between invocations: 120 s (6.2)
    wait_s               after an action, until the topology has settled: Heron's code waits 180 s
    blacklist_above      the share of fruitless tries from which an action is not tried again; None switches it off. The
                         paper names no default: with one half, an action that fails the first time is not repeated
    """

    window_s: float = 300.0
    interval_s: float = 120.0
    wait_s: float = 180.0
    blacklist_above: float | None = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """What is to be done about a diagnosis, and what a person has to know."""

    parts: tuple[Part, ...] = ()
    alerts: tuple[str, ...] = ()
    action: Action | None = None
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Invocation:
    """All that one invocation knows."""

    view: View
    readings: Mapping[Target, Reading]
    blacklist: Blacklist
    threshold: float | None
    rng: np.random.Generator
    symptoms: tuple[Symptom, ...] = ()

    def health(self, target: Target) -> Health:
        """Where sources stop, what arrives inside is throttled: there the sources tell what was asked for, and the
        component itself whether a queue is filling that has stopped nobody yet."""
        reading = self.readings[target]
        figures = _of_sources(self, target) if reading.sources_stop else (reading.figures,)
        arrived, completed = (
            _sum(f.per_s("rows_arrived") for f in figures),
            reading.figures.per_s("rows_completed") or 0.0,
        )
        pressed = (s.pressed for s in self.symptoms if s.kind is SymptomKind.BACKPRESSURE and s.target == target)
        own = reading.figures.met_share
        return Health(
            completed / arrived if arrived > 0 else 1.0,
            max(pressed, default=0.0),
            arrived,
            1.0 if own is None else round(own, 4),
        )

    def is_listed(self, diagnosis: Diagnosis, action: Action) -> bool:
        entry, arrived_per_s = (
            what(diagnosis.kind, diagnosis.target, action),
            self.health(diagnosis.target).arrived_per_s,
        )
        return self.threshold is not None and self.blacklist.lists(entry, arrived_per_s, self.threshold)

    def resolution(self, diagnosis: Diagnosis) -> Resolution:
        """The diagnosis's own action; where that is listed or cannot be, one of the other two at random (D20)."""
        own = CURES.get(diagnosis.kind)
        if own is None:
            return Resolution()
        found = self._try(diagnosis, own)
        if found.parts or own not in FOR_BACKPRESSURE:
            return found
        others = [a for a in FOR_BACKPRESSURE if a is not own]
        for action in self.rng.permutation(np.array(others, dtype=object)):
            found = self._try(diagnosis, action)
            if found.parts:
                return found
        return Resolution()

    def _try(self, diagnosis: Diagnosis, action: Action) -> Resolution:
        if self.is_listed(diagnosis, action):
            return Resolution()
        part = resolved(action, diagnosis, self.readings[diagnosis.target], self.view)
        return Resolution() if part is None else Resolution((part,), (), action, diagnosis)


Selection = Callable[[Invocation, tuple[Diagnosis, ...]], tuple[Resolution, ...]]
Evaluation = Callable[[Health, Health, bool], Outcome]


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """`detectors` and `diagnosers` are shared; `select` says which resolutions of which diagnoses are carried out."""

    name: str
    detectors: tuple[Detector, ...]
    diagnosers: tuple[Diagnoser, ...]
    select: Selection
    evaluate: Evaluation = judged
    pace: Pace = field(default_factory=Pace)

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        next_s = memory.get("next_s")
        if next_s is not None and view.now_s < next_s - 1e-6:
            return Decision(why=f"the next look is in {next_s - view.now_s:.0f} s", memory=memory)
        readings, lacking = self._readings(view, memory)
        if lacking is not None or not readings:
            return Decision(why=lacking or "no component is regulated", memory=memory)
        return self._invoke(view, memory, rng, readings)

    def _readings(self, view: View, memory: Memory) -> tuple[dict[Target, Reading], str | None]:
        """Of every component that may be changed; or why it is too early."""
        asked_s = memory.get("asked_s")
        since_s = 0.0 if asked_s is None else answered_s(view, asked_s)
        enough_s = self.pace.window_s if asked_s is None else min(self.pace.wait_s, self.pace.window_s)
        readings = {}
        for target in view.targets:
            figures = Figures.since(view, target, since_s).without_gaps(self.pace.window_s).latest(self.pace.window_s)
            if not figures.steps or figures.steps[-1][0] is not view.history.latest:
                return {}, f"{target.component}: figures of the last step are missing"
            if not figures.covers(enough_s):
                return {}, f"{target.component}: {figures.seconds:.0f} s of {enough_s:.0f} s were seen"
            readings[target] = Reading.of(view, target, figures)
        return readings, None

    def _invoke(
        self, view: View, memory: Memory, rng: np.random.Generator, readings: Mapping[Target, Reading]
    ) -> Decision:
        found = (d(reading, view) for reading in readings.values() for d in self.detectors)
        symptoms = tuple(s for s in found if s is not None)
        known = Blacklist.of(memory.get("blacklist", ()))
        at = Invocation(view, readings, known, self.pace.blacklist_above, rng, symptoms)
        blacklist, on_trial, came_of_it = self._evaluated(at, memory)
        at = Invocation(view, readings, blacklist, self.pace.blacklist_above, rng, symptoms)
        batched = any(r.batched for r in readings.values())
        diagnoses = tuple(d for diagnoser in self.diagnosers for d in diagnoser(symptoms, batched))
        resolutions = self.select(at, diagnoses)
        decision = self._decision(at, diagnoses, resolutions, came_of_it if memory.get("acted") else "")
        return replace(decision, memory={**decision.memory, **({"on_trial": on_trial} if on_trial else {})})

    def _evaluated(self, at: Invocation, memory: Memory) -> tuple[Blacklist, list[Any], str]:
        """What came of the last actions, now that they have had their time (D9). Backpressure may take longer to build
        up than the wait: a scale-down is on trial as long as the load stays."""
        blacklist, on_trial, told = at.blacklist, list[Any](), list[str]()
        for name, kind, action, before in [*memory.get("on_trial", ()), *memory.get("acted", ())]:
            target = next((t for t in at.readings if str(t) == name), None)
            if target is None:
                continue
            was, is_down = Health(*before), action == Action.SCALE_DOWN
            outcome = self.evaluate(was, at.health(target), is_down)
            if is_down and outcome is Outcome.HELPED:
                on_trial = [t for t in on_trial if t[0] != name] + [[name, kind, action, before]]
            else:
                entry = what(DiagnosisKind(kind), target, Action(action))
                blacklist = blacklist.counted(entry, was.arrived_per_s, outcome)
            told.append(f"{target.component}: the last action ({action}) {_OUTCOMES[outcome]}")
        return blacklist, on_trial, "; ".join(dict.fromkeys(told))

    def _decision(
        self, at: Invocation, diagnoses: Sequence[Diagnosis], resolutions: Sequence[Resolution], came_of_it: str
    ) -> Decision:
        parts = tuple(p for r in resolutions for p in r.parts)
        acted = [
            [str(r.diagnosis.target), r.diagnosis.kind.value, r.action.value, at.health(r.diagnosis.target).json]
            for r in resolutions
            if r.parts and r.diagnosis is not None and r.action is not None
        ]
        now_s = at.view.now_s
        memory: dict[str, Any] = {"next_s": now_s + (self.pace.wait_s if parts else self.pace.interval_s)}
        if at.blacklist.entries:
            memory["blacklist"] = at.blacklist.json
        if parts:
            memory |= {"asked_s": now_s, "acted": acted}
        alerts = tuple(a for r in resolutions for a in r.alerts) or _helpless(diagnoses, parts)
        reason = "; ".join(_sentence(r, at) for r in resolutions if r.parts) or _why_nothing(diagnoses, alerts)
        return Decision(parts, alerts, f"{reason} ({came_of_it})" if came_of_it else reason, memory)


_OUTCOMES = {
    Outcome.HELPED: "helped",
    Outcome.FRUITLESS: "did not help",
    Outcome.UNCLEAR: "cannot be judged: the load has changed",
}


def what(kind: DiagnosisKind, target: Target, action: Action) -> str:
    return f"{kind}|{target}|{action}"


def _of_sources(at: Invocation, target: Target) -> tuple[Figures, ...]:
    topology = at.view.deployment.topologies[target.topology]
    sources = [Target(target.topology, c) for c in topology.in_order if not topology.parents(c)]
    seconds = at.readings[target].figures.seconds
    return tuple(Figures(tuple(at.view.history.of(s))).latest(seconds) for s in sources)


def _sum(values: Any) -> float:
    return float(sum(v for v in values if v is not None))


def _sentence(resolution: Resolution, at: Invocation) -> str:
    diagnosis, action = resolution.diagnosis, resolution.action
    assert diagnosis is not None and action is not None
    target = diagnosis.target
    then = f"{action}"
    for part in resolution.parts:
        wanted = getattr(part, "parallelism", None)
        if wanted is not None:
            then = f"{wanted} instances instead of {at.readings[target].parallelism}"
        elif action is Action.RESTART:
            then = f"restart instance {getattr(part, 'instance', None)}"
        elif action is Action.REBALANCE:
            then = "substreams move to where there is room"
    return f"{target.component}: {diagnosis.says}, which is {diagnosis.kind}: {then}"


def _helpless(diagnoses: Sequence[Diagnosis], parts: Sequence[Part]) -> tuple[str, ...]:
    """Backpressure that nothing is done about is for people to know."""
    causes = [d for d in diagnoses if d.kind is DiagnosisKind.UNEXPLAINED or CURES[d.kind] in FOR_BACKPRESSURE]
    return () if parts else tuple(f"{d.target}: {d.says}; {d.kind}, and nothing is left to be tried" for d in causes)


def _why_nothing(diagnoses: Sequence[Diagnosis], alerts: Sequence[str]) -> str:
    if diagnoses:
        found = "; ".join(f"{d.target.component}: {d.kind} ({d.says})" for d in diagnoses)
        return f"{found}: nothing that could be done has helped before, or is possible"
    return alerts[0] if alerts else "healthy: no symptom"
