"""Small worlds to test with."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from penstock.changes import Execution, Target
from penstock.ids import ComponentId, TopologyId
from penstock.observe.snapshot import Snapshot
from penstock.simulator.component import BatchCosts, Service
from penstock.simulator.scenario import ComponentModel, Fidelity, Scenario, TopologyModel, Traffic
from penstock.simulator.simulation import Simulation
from penstock.simulator.traffic import constant
from penstock.topology.topology import Component, Grouping, Stream, Topology

NAME = TopologyId("t")


def target(component: str) -> Target:
    return Target(NAME, ComponentId(component))


def source(rows_per_s: float, service_rows_per_s: float = 1e6, cv: float = 0.0, **more: Any) -> ComponentModel:
    return ComponentModel(Service(1 / service_rows_per_s), traffic=Traffic(constant(rows_per_s), cv), **more)


def operator(rows_per_s: float, emits: float = 1.0, cv: float = 0.0, **more: Any) -> ComponentModel:
    return ComponentModel(Service(1 / rows_per_s, cv, emits), **more)


BATCH = BatchCosts(task_s=0.2, substream_s=0.01, after_s=0.05)


def chain(
    models: Mapping[str, ComponentModel],
    components: Mapping[str, Component] | None = None,
    execution: Execution = Execution.CONTINUOUS,
    grouping: Grouping = Grouping.SHUFFLE,
    **more: Any,
) -> TopologyModel:
    """Components one after the other, in the order of the mapping."""
    names = [ComponentId(n) for n in models]
    parts = tuple((components or {}).get(n) or Component(n) for n in names)
    key = ("k",) if grouping is Grouping.KEY else ()
    streams = tuple(Stream(a, b, grouping, key) for a, b in pairwise(names))
    return TopologyModel(
        Topology(NAME, parts, streams), execution, {ComponentId(n): m for n, m in models.items()}, **more
    )


def simulated(model: TopologyModel, duration_s: float, **more: Any) -> tuple[Simulation, list[Snapshot]]:
    simulation = Simulation(Scenario(duration_s, (model,), **more))
    return simulation, rest_of(simulation)


def rest_of(simulation: Simulation, until_s: float = float("inf")) -> list[Snapshot]:
    snapshots = []
    while simulation.world.now_s < until_s - 1e-9 and (snapshot := simulation.observe()) is not None:
        snapshots.append(snapshot)
    return snapshots


ROWS, COUNTS = Fidelity.ROWS, Fidelity.COUNTS
