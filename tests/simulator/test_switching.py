"""Changes: what they do, what they cost, and when they are refused."""

from __future__ import annotations

import pytest

from penstock.changes import (
    Assign,
    Cap,
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
from penstock.deployment import Host
from penstock.ids import ChangeId, ComponentId, ContainerId, HostId, TopologyId
from penstock.observe.snapshot import Snapshot
from penstock.simulator.scenario import Fidelity, Growth, Mix, Pause, Scenario, Switching
from penstock.simulator.simulation import Simulation
from penstock.topology.assignment import Assignment, spread
from penstock.topology.topology import Component, Grouping
from tests.simulator.worlds import BATCH, chain, operator, rest_of, source, target

COUNT = target("count")
KEYED = {"count": Component(ComponentId("count"), parallelism=2, substreams=8)}


def world(switching: Switching, execution: Execution = Execution.CONTINUOUS, hosts: int = 0) -> Simulation:
    state = Growth(initial_rows=1000.0)
    models = {"read": source(400.0), "count": operator(1000.0, costs=BATCH, state=state)}
    model = chain(models, KEYED, execution, Grouping.KEY, switching=switching)
    nodes = tuple(Host(HostId(f"host-{n}"), 4.0) for n in range(hosts))
    return Simulation(Scenario(60.0, (model,), hosts=nodes))


def changed(simulation: Simulation, *parts: Part, name: str = "c") -> Receipt:
    return simulation.apply(Change(ChangeId(name), parts, "a test", "a test"))


def suspended(snapshot: Snapshot, component: str) -> list[float]:
    instances = snapshot.components[target(component)].instances
    assert instances is not None and instances.suspended_s is not None
    return [round(float(s), 6) for s in instances.suspended_s]


def test_rescaling_moves_as_little_as_balance_allows_and_is_in_force_at_once_where_nothing_pauses() -> None:
    simulation = world(Switching())
    rest_of(simulation, until_s=5.0)
    assert changed(simulation, Rescale(COUNT, 4)).status is Status.TAKEN
    after = rest_of(simulation, until_s=6.0)[0]
    (receipt,) = after.receipts
    assert (receipt.status, receipt.cost_s, receipt.moved_substreams) == (Status.IN_FORCE, 0.0, 4)
    assert after.components[COUNT].parallelism == 4
    assert simulation.describe().parallelism(COUNT) == 4


@pytest.mark.parametrize(
    ("pause", "counting", "reading"),
    [
        (Pause.NONE, [0, 0, 0], [0]),
        (Pause.INVOLVED, [0.5, 0, 0.5], [0]),
        (Pause.COMPONENT, [0.5, 0.5, 0.5], [0]),
        (Pause.TOPOLOGY, [0.5, 0.5, 0.5], [0.5]),
    ],
)
def test_who_stands_still(pause: Pause, counting: list[float], reading: list[float]) -> None:
    simulation = world(Switching(pause, fixed_s=0.5))
    rest_of(simulation, until_s=5.0)
    moved = Assignment((2, 1, 0, 1, 0, 1, 0, 1))
    changed(simulation, Assign(COUNT, moved))
    (snapshot,) = rest_of(simulation, until_s=6.0)
    assert suspended(snapshot, "count") == counting
    assert suspended(snapshot, "read") == reading


def test_moved_state_takes_time_in_proportion() -> None:
    simulation = world(Switching(Pause.INVOLVED, fixed_s=0.1, state_row_s=0.001))
    rest_of(simulation, until_s=5.0)
    changed(simulation, Assign(COUNT, Assignment((1, 1, 0, 1, 0, 1, 0, 1))))
    snapshots = rest_of(simulation, until_s=8.0)
    (receipt,) = [r for s in snapshots for r in s.receipts]
    assert receipt.cost_s == pytest.approx(1.1)
    assert receipt.at_s == pytest.approx(6.1)


def test_rows_wait_through_a_pause_and_are_late_by_it() -> None:
    simulation = world(Switching(Pause.TOPOLOGY, fixed_s=3.0))
    rest_of(simulation, until_s=5.0)
    changed(simulation, Restart(COUNT))
    during = rest_of(simulation, until_s=8.0)
    assert [s.components[COUNT].rows_completed for s in during] == [0, 0, 0]
    after = rest_of(simulation, until_s=20.0)
    assert max(s.components[target("read")].latency.max_s for s in after) == pytest.approx(3.0, abs=0.1)  # type: ignore[union-attr]
    assert after[-1].components[COUNT].rows_pending == 0


def test_a_change_of_a_batch_component_holds_from_the_next_batch_and_its_cap_limits_batches() -> None:
    simulation = world(Switching(), Execution.MICRO_BATCH)
    rest_of(simulation, until_s=5.0)
    changed(simulation, Cap(COUNT, 50))
    rest_of(simulation, until_s=10.0)
    capped = [b.rows for s in rest_of(simulation, until_s=20.0) for b in s.components[COUNT].batches]
    assert set(capped) == {50}
    assert simulation.describe().caps == {COUNT: 50}
    changed(simulation, Cap(COUNT, None), name="d")
    rest_of(simulation, until_s=30.0)
    assert max(b.rows or 0 for s in rest_of(simulation) for b in s.components[COUNT].batches) > 50


def test_a_revert_goes_back_to_what_was_before_that_change() -> None:
    simulation = world(Switching())
    before = simulation.describe().assignments[COUNT]
    changed(simulation, Rescale(COUNT, 5), name="one")
    changed(simulation, Rescale(COUNT, 8), name="two")
    assert changed(simulation, Revert(ChangeId("one")), name="three").status is Status.TAKEN
    assert simulation.describe().assignments[COUNT] == before


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (Rescale(COUNT, 9), "parallelism 9 is not between 1 and 8"),
        (Rescale(Target(TopologyId("t"), ComponentId("cuont")), 2), "there is no component t/cuont"),
        (Assign(COUNT, spread(4, 2)), "the assignment names 4 substreams of 8"),
        (Assign(target("read"), Assignment((0, 1, 0))), "it has no substreams to assign"),
        (Restart(COUNT, 2), "there is no instance 2, it has 2"),
        (Place(COUNT, (ContainerId("nowhere"),)), "there is no container 'nowhere'"),
        (Cap(COUNT, 0), "a cap is at least 1 row"),
        (Containers(3), "no hosts"),
        (Revert(ChangeId("never")), "there was no change 'never'"),
    ],
)
def test_what_cannot_be_is_refused_whole_with_the_reason(part: Part, reason: str) -> None:
    simulation = world(Switching())
    receipt = changed(simulation, Rescale(COUNT, 4), part)
    assert receipt.status is Status.REFUSED
    assert reason in (receipt.reason or "")
    assert simulation.describe().parallelism(COUNT) == 2


