"""A policy at work in the simulator: scenarios in a few words, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from penstock.changes import Change, Execution, Rescale, Target
from penstock.deployment import Deployment
from penstock.ids import ComponentId, TopologyId
from penstock.objectives.objective import Objective
from penstock.observe.snapshot import Snapshot
from penstock.policies.cycle import State, cycle
from penstock.policies.policy import Policy
from penstock.policies.rule import Regulation, Rule
from penstock.simulator.arrays import Floats
from penstock.simulator.arrivals import RateOf
from penstock.simulator.component import BatchCosts, Service
from penstock.simulator.scenario import (
    ComponentModel,
    Fault,
    Pressure,
    Scenario,
    Skew,
    Switching,
    TopologyModel,
    Traffic,
)
from penstock.simulator.simulation import Simulation
from penstock.topology.topology import Component, Grouping, Stream, Topology

WORDS = TopologyId("words")
COUNT = Target(WORDS, ComponentId("count"))


@dataclass(frozen=True, slots=True)
class Part:
    """One component of a chain; the first has traffic."""

    name: str
    rate: float
    parallelism: int = 1
    substreams: int | None = None
    skew: Skew = field(default_factory=Skew)
    emits: float = 1.0
    objectives: tuple[Objective, ...] = ()
    costs: BatchCosts = field(default_factory=BatchCosts)
    max_parallelism: int | None = None


@dataclass(frozen=True, slots=True)
class World:
    execution: Execution = Execution.MICRO_BATCH
    duration_s: float = 120.0
    step_s: float = 0.1
    observe_steps: int = 10
    pressure: Pressure = field(default_factory=Pressure)
    switching: Switching = field(default_factory=Switching)
    faults: tuple[Fault, ...] = ()
    cv: float = 0.0


def steps(*pairs: tuple[float, float]) -> RateOf:
    """Rows a second from these times on."""
    at_s, rates = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

    def rate(time_s: Floats) -> Floats:
        now: Floats = rates[np.maximum(np.searchsorted(at_s, time_s, side="right") - 1, 0)]
        return now

    return rate


def chain(parts: list[Part], rate: RateOf, world: World, seed: int = 0) -> Scenario:
    components = tuple(Component(ComponentId(p.name), p.parallelism, p.substreams, p.max_parallelism) for p in parts)
    streams = tuple(
        Stream(a.id, b.id, Grouping.KEY if b.substreams else Grouping.SHUFFLE, ("k",) if b.substreams else ())
        for a, b in pairwise(components)
    )
    models = {
        c.id: ComponentModel(
            Service(1 / p.rate, emits=p.emits),
            skew=p.skew,
            costs=p.costs,
            traffic=Traffic(rate, world.cv) if i == 0 else None,
            objectives=p.objectives,
        )
        for i, (p, c) in enumerate(zip(parts, components, strict=True))
    }
    owner = TopologyModel(
        Topology(WORDS, components, streams), world.execution, models, world.pressure, world.switching
    )
    return Scenario(world.duration_s, (owner,), world.step_s, world.observe_steps, seed=seed, faults=world.faults)


@dataclass(slots=True)
class Lived:
    snapshots: list[Snapshot] = field(default_factory=list)
    deployments: list[Deployment] = field(default_factory=list)
    changes: list[tuple[float, Change]] = field(default_factory=list)
    widths: list[Mapping[str, int]] = field(default_factory=list)
    alerts: list[tuple[float, str]] = field(default_factory=list)
    reasons: list[tuple[float, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def width_at(self, name: str, at_s: float) -> int:
        at = [i for i, s in enumerate(self.snapshots) if s.end_s <= at_s + 1e-6][-1]
        return self.widths[at][name]

    def latency_s(self, target: Target, start_s: float, end_s: float) -> list[float]:
        seen = [s.components[target].latency for s in self.snapshots if start_s <= s.start_s and s.end_s <= end_s]
        return [h.mean_s for h in seen if h is not None and h.mean_s is not None]


def lived(policy: Policy, scenario: Scenario, seed: int = 0, rule: Rule | None = None) -> Lived:
    simulation, state, found = Simulation(scenario), State(), Lived()
    regulation = Regulation({"*": (rule or Rule()).over(Rule(policy=policy))})
    while not simulation.world.ended:
        snapshot = simulation.observe()
        if snapshot is None:
            continue
        deployment = simulation.describe()
        found.snapshots.append(snapshot)
        found.deployments.append(deployment)
        found.widths.append({t.component: deployment.parallelism(t) for t in deployment.targets})
        state, outcomes = cycle(state, deployment, snapshot, regulation, seed)
        for outcome in outcomes:
            found.reasons.append((snapshot.end_s, outcome.why))
            found.alerts += [(snapshot.end_s, a) for a in outcome.alerts]
            if outcome.refused:
                found.refused.append(outcome.refused)
            elif outcome.change is not None:
                receipt = simulation.apply(outcome.change)
                if receipt.reason:
                    found.refused.append(receipt.reason)
                found.changes.append((snapshot.end_s, outcome.change))
    return found


def rescaled_to(change: Change) -> dict[str, int]:
    return {str(p.target.component): p.parallelism for p in change.parts if isinstance(p, Rescale)}
