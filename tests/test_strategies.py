"""The strategies themselves: what they draw is what the records promise."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.deployment import Deployment
from penstock.objectives.objective import Objective
from penstock.topology.assignment import Assignment
from penstock.topology.topology import Topology, problems
from tests.strategies import assignments, deployments, histories, objectives, topologies


@given(topologies())
def test_topologies_have_no_problems(topology: Topology) -> None:
    assert problems(topology) == []


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), assignments(n))))
def test_assignments_use_every_instance(drawn: tuple[int, Assignment]) -> None:
    substreams, assignment = drawn
    assert assignment.substreams == substreams
    assert set(assignment.instance_of) == set(range(assignment.parallelism))


@given(deployments())
def test_deployments_agree_on_substreams(deployment: Deployment) -> None:
    for target, assignment in deployment.assignments.items():
        assert assignment.substreams == deployment.component(target).substreams


@given(st.data())
def test_histories_are_in_order_and_conserve_rows(data: st.DataObject) -> None:
    deployment = data.draw(deployments())
    history = data.draw(histories(deployment, least=1))
    ends_s = [s.end_s for s in history.snapshots]
    assert ends_s == sorted(set(ends_s))
    for target in deployment.targets:
        for _, seen in history.of(target):
            known = (seen.rows_arrived, seen.rows_completed, seen.rows_pending, seen.rows_dropped)
            assert all(k is None for k in known) or known[0] == sum(k or 0 for k in known[1:])


@given(objectives())
def test_objectives_are_above_nothing(objective: Objective) -> None:
    limits = [getattr(objective, n, 1) for n in ("limit_s", "at_least_rows_per_s", "at_least_share", "window_s")]
    assert min(limits) > 0
