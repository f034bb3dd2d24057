"""A world: all components of all topologies, moved on together one span at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from penstock.changes import Target
from penstock.ids import TopologyId
from penstock.observe.latency import merged
from penstock.simulator.arrays import Counts, Floats, Progress, Rows, Span
from penstock.simulator.noise import stream_of
from penstock.simulator.placement import Placement
from penstock.simulator.pressure import Valve
from penstock.simulator.route import Route, joined
from penstock.simulator.running import Running
from penstock.simulator.scenario import PressureKind, Scenario, TopologyModel


@dataclass(slots=True)
class Happened:
    """What one span brought, for every component."""

    span: Span
    progress: dict[Target, Progress]
    sent_rows: dict[tuple[Target, Target], int] = field(default_factory=dict)
    host_cores: Floats = field(default_factory=lambda: np.empty(0))


class World:
    """Nothing in it knows a policy, and nothing in it knows a latency law."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.now_s, self._steps = 0.0, 0
        self.running: dict[Target, Running] = {}
        self.valves: dict[TopologyId, Valve] = {}
        self._routes: dict[Target, list[tuple[Target, Route]]] = {}
        self.placement = Placement(scenario.hosts, scenario.slots_per_container)
        for owner in scenario.topologies:
            self._add(owner)
        self._sent: dict[tuple[Target, Target], int] = {}

    def _add(self, owner: TopologyModel) -> None:
        topology = owner.topology
        for c in topology.in_order:
            target = Target(topology.id, c)
            self.running[target] = Running(target, self.scenario, (len(self.running), owner))
            self.placement.place(target, self.running[target].fleet.instances)
        for stream in topology.streams:
            source, target = Target(topology.id, stream.source), Target(topology.id, stream.target)
            number = sum(len(routes) for routes in self._routes.values())
            to = self.running[target]
            emits = self.running[source].model.service.emits
            route = Route(stream.grouping, emits, to.weights(0.0), stream_of(self.scenario.seed, number, 4))
            self._routes.setdefault(source, []).append((target, route))
        sources = [Target(topology.id, c) for c in topology.in_order if not topology.parents(c)]
        self.valves[topology.id] = Valve(owner.pressure, sources)

    def owner(self, target: Target) -> TopologyModel:
        return next(t for t in self.scenario.topologies if t.topology.id == target.topology)

    @property
    def ended(self) -> bool:
        return self.now_s >= self.scenario.duration_s - 1e-9

    def advance(self) -> Happened:
        """One observed span, in as many pieces as pressure needs to act in time."""
        load = {t: self._load(r) for t, r in self.running.items() if self.placement.hosts}
        cores = self.placement.set_speeds(self.running.values(), load)
        first, self._sent = self._steps, {}
        parts: dict[Target, list[Progress]] = {t: [] for t in self.running}
        for piece in self._pieces():
            for target, progress in self._move_on(piece):
                parts[target].append(progress)
            self._act_on_pressure(piece)
        start_s, step_s = first * self.scenario.step_s, self.scenario.step_s
        self._steps = first + self.scenario.observe_steps
        self.now_s = self._steps * step_s
        span = Span(start_s, self.now_s, first, self.scenario.observe_steps)
        return Happened(span, {t: combined(p) for t, p in parts.items()}, self._sent, cores)

    def _load(self, running: Running) -> Floats:
        """The share of a core that each instance will want, as far as its backlog and its last span tell."""
        work_s = running.fleet.per_instance(running.process.pending_rows) * running.model.service.row_s
        wanted: Floats = np.minimum(1.0, running.busy_share + work_s / self.scenario.observe_s)
        return wanted

    def _pieces(self) -> Iterator[Span]:
        n, step_s = self.scenario.observe_steps, self.scenario.step_s
        free = all(t.pressure.kind is PressureKind.UNBOUNDED for t in self.scenario.topologies)
        length = n if free else 1
        for first in range(self._steps, self._steps + n, length):
            yield Span(first * step_s, (first + length) * step_s, first, length)

    def _move_on(self, span: Span) -> Iterator[tuple[Target, Progress]]:
        inbox: dict[Target, list[Rows | Counts]] = {}
        for target, running in self.running.items():
            arrived = joined([running.offered(span), *inbox.pop(target, [])])
            progress = running.advance(arrived, span)
            for to, route in self._routes.get(target, []):
                sent = self._send(route, to, progress, span)
                self._sent[target, to] = self._sent.get((target, to), 0) + _rows_of(sent)
                inbox.setdefault(to, []).append(sent)
            yield target, progress

    def _send(self, route: Route, to: Target, progress: Progress, span: Span) -> Rows | Counts:
        receiver = self.running[to]
        if (weights := receiver.moved_weights(span.start_s)) is not None:
            self.reweigh(to, weights)
        return route.rows(progress.departures_s) if receiver.single else route.counts(progress.departed_rows)

    def reweigh(self, target: Target, weights: Floats) -> None:
        for routes in self._routes.values():
            for to, route in routes:
                if to == target:
                    route.reweigh(weights)

    def _act_on_pressure(self, span: Span) -> None:
        for name, valve in self.valves.items():
            mine = [r for t, r in self.running.items() if t.topology == name]
            valve.act(mine, span)


def _rows_of(sent: Rows | Counts) -> int:
    return sent.arrival_s.size if isinstance(sent, Rows) else int(sent.sum())


def combined(parts: list[Progress]) -> Progress:
    """Pieces of one span as one; what waits is what waits after the last."""
    if len(parts) == 1:
        return parts[0]
    last = parts[-1]
    named = [p.by_substream for p in parts if p.by_substream is not None]
    samples = [p.samples for p in parts if p.samples is not None]
    return Progress(
        arrived=np.sum([p.arrived for p in parts], axis=0),
        completed=np.sum([p.completed for p in parts], axis=0),
        dropped=np.sum([p.dropped for p in parts], axis=0),
        pending=last.pending,
        useful_s=np.sum([p.useful_s for p in parts], axis=0),
        suspended_s=np.sum([p.suspended_s for p in parts], axis=0),
        executed=np.sum([p.executed for p in parts], axis=0),
        latency_sum_s=np.sum([p.latency_sum_s for p in parts], axis=0),
        latency=merged(p.latency for p in parts),
        samples=(np.concatenate([s[0] for s in samples]), np.concatenate([s[1] for s in samples])) if samples else None,
        by_substream=tuple(merged(column) for column in zip(*named, strict=True)) if named else None,
        oldest_pending_s=last.oldest_pending_s,
        batches=tuple(b for p in parts for b in p.batches),
    )
