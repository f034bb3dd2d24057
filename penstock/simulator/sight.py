"""What a world looks like from outside: snapshots of what happened, and the deployment as it stands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.changes import Capabilities, Execution, PartKind, Target
from penstock.deployment import Deployment
from penstock.ids import ContainerId, HostId
from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import (
    Array,
    ComponentSeen,
    ContainerSeen,
    HostSeen,
    How,
    InstancesSeen,
    StreamSeen,
    SubstreamsSeen,
    frozen,
)
from penstock.simulator.arrays import Floats, Ints, Progress
from penstock.simulator.bins import histogram_of
from penstock.simulator.running import SUBSTREAM_HISTOGRAMS, Running
from penstock.simulator.scenario import PressureKind
from penstock.simulator.world import Happened, World
from penstock.topology.assignment import Assignment
from penstock.topology.topology import Topology


def component_seen(running: Running, progress: Progress, backpressure_s: Floats) -> ComponentSeen:
    completed = float(progress.completed.sum())
    return ComponentSeen(
        rows_arrived=float(progress.arrived.sum()),
        rows_completed=completed,
        rows_emitted=completed * running.model.service.emits,
        rows_dropped=float(progress.dropped.sum()),
        rows_pending=float(progress.pending.sum()),
        oldest_pending_s=progress.oldest_pending_s,
        arrivals_how=How.EXACT,
        latency=progress.latency,
        latency_how=How.EXACT if running.single else How.INTERPOLATED,
        parallelism=running.fleet.instances,
        substreams=_substreams(running, progress) if running.keyed else None,
        instances=_instances(running, progress, backpressure_s),
        batches=progress.batches,
        backpressure_s=float(backpressure_s.max(initial=0.0)),
        suspended_s=float(progress.suspended_s.max(initial=0.0)),
    )


def _real(rows: Ints) -> Array:
    return frozen(rows.astype(np.float64))


def _substreams(running: Running, progress: Progress) -> SubstreamsSeen:
    completed = _real(progress.completed)
    fleet = running.fleet
    row_s = running.model.service.row_s / fleet.speed[fleet.instance_of]
    return SubstreamsSeen(
        rows_arrived=_real(progress.arrived),
        rows_completed=completed,
        rows_emitted=frozen(completed * running.model.service.emits),
        rows_pending=_real(progress.pending),
        rows_dropped=_real(progress.dropped),
        useful_s=frozen(completed * row_s),
        latency=_by_substream(progress, fleet.substreams),
    )


def _by_substream(progress: Progress, substreams: int) -> tuple[LatencyHistogram, ...] | None:
    if progress.samples is None or substreams > SUBSTREAM_HISTOGRAMS:
        return progress.by_substream
    where, latency_s = progress.samples
    order = np.argsort(where, kind="stable")
    bounds = np.searchsorted(where[order], np.arange(1, substreams))
    return tuple(histogram_of(part) for part in np.split(latency_s[order], bounds))


def _instances(running: Running, progress: Progress, backpressure_s: Floats) -> InstancesSeen:
    return InstancesSeen(
        rows_executed=_real(progress.executed),
        rows_queued=_real(running.fleet.per_instance(progress.pending)),
        useful_s=frozen(progress.useful_s),
        cpu_s=frozen(progress.useful_s),
        suspended_s=frozen(progress.suspended_s),
        backpressure_s=frozen(backpressure_s),
    )


def streams_seen(happened: Happened, lost: frozenset[Target]) -> dict[tuple[Target, Target], StreamSeen]:
    return {
        ends: StreamSeen(float(rows), _real(happened.progress[ends[1]].executed))
        for ends, rows in happened.sent_rows.items()
        if lost.isdisjoint(ends)
    }


def containers_seen(world: World, happened: Happened) -> dict[ContainerId, ContainerSeen]:
    """Useful seconds and rows of the instances in each container; rows that stay inside it count as well."""
    if not world.placement.hosts:
        return {}
    cpu_s, came, went = ({c.id: 0.0 for c in world.placement.containers} for _ in range(3))
    for target, progress in happened.progress.items():
        emits = world.running[target].model.service.emits
        for i, container in enumerate(world.placement.of[target]):
            if container in cpu_s:
                cpu_s[container] += float(progress.useful_s[i])
                came[container] += float(progress.executed[i])
                went[container] += float(progress.executed[i]) * emits
    return {c: ContainerSeen(cpu_s[c], None, came[c], went[c]) for c in cpu_s}


def hosts_seen(world: World, happened: Happened) -> dict[HostId, HostSeen]:
    hosts = world.placement.hosts
    return {h.id: HostSeen(h.cores, float(load)) for h, load in zip(hosts, happened.host_cores, strict=True)}


def deployment_of(world: World) -> Deployment:
    scenario = world.scenario
    running = world.running.values()
    return Deployment(
        capabilities=_capabilities(world),
        topologies={t.topology.id: _as_it_stands(t.topology, world) for t in scenario.topologies},
        hosts=world.placement.hosts,
        containers=tuple(world.placement.containers),
        assignments={r.target: Assignment(tuple(r.fleet.instance_of.tolist())) for r in running if r.keyed},
        placements=dict(world.placement.of),
        caps={r.target: r.cap_rows for r in running if r.cap_rows is not None},
        objectives={r.target: r.model.objectives for r in running if r.model.objectives},
    )


def _as_it_stands(topology: Topology, world: World) -> Topology:
    """With today's parallelism: of a component without substreams no assignment tells it."""
    now = {c.id: world.running[Target(topology.id, c.id)].fleet.instances for c in topology.components}
    if all(now[c.id] == c.parallelism for c in topology.components):
        return topology
    return replace(topology, components=tuple(replace(c, parallelism=now[c.id]) for c in topology.components))


def _capabilities(world: World) -> Capabilities:
    kinds = {t.execution for t in world.scenario.topologies}
    parts = {PartKind.RESCALE, PartKind.ASSIGN, PartKind.RESTART, PartKind.REVERT}
    if Execution.MICRO_BATCH in kinds:
        parts.add(PartKind.CAP)
    if world.placement.hosts:
        parts |= {PartKind.PLACE, PartKind.CONTAINERS}
    stop = any(t.pressure.kind is PressureKind.BACKPRESSURE for t in world.scenario.topologies)
    execution = Execution.MICRO_BATCH if kinds == {Execution.MICRO_BATCH} else Execution.CONTINUOUS
    return Capabilities(execution, frozenset(parts), stop)
