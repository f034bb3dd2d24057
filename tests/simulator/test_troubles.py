"""Pressure, faults, and hosts that are not enough."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.changes import Change, Execution, Rescale
from penstock.deployment import Host
from penstock.ids import ChangeId, ComponentId, HostId
from penstock.observe.snapshot import Snapshot
from penstock.simulator.scenario import Fault, FaultKind, Fidelity, Pressure, PressureKind, Scenario
from penstock.simulator.simulation import Simulation
from penstock.topology.topology import Component, Grouping
from tests.simulator.worlds import BATCH, COUNTS, ROWS, chain, operator, rest_of, simulated, source, target

HERON = Pressure(PressureKind.BACKPRESSURE, high_rows=1000, low_rows=500)


def total(snapshots: list[Snapshot], component: str, what: str) -> float:
    return float(sum(getattr(s.components[target(component)], what) for s in snapshots))


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_an_overload_of_a_quarter_stops_herons_sources_a_fifth_of_the_time(fidelity: Fidelity) -> None:
    """Spouts could emit 1.25 times what the bolt can do: they have to stand still 20% of the time."""
    models = {"spout": source(2000.0, 1250.0), "bolt": operator(1000.0)}
    _, snapshots = simulated(chain(models, pressure=HERON), 600.0, step_s=0.1, observe_steps=10, fidelity=fidelity)
    settled = snapshots[60:]
    assert total(settled, "spout", "suspended_s") / len(settled) == pytest.approx(0.2, abs=0.01)
    assert total(settled, "bolt", "backpressure_s") / len(settled) == pytest.approx(0.2, abs=0.01)
    assert total(settled, "bolt", "rows_completed") / len(settled) == pytest.approx(1000.0, rel=0.01)
    assert all((s.components[target("bolt")].rows_pending or 0) <= 1500 for s in settled)


@pytest.mark.parametrize("bolts", [1, 2, 3])
def test_throughput_is_linear_and_then_flat_where_parallelism_puts_it(bolts: int) -> None:
    """Caladrius 3.5: the saturation point of a bolt is that of one instance times its parallelism."""
    for offered in (500.0, 1000.0, 2000.0, 4000.0):
        models = {"spout": source(offered, 1e5), "bolt": operator(1000.0)}
        components = {"bolt": Component(ComponentId("bolt"), parallelism=bolts)}
        _, snapshots = simulated(chain(models, components, pressure=HERON), 120.0, step_s=0.1, observe_steps=10)
        rate = total(snapshots[60:], "bolt", "rows_completed") / 60
        assert rate == pytest.approx(min(offered, 1000.0 * bolts), rel=0.02)


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_without_backpressure_the_newest_rows_are_dropped_where_they_do_not_fit(fidelity: Fidelity) -> None:
    models = {"spout": source(1500.0), "bolt": operator(1000.0)}
    pressure = Pressure(PressureKind.DROP, high_rows=200)
    _, snapshots = simulated(chain(models, pressure=pressure), 60.0, step_s=0.1, observe_steps=10, fidelity=fidelity)
    assert total(snapshots[10:], "bolt", "rows_dropped") == pytest.approx(500.0 * 50, rel=0.01)
    assert total(snapshots, "spout", "rows_dropped") == 0
    assert all((s.components[target("bolt")].rows_pending or 0) <= 201 for s in snapshots)


def test_a_durable_queue_only_grows() -> None:
    _, snapshots = simulated(chain({"spout": source(1500.0), "bolt": operator(1000.0)}), 60.0)
    pending = [s.components[target("bolt")].rows_pending or 0 for s in snapshots]
    assert np.diff(pending) == pytest.approx(500.0, abs=3)


def with_fault(fault: Fault, fidelity: Fidelity = COUNTS) -> list[Snapshot]:
    models = {"read": source(1500.0), "work": operator(1000.0)}
    components = {"work": Component(ComponentId("work"), parallelism=2, substreams=2)}
    return simulated(chain(models, components), 30.0, faults=(fault,), fidelity=fidelity)[1]


def executed(snapshots: list[Snapshot], instance: int) -> list[float]:
    seen = [s.components[target("work")].instances for s in snapshots]
    return [float(i.rows_executed[instance]) for i in seen if i is not None and i.rows_executed is not None]


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_a_slow_instance_does_as_much_less_and_catches_up_afterwards(fidelity: Fidelity) -> None:
    fault = Fault(10.0, FaultKind.SLOW_INSTANCE, 10.0, "t/work/0", speed=0.5)
    done = executed(with_fault(fault, fidelity), 0)
    assert done[5] == pytest.approx(750.0, abs=3)
    assert done[15] == pytest.approx(500.0, abs=3)
    assert done[22] == pytest.approx(1000.0, abs=3)


@pytest.mark.parametrize("loses", [True, False])
@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_a_failed_instance_does_nothing_and_what_waits_is_lost_only_where_it_says_so(
    fidelity: Fidelity, loses: bool
) -> None:
    overload = {"read": source(2400.0), "work": operator(1000.0)}
    components = {"work": Component(ComponentId("work"), parallelism=2, substreams=2)}
    fault = Fault(10.0, FaultKind.FAILED_INSTANCE, 5.0, "t/work/0", loses_rows=loses)
    _, snapshots = simulated(chain(overload, components), 30.0, faults=(fault,), fidelity=fidelity)
    assert sum(executed(snapshots, 0)[11:15]) <= 1
    lost = sum(s.components[target("work")].rows_dropped or 0 for s in snapshots)
    assert lost == pytest.approx(2000.0 if loses else 0.0, abs=5)


@pytest.mark.parametrize("fidelity", list(Fidelity))
@pytest.mark.parametrize("execution", list(Execution))
def test_what_a_failure_lost_can_be_sent_again(fidelity: Fidelity, execution: Execution) -> None:
    """Lost rows are dropped, replayed ones are new arrivals: the same number of both."""
    overload = {"read": source(2400.0, costs=BATCH), "work": operator(1000.0, costs=BATCH)}
    components = {"work": Component(ComponentId("work"), parallelism=2, substreams=2)}
    fault = Fault(10.0, FaultKind.FAILED_INSTANCE, 5.0, "t/work/0", loses_rows=True, replays=True)
    _, snapshots = simulated(chain(overload, components, execution), 30.0, faults=(fault,), fidelity=fidelity)
    lost = total(snapshots, "work", "rows_dropped")
    assert lost > 0
    sent = total(snapshots, "read", "rows_completed")
    assert total(snapshots, "work", "rows_arrived") == sent + lost


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_two_failures_at_once_lose_what_waits_only_once(fidelity: Fidelity) -> None:
    overload = {"read": source(2400.0), "work": operator(1000.0)}
    faults = tuple(Fault(10.0, FaultKind.FAILED_INSTANCE, n, "t/work", loses_rows=True) for n in (3.0, 5.0))
    simulation = Simulation(Scenario(30.0, (chain(overload),), fidelity=fidelity, faults=faults))
    snapshots = rest_of(simulation, until_s=11.0)
    simulation.apply(Change(ChangeId("c"), (Rescale(target("work"), 3),), "a test", "a test"))
    snapshots += rest_of(simulation)
    arrived, done, lost = (total(snapshots, "work", f"rows_{k}") for k in ("arrived", "completed", "dropped"))
    assert arrived == done + lost + (snapshots[-1].components[target("work")].rows_pending or 0)
    assert lost == pytest.approx(14_000, abs=5)


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_a_closed_loop_keeps_so_many_rows_under_way(fidelity: Fidelity) -> None:
    models = {"spout": source(5000.0, 2000.0), "bolt": operator(1500.0), "sink": operator(1000.0)}
    pressure = Pressure(PressureKind.IN_FLIGHT, high_rows=400, low_rows=300)
    _, snapshots = simulated(chain(models, pressure=pressure), 120.0, step_s=0.05, observe_steps=20, fidelity=fidelity)
    for s in snapshots[5:]:
        under_way = sum(s.components[target(c)].rows_pending or 0 for c in ("bolt", "sink"))
        assert under_way <= 400 + 2000 * 0.05 + 1
    assert total(snapshots[20:], "sink", "rows_completed") / 100 == pytest.approx(1000.0, rel=0.01)


def test_a_failed_and_a_slow_host_take_what_runs_on_them_along() -> None:
    hosts = (Host(HostId("a"), 1.0), Host(HostId("b"), 1.0))
    models = {"work": source(1600.0, 1000.0)}
    components = {"work": Component(ComponentId("work"), parallelism=2, substreams=2)}
    faults = (
        Fault(10.0, FaultKind.SLOW_HOST, 10.0, "b", speed=0.25),
        Fault(30.0, FaultKind.FAILED_HOST, 10.0, "a"),
    )
    _, snapshots = simulated(chain(models, components), 60.0, hosts=hosts, faults=faults)
    assert executed(snapshots, 0)[12] == pytest.approx(800.0, abs=3)
    assert executed(snapshots, 1)[12] == pytest.approx(250.0, abs=3)
    assert executed(snapshots, 0)[35] == 0.0


def test_metrics_that_are_lost_are_unknown_never_zero() -> None:
    snapshots = with_fault(Fault(10.0, FaultKind.LOST_METRICS, 5.0, "t/work"))
    known = [s.components[target("work")].rows_completed is not None for s in snapshots]
    assert known == [True] * 10 + [False] * 5 + [True] * 15


def test_a_blackout_leaves_no_snapshots_and_the_world_goes_on() -> None:
    model = chain({"read": source(100.0)})
    simulation = Simulation(Scenario(10.0, (model,), faults=(Fault(2.0, FaultKind.LOST_METRICS, 3.0),)))
    seen = [simulation.observe() for _ in range(10)]
    assert [s is None for s in seen] == [False] * 2 + [True] * 3 + [False] * 5
    assert simulation.world.running[target("read")].arrived_rows == 1000


def test_instances_share_the_cores_of_their_host() -> None:
    """Four busy instances on two cores do what two could."""
    models = {"work": source(8000.0, 1000.0)}
    components = {"work": Component(ComponentId("work"), parallelism=4)}
    _, snapshots = simulated(chain(models, components), 30.0, hosts=(Host(HostId("a"), 2.0),))
    assert total(snapshots[10:], "work", "rows_completed") / 20 == pytest.approx(2000.0, rel=0.02)
    assert snapshots[-1].hosts[HostId("a")].load == pytest.approx(4.0, rel=0.02)


def test_a_host_of_double_speed_does_twice_as_much() -> None:
    _, snapshots = simulated(chain({"work": source(5000.0, 1000.0)}), 10.0, hosts=(Host(HostId("a"), 1.0, 2.0),))
    assert total(snapshots, "work", "rows_completed") / 10 == pytest.approx(2000.0, rel=0.01)


@pytest.mark.parametrize("fidelity", [ROWS, COUNTS])
@pytest.mark.parametrize(("grouping", "shares"), [(Grouping.GLOBAL, [1.0, 0, 0]), (Grouping.ALL, [1.0, 1.0, 1.0])])
def test_global_and_all_groupings(fidelity: Fidelity, grouping: Grouping, shares: list[float]) -> None:
    models = {"read": source(100.0), "work": operator(1e4)}
    components = {"work": Component(ComponentId("work"), parallelism=3)}
    _, snapshots = simulated(chain(models, components, grouping=grouping), 10.0, fidelity=fidelity)
    done = np.array([executed(snapshots, i) for i in range(3)]).sum(axis=1)
    assert done / 1000 == pytest.approx(shares, abs=0.01)


def test_a_simulation_ends() -> None:
    simulation = Simulation(Scenario(3.0, (chain({"read": source(1.0)}),)))
    assert len(rest_of(simulation)) == 3
    assert simulation.observe() is None
