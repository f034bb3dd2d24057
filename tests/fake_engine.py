"""An engine of the port that plays a list of snapshots and takes every change at once, or refuses all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from penstock.changes import (
    Assign,
    Capabilities,
    Change,
    Execution,
    PartKind,
    Receipt,
    Rescale,
    Status,
    Target,
)
from penstock.deployment import Container, Deployment, Host
from penstock.errors import ChangeRefused
from penstock.ids import ComponentId, ContainerId, HostId, TopologyId
from penstock.observe.snapshot import BatchSeen, ComponentSeen, Snapshot
from penstock.topology.assignment import Assignment, rescaled, spread
from penstock.topology.topology import Component, Grouping, Stream, Topology

WORDS = TopologyId("words")
SPLIT, COUNT = Target(WORDS, ComponentId("split")), Target(WORDS, ComponentId("count"))


def deployment(substreams: int = 8, slots: int = 8, **said: object) -> Deployment:
    """Two components, `split -> count`; `count` is keyed, and its assignment known."""
    topology = Topology(
        WORDS,
        (Component(SPLIT.component), Component(COUNT.component, substreams=substreams)),
        (Stream(SPLIT.component, COUNT.component, Grouping.KEY, ("word",)),),
    )
    parts = frozenset({PartKind.RESCALE, PartKind.ASSIGN, PartKind.CAP, PartKind.PLACE, PartKind.RESTART})
    known = Deployment(
        Capabilities(Execution.MICRO_BATCH, parts),
        {WORDS: topology},
        (Host(HostId("h"), slots),),
        (Container(ContainerId("c"), HostId("h"), slots),),
        {COUNT: spread(substreams, 1)},
    )
    return replace(known, **said)  # type: ignore[arg-type]


def batch(id: int, start_s: float) -> BatchSeen:
    return BatchSeen(id, start_s, start_s + 0.8, start_s + 0.9, 100, 1)


def snapshot(step: int, receipts: Iterable[Receipt] = ()) -> Snapshot:
    """Step n covers the n-th second; each component has one batch in it."""
    start_s = float(step)
    seen = ComponentSeen(100, 100, 100, 0, 0, parallelism=1, batches=(batch(step, start_s),))
    return Snapshot(start_s, start_s + 1, {SPLIT: seen, COUNT: seen}, receipts=tuple(receipts))


def steps(count: int) -> list[Snapshot | None]:
    return [snapshot(i) for i in range(count)]


@dataclass(slots=True)
class FakeEngine:
    """A change is answered TAKEN at once; the next snapshot says that it is in force, unless the engine is silent."""

    snapshots: list[Snapshot | None]
    deployment: Deployment = field(default_factory=deployment)
    refuses: str | None = None
    raises: bool = False
    silent: bool = False
    applied: list[Change] = field(default_factory=list)
    _answers: list[Receipt] = field(default_factory=list)

    def describe(self) -> Deployment:
        return self.deployment

    def observe(self) -> Snapshot | None:
        seen = self.snapshots.pop(0) if self.snapshots else None
        if seen is None:
            return None
        answers, self._answers = tuple(self._answers), []
        return replace(seen, receipts=(*seen.receipts, *answers))

    def apply(self, change: Change) -> Receipt:
        if self.refuses is not None and self.raises:
            raise ChangeRefused(self.refuses)
        if self.refuses is not None:
            return Receipt(change.id, Status.REFUSED, 0.0, self.refuses)
        self.applied.append(change)
        for part in change.parts:
            self._take(part)
        if not self.silent:
            self._answers.append(Receipt(change.id, Status.IN_FORCE, 1.0, batch=1, moved_substreams=2))
        return Receipt(change.id, Status.TAKEN, 0.0)

    def _take(self, part: object) -> None:
        if isinstance(part, Assign):
            self._assign(part.target, part.assignment)
        elif isinstance(part, Rescale) and part.target in self.deployment.assignments:
            self._assign(part.target, rescaled(self.deployment.assignments[part.target], part.parallelism))

    def _assign(self, target: Target, assignment: Assignment) -> None:
        self.deployment = replace(self.deployment, assignments={**self.deployment.assignments, target: assignment})
