"""All facts of a driver, folded: which queries there are, how they are joined, and what each step saw."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.changes import Capabilities, Execution, PartKind, Receipt, Status, Target
from penstock.deployment import Container, Deployment, Host
from penstock.engines.spark.query import PlanSeen, Query
from penstock.errors import InvalidInput
from penstock.ids import ChangeId, ComponentId, ContainerId, HostId, TopologyId
from penstock.observe.snapshot import ComponentSeen, Snapshot
from penstock.topology.assignment import Assignment, spread
from penstock.topology.topology import Component, Stream, Topology

Json = Mapping[str, Any]
CAPABILITIES = Capabilities(
    Execution.MICRO_BATCH, frozenset({PartKind.RESCALE, PartKind.ASSIGN, PartKind.PLACE, PartKind.REVERT})
)


@dataclass(slots=True)
class Ledger:
    """`reads_from` are edges that nobody can see from outside, as `foreachBatch` hides them: somebody stated them."""

    reads_from: Mapping[str, Collection[str]] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    driver: Json = field(default_factory=dict)
    executors: dict[str, Container] = field(default_factory=dict)
    missed_facts: int = 0
    awaited: dict[ChangeId, dict[str, int]] = field(default_factory=dict)  # change -> query -> plan version
    receipts: list[Receipt] = field(default_factory=list)
    parked: set[str] = field(default_factory=set)  # may be told before the query's own start is
    _numbered: int = 0
    _last_end_s: float | None = None

    # facts in ----------------------------------------------------------------------------------------------

    def fold(self, fact: Json) -> None:
        kind = fact["fact"]
        if kind == "driver":
            self.driver = fact
        elif kind == "executor-added":
            host = HostId(fact["host"])
            self.executors[fact["executor"]] = Container(ContainerId(fact["executor"]), host, fact["slots"])
        elif kind == "executor-removed":
            self.executors.pop(fact["executor"], None)
        elif kind == "query-started":
            self._query(fact).started(fact)
        elif kind == "reads-from":
            self.reads_from = fact["edges"]
        elif kind == "parked":
            self.parked.add(fact["query"])
        elif "query" in fact and fact["query"] in self.queries:
            self._tell(self.queries[fact["query"]], kind, fact)
        for query in self.queries.values():
            query.slots, query.parked = self.slots, query.id in self.parked

    def _tell(self, query: Query, kind: str, fact: Json) -> None:
        if kind == "progress":
            query.progressed(fact)
            self._settle(query)
        elif kind == "arrivals":
            query.arrivals(fact)
        elif kind == "plan-in-force":
            query.plan = PlanSeen.of(fact)
        elif kind == "unregulated":
            query.unregulated = fact["why"]
        elif kind == "query-ended":
            query.ended(fact)

    def _query(self, fact: Json) -> Query:
        if fact["query"] not in self.queries:
            self.queries[fact["query"]] = Query(fact["query"], self._name(fact.get("name")), self.slots)
        return self.queries[fact["query"]]

    def _name(self, given: str | None) -> str:
        """Most queries have no name: they are numbered in the order they start, which a job keeps from run to run."""
        self._numbered += given is None
        name = given or f"query-{self._numbered}"
        taken = {q.name for q in self.queries.values() if q.running}
        return name if name not in taken else f"{name}-{len(self.queries) + 1}"

    def _settle(self, query: Query) -> None:
        """A change is in force when the first batch under each of its plans is over; what it took more is its cost."""
        for change, versions in list(self.awaited.items()):
            version = versions.get(query.id)
            if version is None or query.plan is None or query.plan.version < version:
                continue
            first = [b for b in query.fresh if b.seen.id >= query.plan.batch]
            if first:
                del versions[query.id]
                cost_s, batch = first[0].cost_s, first[0].seen
                self.receipts.append(
                    Receipt(change, Status.IN_FORCE, batch.started_at_s, batch=batch.id, cost_s=cost_s)
                )
            if not versions:
                del self.awaited[change]

    # what stands -------------------------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        return sum(c.slots for c in self.executors.values()) or int(self.driver.get("slots", 1))

    @property
    def topology_id(self) -> TopologyId:
        return TopologyId(self.driver.get("name") or "application")

    def target(self, query: Query) -> Target:
        return Target(self.topology_id, ComponentId(query.name))

    def query_of(self, target: Target) -> Query | None:
        """The newest of that name: a query may have been stopped and started again with a new checkpoint."""
        named = [q for q in self.queries.values() if self.target(q) == target]
        return next((q for q in reversed(named) if q.running), named[-1] if named else None)

    def assignment(self, query: Query) -> Assignment | None:
        substreams = query.state_partitions
        if query.plan and query.plan.assignment and query.plan.assignment.substreams == substreams:
            return query.plan.assignment
        return spread(substreams, query.parallelism) if substreams else None

    def deployment(self) -> Deployment:
        live = {self.target(q): q for q in self.queries.values()}
        components = tuple(_component(q) for q in live.values())
        topology = _joined(self.topology_id, components, _streams(list(live.values()), self.reads_from))
        hosts = {c.host: Host(c.host, cores=self.driver.get("cores", c.slots)) for c in self.executors.values()}
        assigned = {t: self.assignment(q) for t, q in live.items()}
        placed = {t: q.plan.executors for t, q in live.items() if q.plan and q.plan.executors}
        return Deployment(
            CAPABILITIES,
            {topology.id: topology},
            tuple(hosts.values()),
            tuple(self.executors.values()),
            assignments={t: a for t, a in assigned.items() if a is not None},
            placements={t: tuple(ContainerId(e) for e in executors) for t, executors in placed.items()},
            unregulated={t: q.unregulated for t, q in live.items() if q.unregulated},
        )

    def snapshot(self, end_s: float) -> Snapshot:
        start_s = self._last_end_s if self._last_end_s is not None else end_s
        self._last_end_s = end_s
        receipts, self.receipts = tuple(self.receipts), []
        missed, self.missed_facts = self.missed_facts, 0
        seen: dict[Target, ComponentSeen] = {self.target(q): q.seen(end_s) for q in self.queries.values()}
        return Snapshot(start_s, end_s, seen, receipts=receipts, missed_facts=missed)


def _joined(id: TopologyId, components: tuple[Component, ...], streams: list[Stream]) -> Topology:
    """Queries that feed each other in a circle are no topology: they are regulated each by itself."""
    try:
        return Topology(id, components, tuple(streams))
    except InvalidInput:
        return Topology(id, components)


def _component(query: Query) -> Component:
    bound = query.useful_parallelism
    return Component(
        ComponentId(query.name),
        parallelism=query.parallelism,
        substreams=query.state_partitions,
        max_parallelism=None if query.unregulated else bound,
    )


def _streams(queries: list[Query], reads_from: Mapping[str, Collection[str]]) -> list[Stream]:
    """One query's sink is another's source, the same path or the same topic; or somebody said so."""
    pairs = [(a, b) for a in queries for b in queries if a is not b]
    return [
        Stream(ComponentId(a.name), ComponentId(b.name))
        for a, b in pairs
        if a.name in reads_from.get(b.name, ()) or (_place(a.sink) and _place(a.sink) in map(_place, b.sources))
    ]


def _place(description: str | None) -> str | None:
    """
    >>> _place("FileSink[file:/data/words]") == _place("FileStreamSource[file:/data/words]")
    True
    >>> _place("KafkaV2[Subscribe[words]]")
    'kafka:words'
    """
    if description is None:
        return None
    if found := re.match(r"(?:FileSink|FileStreamSource)\[(?:file:)?/*(.*?)/*\]$", description):
        return f"path:{found[1]}"
    found = re.match(r"KafkaV2\[Subscribe\[(.*?)\]\]", description)
    return f"kafka:{found[1]}" if found else None
