"""A deployment: hosts, containers and all the topologies that share them, as they stand now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.changes import Capabilities, Target
from penstock.ids import ContainerId, HostId, TopologyId
from penstock.objectives.objective import Objective
from penstock.topology.assignment import Assignment
from penstock.topology.topology import Component, Topology


@dataclass(frozen=True, slots=True)
class Host:
    id: HostId
    cores: float
    speed: float = 1.0
    rack: str | None = None
    kind: str | None = None
    price_usd_per_h: float | None = None


@dataclass(frozen=True, slots=True)
class Container:
    id: ContainerId
    host: HostId
    slots: int
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """`assignments` holds the components whose substreams are known; an absent placement means: the engine chooses.

    `unregulated` says of a component why the engine leaves it alone.
    """

    capabilities: Capabilities
    topologies: Mapping[TopologyId, Topology]
    hosts: tuple[Host, ...] = ()
    containers: tuple[Container, ...] = ()
    assignments: Mapping[Target, Assignment] = field(default_factory=dict)
    placements: Mapping[Target, tuple[ContainerId, ...]] = field(default_factory=dict)
    caps: Mapping[Target, int] = field(default_factory=dict)
    objectives: Mapping[Target, tuple[Objective, ...]] = field(default_factory=dict)
    unregulated: Mapping[Target, str] = field(default_factory=dict)

    @property
    def slots(self) -> int:
        return sum(c.slots for c in self.containers)

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(Target(t.id, c) for t in self.topologies.values() for c in t.in_order)

    @property
    def streams(self) -> tuple[tuple[Target, Target], ...]:
        """Which component feeds which."""
        return tuple(
            (Target(t.id, s.source), Target(t.id, s.target)) for t in self.topologies.values() for s in t.streams
        )

    def component(self, target: Target) -> Component:
        return self.topologies[target.topology][target.component]

    def parallelism(self, target: Target) -> int:
        assignment = self.assignments.get(target)
        return assignment.parallelism if assignment else self.component(target).parallelism
