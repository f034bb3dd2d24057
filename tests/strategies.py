"""Hypothesis strategies for the records of the core: topologies, deployments, what was seen, objectives, changes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from penstock.changes import (
    Assign,
    Cap,
    Capabilities,
    Change,
    Containers,
    Execution,
    Part,
    PartKind,
    Place,
    Receipt,
    Rescale,
    Restart,
    Revert,
    Status,
    Target,
)
from penstock.deployment import Container, Deployment, Host
from penstock.ids import ChangeId, ComponentId, ContainerId, HostId, TopologyId
from penstock.objectives.objective import Juice, Latency, Objective, Throughput
from penstock.observe.history import History
from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import BatchSeen, ComponentSeen, How, Snapshot
from penstock.topology.assignment import Assignment, spread
from penstock.topology.topology import Component, Grouping, Stream, Topology

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
SECONDS = st.floats(1e-3, 1e6)
LATENCIES_S = st.lists(st.floats(0, 1e4), max_size=40)


def latency_objectives() -> st.SearchStrategy[Latency]:
    quantiles = st.none() | st.just(1.0) | st.floats(1e-3, 1.0)
    return st.builds(Latency, SECONDS, quantiles, st.just(1.0) | SECONDS, st.booleans())


def objectives() -> st.SearchStrategy[Objective]:
    throughput = st.builds(Throughput, st.floats(1e-3, 1e12))
    return latency_objectives() | throughput | st.builds(Juice, st.floats(1e-3, 1.0))


@st.composite
def assignments(draw: st.DrawFn, substreams: int | None = None) -> Assignment:
    count = draw(st.integers(1, 24)) if substreams is None else substreams
    parallelism = draw(st.integers(1, count))
    free = draw(st.lists(st.integers(0, parallelism - 1), min_size=count - parallelism, max_size=count - parallelism))
    return Assignment(tuple(draw(st.permutations([*range(parallelism), *free]))))


@st.composite
def components(draw: st.DrawFn, name: str) -> Component:
    substreams = draw(st.none() | st.integers(1, 16))
    bound = draw(st.none() | st.integers(1, 16))
    highest = min(n for n in (substreams, bound, 16) if n is not None)
    return Component(ComponentId(name), draw(st.integers(1, highest)), substreams, bound)


@st.composite
def streams(draw: st.DrawFn, source: ComponentId, target: ComponentId) -> Stream:
    grouping = draw(st.sampled_from(Grouping))
    key = draw(st.lists(NAMES, min_size=1, max_size=2)) if grouping is Grouping.KEY else []
    return Stream(source, target, grouping, tuple(key))


@st.composite
def topologies(draw: st.DrawFn, name: str | None = None) -> Topology:
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    made = tuple(draw(components(n)) for n in names)
    pairs = [(a.id, b.id) for i, a in enumerate(made) for b in made[i + 1 :]]
    joined = [pair for pair in pairs if draw(st.booleans())]
    return Topology(TopologyId(name or draw(NAMES)), made, tuple(draw(streams(a, b)) for a, b in joined))


@st.composite
def deployments(draw: st.DrawFn) -> Deployment:
    topology = draw(topologies())
    execution = draw(st.sampled_from(Execution))
    parts = draw(st.sampled_from([frozenset(PartKind), frozenset({PartKind.RESCALE, PartKind.ASSIGN}), frozenset()]))
    hosts = (Host(HostId("h"), 4.0),)
    containers = tuple(Container(ContainerId(f"c{i}"), hosts[0].id, 4) for i in range(draw(st.integers(0, 3))))
    known = [c for c in topology.components if c.substreams is not None and draw(st.booleans())]
    return Deployment(
        Capabilities(execution, parts),
        {topology.id: topology},
        hosts,
        containers,
        {Target(topology.id, c.id): spread(c.substreams or 1, c.parallelism) for c in known},
        unregulated={t: "real-time mode" for t in _targets(topology) if draw(st.integers(0, 9)) == 0},
    )


def _targets(topology: Topology) -> list[Target]:
    return [Target(topology.id, c.id) for c in topology.components]


@st.composite
def components_seen(draw: st.DrawFn, start_s: float, first_batch: int) -> ComponentSeen:
    """Conserves rows: what arrived was completed or is pending."""
    completed, pending = draw(st.integers(0, 1000)), draw(st.integers(0, 100))
    batches = tuple(
        BatchSeen(first_batch + i, start_s + i * 0.1, start_s + i * 0.1 + 0.08, start_s + i * 0.1 + 0.09, 10, 1)
        for i in range(draw(st.integers(0, 3)))
    )
    latency = draw(st.none() | st.lists(st.floats(0, 1e4), max_size=3).map(LatencyHistogram.of))
    seen = ComponentSeen(completed + pending, completed, completed, 0, pending, latency=latency, batches=batches)
    return draw(st.sampled_from([seen, ComponentSeen(latency_how=How.UNKNOWN)]))


@st.composite
def histories(draw: st.DrawFn, deployment: Deployment, least: int = 0) -> History:
    history = History(window_s=60.0)
    end_s = draw(st.floats(0, 1e6))
    for i in range(draw(st.integers(least, 6))):
        start_s, end_s = end_s, end_s + draw(st.floats(0.1, 20))
        targets = [t for t in deployment.targets if draw(st.integers(0, 9)) > 0]
        history = history.appended(
            Snapshot(start_s, end_s, {t: draw(components_seen(start_s, 10 * i)) for t in targets})
        )
    return history


def targets() -> st.SearchStrategy[Target]:
    return st.builds(Target, NAMES.map(TopologyId), NAMES.map(ComponentId))


def parts() -> st.SearchStrategy[Part]:
    counts = st.integers(1, 1000)
    containers = st.lists(NAMES.map(ContainerId), min_size=1, max_size=4).map(tuple)
    return st.one_of(
        st.builds(Rescale, targets(), counts),
        st.builds(Assign, targets(), assignments()),
        st.builds(Place, targets(), containers),
        st.builds(Restart, targets(), st.none() | st.integers(0, 9)),
        st.builds(Cap, targets(), st.none() | counts),
        st.builds(Containers, counts, st.none() | NAMES),
        st.builds(Revert, NAMES.map(ChangeId)),
    )


def changes() -> st.SearchStrategy[Change]:
    return st.builds(Change, NAMES.map(ChangeId), st.lists(parts(), max_size=3).map(tuple), st.text(), NAMES)


def receipts() -> st.SearchStrategy[Receipt]:
    known = st.none() | st.integers(0, 100)
    cost_s = st.none() | st.floats(0, 100)
    return st.builds(
        Receipt, NAMES.map(ChangeId), st.sampled_from(Status), SECONDS, st.none() | st.text(), known, cost_s, known
    )


def generators() -> st.SearchStrategy[np.random.Generator]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)
