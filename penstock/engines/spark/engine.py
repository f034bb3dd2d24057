"""The Spark engine: the three verbs of the port, over the agent in a driver."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.changes import Assign, Change, Part, Place, Receipt, Rescale, Revert, Status, Target, kind_of
from penstock.deployment import Deployment
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.ledger import CAPABILITIES, Ledger
from penstock.engines.spark.query import Query
from penstock.errors import ChangeRefused, LeaseTaken, PenstockError
from penstock.ids import ChangeId
from penstock.observe.snapshot import Snapshot
from penstock.topology.assignment import check_complete, rescaled, spread

LEASE_S = 15.0  # a regulator that dies can be replaced after this time
Json = Mapping[str, Any]


@dataclass(slots=True)
class SparkEngine:
    """`recorder` is handed every fact: what it keeps can be folded again."""

    agent: Agent
    recorder: Callable[[Json], None] = lambda fact: None
    clock: Callable[[], float] = time.time
    ledger: Ledger = field(default_factory=Ledger)
    _next_fact: int = 0
    _lease: str | None = None
    _leased_at_s: float = 0.0
    _before: dict[ChangeId, dict[str, Json]] = field(default_factory=dict)  # the plans that a change replaced

    def describe(self) -> Deployment:
        return self.ledger.deployment()

    def observe(self) -> Snapshot | None:
        self._renew()
        page = self.agent.facts(self._next_fact)
        return self.take(page.facts, page.next, page.missed)

    def take(self, facts: tuple[Json, ...], next_fact: int, missed: int) -> Snapshot | None:
        """Facts from wherever they come: the agent, or what a driver wrote when it ended."""
        self._next_fact = next_fact
        self.ledger.missed_facts += missed
        for fact in facts:
            self.recorder(fact)
            self.ledger.fold(fact)
        return self.ledger.snapshot(self.clock()) if facts else None

    @property
    def next_fact(self) -> int:
        return self._next_fact

    def apply(self, change: Change) -> Receipt:
        now_s = self.clock()
        try:
            plans = self._plans(change)
            version = self._send(plans)
        except (PenstockError, ValueError) as refusal:
            return Receipt(change.id, Status.REFUSED, now_s, reason=str(refusal))
        self.ledger.awaited[change.id] = dict.fromkeys(plans, version)
        return Receipt(change.id, Status.TAKEN, now_s)

    def _renew(self) -> None:
        """Whoever has changed something keeps the lease for as long as it looks."""
        if self._lease and self.clock() - self._leased_at_s > LEASE_S / 3:
            try:
                self._take_lease()
            except LeaseTaken:
                self._lease = None

    def _take_lease(self) -> Json:
        taken = self.agent.take_lease(f"{socket.gethostname()}:{os.getpid()}", LEASE_S, self._lease)
        self._lease, self._leased_at_s = taken["lease"], self.clock()
        return taken

    def release(self) -> None:
        if self._lease:
            self.agent.release(self._lease)

    # a change becomes plans --------------------------------------------------------------------------------

    def _plans(self, change: Change) -> dict[str, Json]:
        plans: dict[str, Json] = {}
        for part in change.parts:
            if isinstance(part, Revert):
                plans.update(self._reverted(part))
            else:
                query = self._query(part)
                plans[query.id] = self._planned(part, query, plans.get(query.id) or _current(query))
        self._before[change.id] = {id: _current(self.ledger.queries[id]) for id in plans}
        return plans

    def _query(self, part: Part) -> Query:
        target: Target | None = getattr(part, "target", None)
        if target is None or kind_of(part) not in CAPABILITIES.parts:
            raise ChangeRefused(f"Spark's engine cannot {kind_of(part)}")
        query = self.ledger.query_of(target)
        if query is None or not query.running:
            known = ", ".join(sorted(str(self.ledger.target(q)) for q in self.ledger.queries.values() if q.running))
            raise ChangeRefused(f"no query {target} is running; there are: {known or 'none'}")
        if query.unregulated:
            raise ChangeRefused(f"{target} is not regulated: {query.unregulated}")
        return query

    def _planned(self, part: Part, query: Query, before: Json) -> Json:
        if isinstance(part, Rescale):
            return self._rescaled(part, query, before)
        if isinstance(part, Assign):
            self._check_bound(query, part.assignment.parallelism)
            if query.state_partitions is None:
                raise ChangeRefused(f"{part.target} holds no state: its parts follow no assignment, rescale it")
            check_complete(part.assignment, query.state_partitions)
            return {"parallelism": part.assignment.parallelism, "instance_of": part.assignment.instance_of}
        assert isinstance(part, Place)
        return self._placed(part, query, before)

    def _rescaled(self, part: Rescale, query: Query, before: Json) -> Json:
        self._check_bound(query, part.parallelism)
        assigned = self.ledger.assignment(query)
        if assigned is None:
            return {"parallelism": part.parallelism}
        fresh = before.get("instance_of") is None
        p = min(part.parallelism, assigned.substreams)
        after = spread(assigned.substreams, p) if fresh else rescaled(assigned, p)
        return {"parallelism": p, "instance_of": after.instance_of}

    def _check_bound(self, query: Query, parallelism: int) -> None:
        bound = query.useful_parallelism
        if not 1 <= parallelism <= bound:
            why = f"{self.ledger.slots} slots, {query.state_partitions or 'no'} state partitions"
            raise ChangeRefused(
                f"{query.name} cannot run as {parallelism} instances: 1 to {bound} are possible ({why})"
            )

    def _placed(self, part: Place, query: Query, before: Json) -> Json:
        unknown = sorted({str(c) for c in part.containers} - set(self.ledger.executors))
        if unknown:
            raise ChangeRefused(f"there is no executor {', '.join(unknown)}")
        parallelism = before.get("parallelism", query.parallelism)
        if len(part.containers) != parallelism:
            raise ChangeRefused(f"{part.target} has {parallelism} instances, {len(part.containers)} places were given")
        return {**before, "parallelism": parallelism, "executors": [str(c) for c in part.containers]}

    def _reverted(self, part: Revert) -> dict[str, Json]:
        if part.to_before not in self._before:
            raise ChangeRefused(f"there is no change {part.to_before} to go back from")
        return dict(self._before[part.to_before])

    def _send(self, plans: Mapping[str, Json]) -> int:
        taken = self._take_lease()
        return self.agent.want(taken["lease"], taken["version"], plans)


def _current(query: Query) -> Json:
    """The plan a query is under; where it has none, one that leaves it as wide as it runs."""
    plan = query.plan
    if plan is None:
        return {"parallelism": query.useful_parallelism}
    assigned = plan.assignment.instance_of if plan.assignment else None
    return {"parallelism": plan.parallelism, "instance_of": assigned, "executors": plan.executors}
