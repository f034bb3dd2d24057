"""The simulator behind the engine port: policies cannot tell it from Spark, but for its speed."""

from __future__ import annotations

from penstock.changes import Change, Receipt
from penstock.deployment import Deployment
from penstock.observe.snapshot import Snapshot
from penstock.simulator.scenario import Scenario
from penstock.simulator.simulation import Simulation


class SimulatedEngine:
    """Every `observe` lets one step of the scenario pass; None is a step of which nothing was seen, or the end."""

    def __init__(self, scenario: Scenario) -> None:
        self._simulation = Simulation(scenario)

    @property
    def now_s(self) -> float:
        return self._simulation.world.now_s

    @property
    def ended(self) -> bool:
        return self._simulation.world.ended

    def describe(self) -> Deployment:
        return self._simulation.describe()

    def observe(self) -> Snapshot | None:
        return self._simulation.observe()

    def apply(self, change: Change) -> Receipt:
        return self._simulation.apply(change)
