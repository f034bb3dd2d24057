"""What static, schedule and chaos do in particular; what holds of every policy is in `contracts/`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes import Assign, Capabilities, Execution, PartKind, Rescale
from penstock.deployment import Deployment
from penstock.observe.history import History
from penstock.policies.chaos import Chaos, random_assignment
from penstock.policies.policy import Bounds, Decision, Memory, Policy, View
from penstock.policies.schedule import Appointment, Schedule
from penstock.policies.static import Static
from penstock.topology.assignment import spread
from tests.fake_engine import COUNT, SPLIT, deployment, snapshot

UP_TO_8 = Bounds(1, 8)


def view(count: int = 1, known: Deployment | None = None, bounds: Bounds = UP_TO_8) -> View:
    history = History(60.0)
    for i in range(count):
        history = history.appended(snapshot(i))
    return View(known or deployment(), history, {SPLIT: bounds, COUNT: bounds}, float(count))


def decided(policy: Policy, at: View, memory: Memory | None = None) -> Decision:
    return policy.decide(at, memory or {}, np.random.default_rng(3))


def test_static_brings_each_component_there_once() -> None:
    first = decided(Static(4), view())
    assert first.parts == (Rescale(SPLIT, 4), Rescale(COUNT, 4))
    assert decided(Static(4), view(2), first.memory).parts == ()  # somebody changed it back: their will
    assert decided(Static(1), view()).parts == ()


def test_static_waits_for_a_component_to_be_seen() -> None:
    at = view()
    only_count = replace(at.history.snapshots[0], components={COUNT: at.history.snapshots[0].components[COUNT]})
    first = decided(Static(4), replace(at, history=History(60.0, (only_count,))))
    assert first.parts == (Rescale(COUNT, 4),)
    assert decided(Static(4), view(2), first.memory).parts == (Rescale(SPLIT, 4),)


def test_static_without_parallelism_does_nothing() -> None:
    assert decided(Static(), view()) == Decision(why="everything stays as it is")


def test_what_is_out_of_bounds_is_done_as_far_as_it_goes_and_told() -> None:
    asked: tuple[Policy, ...] = (Static(64), Schedule((Appointment(0, "count", 64), Appointment(0, "split", 64))))
    for policy in asked:
        decision = decided(policy, view())
        assert {part.parallelism for part in decision.parts if isinstance(part, Rescale)} == {8}
        assert "words/count gets 8 instances, not 64: its bound" in decision.alerts


def test_schedule_does_what_is_due_and_only_once() -> None:
    schedule = Schedule((Appointment(1.0, "count", 4), Appointment(3.0, "count", 2)))
    nothing = decided(schedule, view(0))
    due = decided(schedule, view(1), nothing.memory)
    assert (nothing.parts, due.parts) == ((), (Rescale(COUNT, 4),))
    assert decided(schedule, view(2), due.memory).why == "nothing is due"
    assert due.why == "count at 1 s: 4"


def test_schedule_takes_the_last_of_several_that_are_due() -> None:
    schedule = Schedule((Appointment(2.0, "count", 2), Appointment(1.0, "count", 4)))
    decision = decided(schedule, view(5))
    assert decision.parts == (Rescale(COUNT, 2),)
    assert decided(schedule, view(6), decision.memory).parts == ()


def test_schedule_tells_once_of_a_component_that_is_not_there_and_keeps_the_appointment() -> None:
    schedule = Schedule((Appointment(0.0, "cuont", 4), Appointment(0.0, "split", 2)))
    decision = decided(schedule, view())
    assert decision.parts == (Rescale(SPLIT, 2),)
    assert decision.alerts == (
        "the schedule names 'cuont', and this schedule regulates no such component: did you mean 'count'?",
    )
    assert decided(schedule, view(2), decision.memory).alerts == ()
    alone = replace(view(), bounds={SPLIT: Bounds(1, 8)})
    waiting = decided(Schedule((Appointment(0.0, "count", 4),)), alone)
    assert waiting.parts == ()
    assert decided(Schedule((Appointment(0.0, "count", 4),)), view(2), waiting.memory).parts == (Rescale(COUNT, 4),)


def test_schedule_says_why_a_component_is_left_alone() -> None:
    at = view(known=deployment(unregulated={COUNT: "real-time mode"}))
    alone = replace(at, bounds={SPLIT: Bounds()})
    (alert,) = decided(Schedule((Appointment(0.0, "count", 4),)), alone).alerts
    assert alert.endswith("not regulated: real-time mode")


def test_schedule_names_a_component_with_its_topology() -> None:
    assert decided(Schedule((Appointment(0.0, "words/count", 4),)), view()).parts == (Rescale(COUNT, 4),)


def test_chaos_waits_for_its_batches() -> None:
    memory: Memory = {}
    changed = []
    for i in range(1, 10):
        decision = decided(Chaos(3), view(i), memory)
        memory = decision.memory
        changed.append(bool(decision.parts))
    assert changed == [False, False, True] * 3


def test_chaos_counts_steps_where_there_are_no_batches() -> None:
    parts = frozenset({PartKind.RESCALE})
    known = deployment(capabilities=Capabilities(Execution.CONTINUOUS, parts))
    first = decided(Chaos(2), view(1, known))
    assert first.parts == ()
    assert {type(p) for p in decided(Chaos(2), view(2, known), first.memory).parts} <= {Rescale}


def test_chaos_leaves_alone_what_it_knows_no_bound_of() -> None:
    known = deployment(containers=(), assignments={})
    decision = decided(Chaos(1), view(1, known, Bounds()))
    assert decision.parts == ()


def test_chaos_does_not_ask_for_what_is() -> None:
    known = deployment(assignments={COUNT: spread(8, 1)})
    assert decided(Chaos(1), view(1, known, Bounds(1, 1))).parts == ()


def test_chaos_assigns_where_substreams_are_known_and_rescales_elsewhere() -> None:
    drawn = [Chaos(1).decide(view(), {}, np.random.default_rng(i)).parts for i in range(20)]
    asked = [part for parts in drawn for part in parts]
    assert {part.target for part in asked if isinstance(part, Rescale)} == {SPLIT}
    assert {part.target for part in asked if isinstance(part, Assign)} == {COUNT}


@given(st.integers(1, 64).flatmap(lambda s: st.tuples(st.just(s), st.integers(1, s))), st.integers(0, 2**31))
def test_random_assignments_are_complete_and_leave_no_instance_empty(size: tuple[int, int], seed: int) -> None:
    substreams, parallelism = size
    assignment = random_assignment(substreams, parallelism, np.random.default_rng(seed))
    assert (assignment.substreams, assignment.parallelism) == size


@pytest.mark.parametrize(("asked", "nearest"), [(1, 2), (2, 2), (5, 5), (9, 8)])
def test_bounds_find_the_nearest(asked: int, nearest: int) -> None:
    assert Bounds(2, 8).nearest(asked) == nearest
    assert (asked in Bounds(2, 8)) == (asked == nearest)


def test_a_bound_below_one_leaves_one_instance() -> None:
    assert Bounds(1, 0).nearest(9) == 1
