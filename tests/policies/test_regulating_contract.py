"""Every regulating policy passes the contract over histories in which there is something to decide."""

from __future__ import annotations

from functools import cache

import pytest

from penstock.changes import Execution
from penstock.objectives.objective import Latency, Throughput
from penstock.observe.history import History
from penstock.policies.end_to_end import EndToEnd
from penstock.policies.policy import Policy, View
from penstock.policies.regulating import REGULATING
from penstock.policies.rule import Regulation, Rule, bounds_of
from penstock.policies.static import Static
from penstock.policies.streamswitch import StreamSwitch
from penstock.reading import Written
from penstock.replay import replay
from penstock.simulator.component import BatchCosts
from penstock.simulator.scenario import Pressure, PressureKind, Scenario
from penstock.simulator.simulation import Simulation
from tests.contracts.policy import CHECKS, Check
from tests.policies.driven import Part, World, chain, lived, steps

QUICK = {
    "dhalion": {"window_s": 10, "interval_s": 2, "wait_s": 5},
    "dhalion-throughput": {"window_s": 10, "interval_s": 2, "wait_s": 5},
    "ds2": {"window_s": 5},
    "flink-like": {"window_s": 5, "scale_down_after_s": 10},
    "batch-ratio": {"scaling_interval_s": 5},
}
WORLDS = ("batches", "continuous", "heron")


def made(name: str) -> Policy:
    written = Written(dict(QUICK.get(name, {})), lambda trail: "test")
    policy = REGULATING[name](written)
    assert policy is not None, written.problems
    return policy


def scenario_of(world: str, duration_s: float) -> Scenario:
    """A topology that gets far too much, then next to nothing."""
    objectives = (Latency(1.5), Throughput(500.0))
    costs = BatchCosts(before_s=0.2, substream_s=0.01)
    parts = [
        Part("lines", 2000.0, 2, 16, objectives=objectives, costs=costs),
        Part("split", 300.0, 2, emits=2.0, objectives=objectives, costs=costs),
        Part("count", 500.0, 2, 16, objectives=objectives, costs=costs),
    ]
    told = {
        "batches": World(Execution.MICRO_BATCH, duration_s),
        "continuous": World(Execution.CONTINUOUS, duration_s),
        "heron": World(Execution.CONTINUOUS, duration_s, pressure=Pressure(PressureKind.BACKPRESSURE, 500, 200)),
    }[world]
    return chain(parts, steps((0, 900.0), (duration_s / 2, 3.0)), told)


@cache
def view(world: str) -> View:
    scenario = scenario_of(world, 24.0)
    found = lived(Static(), scenario)
    deployment = Simulation(scenario).describe()
    rule = Rule(max_parallelism=12)
    bounds = {t: bounds_of(deployment, t, rule) for t in deployment.targets}
    return View(deployment, History(900.0, tuple(found.snapshots)), bounds, 24.0)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", REGULATING)
def test_policy(name: str, world: str, check: Check) -> None:
    check(made(name), view(world), 7)


@pytest.mark.parametrize("name", REGULATING)
def test_a_recorded_run_replayed_gives_the_same_changes(name: str) -> None:
    policy, rule = made(name), Rule(max_parallelism=12)
    found = lived(policy, scenario_of("batches", 60.0), seed=5, rule=rule)
    regulation = Regulation({"*": rule.over(Rule(policy=policy))})
    again = replay(zip(found.deployments, found.snapshots, strict=True), regulation, seed=5)
    changes = [(s.end_s, o.change) for s, outcomes in again for o in outcomes if o.change and not o.refused]
    assert changes == found.changes
    assert changes


def test_settings_are_read_and_problems_told() -> None:
    assert made("streamswitch").name == "streamswitch"
    for settings, problem in [
        ({"margin": 1.5}, "margin is 1.5, it must be a share below 1"),
        ({"at_once": 0}, "at_once is 0, it must be a whole number of at least 1"),
        ({"marign": 0.1}, "nothing is called 'marign' here: did you mean 'margin'?"),
    ]:
        written = Written(settings, lambda trail: "penstock.yaml:3")
        assert REGULATING["streamswitch"](written) is None
        assert written.problems == [f"penstock.yaml:3: {problem}"]


def test_an_end_to_end_bound_is_a_setting_of_streamswitch() -> None:
    written = Written({"end_to_end_s": 2.0, "margin": 0.1}, lambda trail: "penstock.yaml:3")
    assert REGULATING["streamswitch"](written) == EndToEnd(2.0, inner=StreamSwitch(0.1))


def test_names_are_those_that_the_policies_have() -> None:
    assert {name: made(name).name for name in REGULATING} == {name: name for name in REGULATING}
