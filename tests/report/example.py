"""Runs made up by hand: small ones to read off, long ones to see that the page stays short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from penstock.action_log import Entry, Event
from penstock.changes import Assign, Capabilities, Change, Execution, PartKind, Receipt, Rescale, Status, Target
from penstock.deployment import Deployment
from penstock.ids import ChangeId, ComponentId, TopologyId
from penstock.objectives.parse import parse_objective
from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import BatchSeen, ComponentSeen, How, InstancesSeen, Snapshot, SubstreamsSeen
from penstock.report.record import RunRecord, seen_in
from penstock.topology.assignment import Assignment
from penstock.topology.topology import Component, Stream, Topology

START_S = 1_700_000_000.0
APPLICATION = TopologyId("shop")
SPLIT, COUNT = (Target(APPLICATION, ComponentId(name)) for name in ("split", "count"))
CAPABILITIES = Capabilities(Execution.MICRO_BATCH, frozenset({PartKind.RESCALE}))


def deployment(names: Sequence[str] = ("split", "count"), unregulated: str | None = None) -> Deployment:
    components = tuple(Component(ComponentId(n), parallelism=2, substreams=4) for n in names)
    streams = tuple(Stream(a.id, b.id) for a, b in pairwise(components))
    why = {Target(APPLICATION, components[0].id): unregulated} if unregulated else {}
    return Deployment(CAPABILITIES, {APPLICATION: Topology(APPLICATION, components, streams)}, unregulated=why)


def batch(number: int, end_s: float, latency_s: float | None = 0.4, rows: int = 100) -> BatchSeen:
    late = None if latency_s is None else LatencyHistogram.of([latency_s], [rows])
    phases = {"addBatch": 0.3, "walCommit": 0.05, "queryPlanning": 0.05, "latestOffset": 0.02, "commitOffsets": 0.03}
    return BatchSeen(number, end_s - 0.5, end_s - 0.03, end_s, rows, 2, phases, late)


def seen(number: int, end_s: float, latency_s: float | None = 0.4, parallelism: int = 2) -> ComponentSeen:
    done = batch(number, end_s, latency_s)
    return ComponentSeen(
        rows_arrived=100.0,
        rows_completed=100.0,
        rows_emitted=10.0,
        rows_dropped=0.0,
        rows_pending=20.0,
        arrivals_how=How.EXACT,
        latency=done.latency,
        latency_how=How.EXACT if done.latency else How.UNKNOWN,
        parallelism=parallelism,
        substreams=SubstreamsSeen(rows_completed=np.array([10.0, 20.0, 30.0, 40.0])),
        instances=InstancesSeen(np.array([40.0, 60.0]), None, np.array([0.2, 0.4]), np.array([0.1, 0.2]), np.zeros(2)),
        batches=(done,),
    )


def snapshots(count: int, *targets: Target, latency_s: float | None = 0.4, step_s: float = 1.0) -> Iterator[Snapshot]:
    for i in range(count):
        end_s = START_S + (i + 1) * step_s
        yield Snapshot(end_s - step_s, end_s, {t: seen(i, end_s, latency_s) for t in targets})


def record(
    steps: Sequence[Snapshot],
    entries: Sequence[Entry] = (),
    objective: str | None = None,
    known: Deployment | None = None,
) -> RunRecord:
    where = known or deployment()
    objectives = {"count": (parse_objective(objective),)} if objective else {}
    seen_of_all = seen_in((where, s) for s in steps)
    return RunRecord(
        "shop.py", ("shop.py", "--fast"), START_S, "the job ended by itself", seen_of_all, tuple(entries), objectives
    )


def change(number: int, parallelism: int, target: Target = COUNT) -> Change:
    return Change(ChangeId(f"change-{number}"), (Rescale(target, parallelism),), "the load rose", "schedule")


def assign(number: int, *instance_of: int) -> Change:
    part = Assign(COUNT, Assignment(instance_of))
    return Change(ChangeId(f"change-{number}"), (part,), "by chance", "chaos")


def taken(asked: Change, at_s: float) -> Entry:
    return Entry(START_S + at_s, Event.CHANGE, asked.asked_by, asked.why, asked)


def in_force(asked: Change, at_s: float, batch: int = 7, cost_s: float | None = 0.25) -> Entry:
    receipt = Receipt(asked.id, Status.IN_FORCE, START_S + at_s, batch=batch, cost_s=cost_s)
    return Entry(START_S + at_s + 1, Event.RECEIPT, "engine", "in force", asked, receipt)


def refused(asked: Change, at_s: float, why: str) -> Entry:
    return Entry(START_S + at_s, Event.REFUSED, "engine", why, asked)
