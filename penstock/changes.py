"""What policies ask of engines, and what engines answer.

change        parts that are taken whole or refused whole, with the reason why it was asked
part          one of a closed list: rescale, assign, place, restart, cap, containers, revert
receipt       the answer: refused with a reason, or in force since when, and at what cost
capabilities  which parts an engine can do, and which latency law holds on it
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from penstock.ids import ChangeId, ComponentId, ContainerId, TopologyId
from penstock.topology.assignment import Assignment


@dataclass(frozen=True, slots=True)
class Target:
    topology: TopologyId
    component: ComponentId

    def __str__(self) -> str:
        return f"{self.topology}/{self.component}"


@dataclass(frozen=True, slots=True)
class Rescale:
    """Run a component as so many instances; the engine chooses which substreams move."""

    target: Target
    parallelism: int


@dataclass(frozen=True, slots=True)
class Assign:
    """Give each substream of a component its instance."""

    target: Target
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class Place:
    """Give each instance of a component its container."""

    target: Target
    containers: tuple[ContainerId, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    """Stop and start an instance, or with None the whole component."""

    target: Target
    instance: int | None = None


@dataclass(frozen=True, slots=True)
class Cap:
    """At most so many rows in a batch; None takes the cap away."""

    target: Target
    rows: int | None


@dataclass(frozen=True, slots=True)
class Containers:
    """Have so many containers of a kind (None: the only kind there is)."""

    count: int
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Revert:
    """Go back to the configuration that was in force before a change."""

    to_before: ChangeId


Part = Rescale | Assign | Place | Restart | Cap | Containers | Revert


class PartKind(StrEnum):
    RESCALE = "rescale"
    ASSIGN = "assign"
    PLACE = "place"
    RESTART = "restart"
    CAP = "cap"
    CONTAINERS = "containers"
    REVERT = "revert"


def kind_of(part: Part) -> PartKind:
    return PartKind(type(part).__name__.lower())


@dataclass(frozen=True, slots=True)
class Change:
    id: ChangeId
    parts: tuple[Part, ...]
    why: str
    asked_by: str


class Status(StrEnum):
    REFUSED = "refused"
    TAKEN = "taken"
    IN_FORCE = "in force"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Receipt:
    """`cost_s` is time without output beyond the usual, `moved_substreams` how much state went elsewhere."""

    change: ChangeId
    status: Status
    at_s: float
    reason: str | None = None
    batch: int | None = None
    cost_s: float | None = None
    moved_substreams: int | None = None


class Execution(StrEnum):
    CONTINUOUS = "continuous"
    MICRO_BATCH = "micro-batch"


@dataclass(frozen=True, slots=True)
class Capabilities:
    execution: Execution
    parts: frozenset[PartKind]
    sources_stop: bool = False  # backpressure reaches the sources (Heron); on durable streams backlog grows instead
