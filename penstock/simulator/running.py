"""A component as it runs: its instances, what waits for them, its own traffic, and its state."""

from __future__ import annotations

import numpy as np

from penstock.changes import Execution, Target
from penstock.objectives.objective import Latency
from penstock.simulator.arrays import Counts, Fleet, Floats, Ints, Progress, Rows, Span, shared_out
from penstock.simulator.arrivals import CountArrivals, Offered, RowArrivals
from penstock.simulator.batches import Batches
from penstock.simulator.component import Process
from penstock.simulator.count_queue import CountQueues
from penstock.simulator.intake import CellIntake, RowIntake
from penstock.simulator.noise import stream_of
from penstock.simulator.route import joined
from penstock.simulator.row_queue import RowQueues
from penstock.simulator.scenario import ComponentModel, Fault, Fidelity, PressureKind, Scenario, TopologyModel
from penstock.topology.assignment import spread
from penstock.topology.topology import Component

SUBSTREAM_HISTOGRAMS = 256  # of so many substreams each may have its own latencies, of more only their component


class Running:
    """`keyed`: its substreams are given. Otherwise each instance has one of its own, and all are worth the same."""

    def __init__(self, target: Target, world: Scenario, place: tuple[int, TopologyModel]) -> None:
        number, owner = place
        self.target = target
        self.component: Component = owner.topology[target.component]
        self.model: ComponentModel = owner.components[target.component]
        self.single = world.fidelity is Fidelity.ROWS
        self.keyed = self.component.substreams is not None
        self.cap_rows = self.model.cap_rows
        self.arrived_rows = self.completed_rows = self.dropped_rows = 0
        self._mix_rng = stream_of(world.seed, number, 3)
        self.fleet = Fleet.of(np.array(self._initial(), dtype=np.int64))
        self.own_speed = self._speeds(self.fleet.instances)
        self.slowed = np.ones(self.fleet.instances)
        self.state_rows = np.full(self.fleet.substreams, self.model.state.initial_rows)
        self.busy_share = np.zeros(self.fleet.instances)
        self._epoch = 0
        self.oldest_arrived_s: float | None = None
        self._lost: dict[Fault, int] = {}
        self._again = 0
        self.process = self._process(world, owner, number)
        self._arrivals = self._traffic(world, number)

    def _initial(self) -> tuple[int, ...]:
        p = self.component.parallelism
        return spread(self.component.substreams or p, p).instance_of

    def _speeds(self, instances: int) -> Floats:
        inferior = self._mix_rng.random(instances) < self.model.mix.share
        return np.where(inferior, self.model.mix.speed, 1.0)

    def _process(self, world: Scenario, owner: TopologyModel, number: int) -> Process:
        service, rng = self.model.service, stream_of(world.seed, number, 2)
        apart = self.keyed and self.fleet.substreams <= SUBSTREAM_HISTOGRAMS and self._per_substream
        if owner.execution is Execution.MICRO_BATCH:
            k = self.fleet.substreams
            intake = RowIntake(k) if self.single else CellIntake(k, world.step_s)
            batches = Batches(self.model.costs, service, self.fleet, intake).seeded(rng)
            batches.cap_rows, batches.by_substream = self.cap_rows, apart
            return batches
        limited = owner.pressure.kind is PressureKind.DROP and bool(owner.topology.parents(self.target.component))
        limit = owner.pressure.high_rows if limited else None
        if self.single:
            return RowQueues(service, self.fleet, limit, rng)
        queues = CountQueues(service, self.fleet, limit, world.step_s, rng)
        queues.by_substream = apart
        return queues

    @property
    def _per_substream(self) -> bool:
        return any(isinstance(o, Latency) and o.per_substream for o in self.model.objectives)

    def _traffic(self, world: Scenario, number: int) -> RowArrivals | CountArrivals | None:
        if self.model.traffic is None:
            return None
        offered = Offered(self.model.traffic.rate, self.weights(0.0), self.model.traffic.cv)
        rng = stream_of(world.seed, number, 1)
        arrivals = RowArrivals(offered, rng) if self.single else CountArrivals(offered, world.step_s, rng)
        if self.model.skew.moves_every_s:
            arrivals.reweigh(offered.weights)
        return arrivals

    def weights(self, now_s: float) -> Floats:
        return self.model.skew.weights(self.fleet.substreams, now_s)

    def moved_weights(self, now_s: float) -> Floats | None:
        """Where hot substreams have moved since last asked: the weights from now on."""
        every_s = self.model.skew.moves_every_s
        if every_s is None or int(now_s // every_s) == self._epoch:
            return None
        self._epoch = int(now_s // every_s)
        weights = self.weights(now_s)
        if self._arrivals is not None:
            self._arrivals.reweigh(weights)
        return weights

    def lost(self, rows: Ints, fault: Fault) -> None:
        self._lost[fault] = self._lost.get(fault, 0) + int(rows.sum())

    def replay_of(self, fault: Fault) -> None:
        """The fault is over: what it lost is sent again, if it is the kind that is."""
        again = self._lost.pop(fault, 0)
        self._again += again if fault.replays else 0

    def offered(self, span: Span) -> Rows | Counts:
        """Traffic of its own, and at the beginning of the span what is replayed."""
        own = self._arrivals.within(span) if self._arrivals is not None else self._nothing(span)
        if not self._again:
            return own
        again, self._again = self._again, 0
        offset = np.array([0.5])
        places = shared_out(np.array([again]), np.cumsum(self.weights(span.start_s)), offset)[0]
        if isinstance(own, Rows):
            substream = np.repeat(np.arange(places.size), places)
            return joined([Rows(np.full(again, span.start_s), substream), own])
        counts = own.copy()
        counts[0] += places
        return counts

    def _nothing(self, span: Span) -> Rows | Counts:
        if self.single:
            return Rows(np.empty(0), np.empty(0, dtype=np.int64))
        return np.zeros((span.steps, self.fleet.substreams), dtype=np.int64)

    def advance(self, arrived: Rows | Counts, span: Span) -> Progress:
        suspended_s = self.fleet.suspended_s(span)
        progress = self.process.advance(arrived, span)
        progress.suspended_s = suspended_s
        self.arrived_rows += int(progress.arrived.sum())
        self.completed_rows += int(progress.completed.sum())
        self.dropped_rows += int(progress.dropped.sum())
        self.busy_share = np.minimum(1.0, progress.useful_s / span.duration_s)
        age_s = progress.oldest_pending_s
        self.oldest_arrived_s = None if age_s is None else span.end_s - age_s
        growth = self.model.state
        if growth.per_row:
            self.state_rows = np.minimum(self.state_rows + growth.per_row * progress.completed, growth.limit_rows)
        return progress

    @property
    def pending_rows(self) -> int:
        return int(self.process.pending_rows.sum())

    def reassign(self, instance_of: Ints) -> None:
        """Other instances from now on; those that stay keep their speed and their faults."""
        before, fleet = self.fleet.instances, self.fleet
        p, k = int(instance_of.max()) + 1, instance_of.size
        fleet.instance_of = instance_of
        self.own_speed = _resized(self.own_speed, p, self._speeds(max(0, p - before)))
        self.busy_share = _resized(self.busy_share, p, np.zeros(max(0, p - before)))
        self.slowed = _resized(self.slowed, p, np.ones(max(0, p - before)))
        fleet.suspended_until_s = _resized(fleet.suspended_until_s, p, np.full(max(0, p - before), -np.inf))
        fleet.speed = self.own_speed * self.slowed
        if k != self.state_rows.size:
            self.state_rows = np.full(k, self.state_rows.sum() / k)
            if self._arrivals is not None:
                self._arrivals.reweigh(self.weights(0.0))
        self.process.reshape()

    def renew(self, instances: Ints) -> None:
        """In a new place: whatever slowed these instances stays behind."""
        self.slowed[instances] = 1.0

    def set_cap(self, rows: int | None) -> None:
        self.cap_rows = rows
        if isinstance(self.process, Batches):
            self.process.cap_rows = rows


def _resized(values: Floats, size: int, added: Floats) -> Floats:
    return np.concatenate((values, added))[:size]
