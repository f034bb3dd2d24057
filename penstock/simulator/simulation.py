"""A simulation: a world with its faults and its changes, in the three verbs of the engine port."""

from __future__ import annotations

from penstock.changes import Change, Receipt
from penstock.deployment import Deployment
from penstock.observe.snapshot import ComponentSeen, Snapshot
from penstock.simulator.faults import Faults
from penstock.simulator.scenario import Scenario
from penstock.simulator.sight import component_seen, containers_seen, deployment_of, hosts_seen, streams_seen
from penstock.simulator.switching import Switchboard
from penstock.simulator.world import Happened, World


class Simulation:
    """Each `observe` lets a span pass. The same scenario gives the same snapshots, bit for bit."""

    def __init__(self, scenario: Scenario) -> None:
        self.world = World(scenario)
        self._faults = Faults(scenario.faults)
        self._switchboard = Switchboard(self.world)
        self._described: Deployment | None = None

    def describe(self) -> Deployment:
        """Only changes change it."""
        if self._described is None:
            self._described = deployment_of(self.world)
        return self._described

    def observe(self) -> Snapshot | None:
        """None once the scenario has ended, and where a fault keeps all metrics from arriving."""
        if self.world.ended:
            return None
        self._faults.act(self.world)
        if self._switchboard.act():
            self._described = None
        happened = self.world.advance()
        return None if self._faults.metrics_lost(None) else self._seen(happened)

    def apply(self, change: Change) -> Receipt:
        self._described = None
        return self._switchboard.apply(change)

    def _seen(self, happened: Happened) -> Snapshot:
        world = self.world
        lost = frozenset(t for t in world.running if self._faults.metrics_lost(t))
        components = {}
        for target, progress in happened.progress.items():
            running = world.running[target]
            valve = world.valves[target.topology]
            pressed_s = valve.taken_backpressure_s(target, running.fleet.instances)
            components[target] = ComponentSeen() if target in lost else component_seen(running, progress, pressed_s)
        return Snapshot(
            happened.span.start_s,
            happened.span.end_s,
            components,
            streams_seen(happened, lost),
            containers_seen(world, happened),
            hosts_seen(world, happened),
            self._switchboard.receipts(),
        )