def test_containers_are_acquired_in_time_and_instances_leave_those_that_go() -> None:
    simulation = world(Switching(Pause.INVOLVED, fixed_s=1.0, container_s=20.0), hosts=2)
    kinds = simulation.describe().capabilities.parts
    assert {PartKind.PLACE, PartKind.CONTAINERS} <= kinds
    assert len(simulation.describe().containers) == 8
    changed(simulation, Containers(2))
    deployment = simulation.describe()
    assert len(deployment.containers) == 2
    assert set(deployment.placements[COUNT]) <= {c.id for c in deployment.containers}
    assert changed(simulation, Containers(5), name="d").status is Status.TAKEN
    assert len(simulation.describe().containers) == 5


def test_an_instance_moves_to_the_container_it_is_given() -> None:
    simulation = world(Switching(Pause.INVOLVED, fixed_s=1.0), hosts=2)
    there = simulation.describe().containers[-1].id
    first = simulation.describe().placements[COUNT][0]
    changed(simulation, Place(COUNT, (first, there)))
    assert simulation.describe().placements[COUNT] == (first, there)
    (snapshot,) = rest_of(simulation, until_s=1.0)
    assert suspended(snapshot, "count") == [0.0, 1.0]


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_a_barrier_waits_behind_the_data_that_was_there(fidelity: Fidelity) -> None:
    """At 10 s 5,000 rows wait before an instance that does 1,000 a second: the change begins 5 s later."""
    models = {"read": source(1500.0), "work": operator(1000.0)}
    model = chain(models, switching=Switching(Pause.INVOLVED, fixed_s=1.0, behind_data=True))
    simulation = Simulation(Scenario(40.0, (model,), fidelity=fidelity))
    rest_of(simulation, until_s=10.0)
    assert changed(simulation, Rescale(target("work"), 2)).status is Status.TAKEN
    assert simulation.describe().parallelism(target("work")) == 1
    snapshots = rest_of(simulation)
    (receipt,) = [r for s in snapshots for r in s.receipts]
    assert receipt.status is Status.IN_FORCE
    assert receipt.at_s == pytest.approx(16.0, abs=1.01)
    assert simulation.describe().parallelism(target("work")) == 2


def test_a_change_that_became_impossible_behind_the_data_fails_with_its_reason() -> None:
    models = {"read": source(1500.0), "work": operator(1000.0)}
    model = chain(models, switching=Switching(Pause.INVOLVED, behind_data=True))
    simulation = Simulation(Scenario(40.0, (model,)))
    changed(simulation, Rescale(target("work"), 2), name="first")
    rest_of(simulation, until_s=10.0)
    changed(simulation, Rescale(target("work"), 1), name="second")
    changed(simulation, Restart(target("work"), 1), name="third")
    receipts = {r.change: r for s in rest_of(simulation) for r in s.receipts}
    assert receipts[ChangeId("second")].status is Status.IN_FORCE
    assert receipts[ChangeId("third")].status is Status.FAILED
    assert "there is no instance 1" in (receipts[ChangeId("third")].reason or "")


def test_new_instances_are_of_the_inferior_kind_as_often_as_stated() -> None:
    models = {"read": source(400.0), "work": operator(1000.0, mix=Mix(speed=0.5, share=0.4))}
    simulation = Simulation(Scenario(10.0, (chain(models, {}),)))
    changed(simulation, Rescale(target("work"), 500))
    slow = simulation.world.running[target("work")].own_speed == 0.5
    assert slow.mean() == pytest.approx(0.4, abs=0.07)
