"""StreamSwitch: healthiness, what a state is made of, when nothing is decided, and whole runs in the simulator."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from penstock.changes import Assign, Capabilities, Execution, PartKind, Receipt, Status
from penstock.deployment import Deployment
from penstock.ids import ChangeId
from penstock.models.latency_law import UNSTABLE_S
from penstock.models.microbatch import BatchLaw
from penstock.models.mm1 import QueueLaw
from penstock.objectives.objective import Latency
from penstock.observe.history import History
from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import BatchSeen, ComponentSeen, InstancesSeen, Snapshot, SubstreamsSeen
from penstock.policies.policy import Bounds, Decision, Memory, View
from penstock.policies.rule import Rule
from penstock.policies.streamswitch import StreamSwitch
from penstock.policies.streamswitch_diagnose import Goals, Health, diagnose, health
from penstock.policies.streamswitch_examine import Asked, Invalid, State, examine
from penstock.policies.streamswitch_setting import StrategyKind
from penstock.policies.streamswitch_words import why
from penstock.simulator.component import BatchCosts
from penstock.simulator.scenario import Fault, FaultKind, Pause, Skew, Switching
from penstock.topology.assignment import spread
from tests.fake_engine import COUNT, deployment
from tests.policies.driven import COUNT as SIMULATED
from tests.policies.driven import Lived, Part, World, chain, lived, steps
from tests.policies.test_streamswitch_algorithms import E4, setting

GOALS = Goals(1.0, 0.1)


@pytest.mark.parametrize(
    ("latency_s", "level_s", "expected"),
    [
        (0.05, 0.5, Health.GOOD),
        (0.1, 1.0, Health.GOOD),
        (0.2, 0.5, Health.MODERATE),
        (0.05, 3, Health.MODERATE),
        (0.2, 3, Health.SEVERE),
        (0.2, UNSTABLE_S, Health.SEVERE),
    ],
)
def test_e2_healthiness(latency_s: float, level_s: float, expected: Health) -> None:
    assert health(np.array([latency_s]), np.array([level_s]), GOALS) is expected


def test_e2_one_moderate_instance_keeps_everything_as_it_is() -> None:
    at = setting(QueueLaw(0.2), [[100], [100], [100]], [1000] * 3)
    found = diagnose(at, np.array([0.2, 0.0, 0.0]), GOALS)
    assert (found.health, found.strategies) == (Health.MODERATE, ())


def test_e5_a_move_that_leaves_the_destination_too_slow_is_not_taken() -> None:
    at = setting(BatchLaw(0.2, 0.02, margin=0.2), E4, [1000] * 3, [0.5, 0.3, 0.2, 0.4, 0, 0, 0, 0])
    found = diagnose(at, np.full(3, 3.0), GOALS)
    assert [s.kind for s in found.strategies] == [StrategyKind.SCALE_OUT]
    assert found.after.levels_s.max() == pytest.approx(0.778, abs=1e-3)


def test_where_no_instance_can_be_added_moving_still_helps() -> None:
    at = setting(BatchLaw(0.2, 0.02, margin=0.2), E4, [1000] * 3, [0.5, 0.3, 0.2, 0.4, 0, 0, 0, 0])
    found = diagnose(at, np.full(3, 3.0), replace(GOALS, bounds=Bounds(1, 3)))
    assert [s.kind for s in found.strategies] == [StrategyKind.BALANCE]
    assert found.after.levels_s.max() < at.levels_s.max()


def test_composed_strategies_go_on_until_nobody_is_severe() -> None:
    at = setting(QueueLaw(0.2), [[100.0] * 32], [1000])
    one, all_of_it = (diagnose(at, np.array([3.0]), replace(GOALS, at_once=n)) for n in (1, 64))
    assert (one.after.instances, len(one.strategies)) == (2, 1)
    assert all_of_it.after.levels_s.max() <= 1.0
    assert all_of_it.after.instances <= 8


def test_composed_small_substreams_make_room_for_a_large_one() -> None:
    at = setting(QueueLaw(0.2), [[700, 100, 100], [300, 100]], [1000, 1000], [-700, -100, -100, -300, -100])
    assert [s.kind for s in diagnose(at, np.full(2, 3.0), GOALS).strategies] == [StrategyKind.SCALE_OUT]
    (move,) = diagnose(at, np.full(2, 3.0), replace(GOALS, at_once=64)).strategies
    assert (move.kind, move.substreams.tolist()) == (StrategyKind.BALANCE, [1, 2])


def test_a_hot_substream_is_told_and_others_are_relieved() -> None:
    at = setting(QueueLaw(0.2), [[900, 10], [900], [300, 300, 290]], [1000] * 3)
    found = diagnose(at, np.full(3, 3.0), replace(GOALS, at_once=64))
    assert 1 in found.stuck
    assert found.after.loads.max() == 900
    assert np.sum(found.after.levels_s > 1.0) == 2


def test_scale_in_stops_at_the_bound_and_before_the_limit() -> None:
    at = setting(QueueLaw(0.2), [[100.0]] * 8, [1000] * 8)
    quiet = np.zeros(8)
    assert diagnose(at, quiet, replace(GOALS, at_once=64)).after.instances == 2
    assert diagnose(at, quiet, replace(GOALS, at_once=64, bounds=Bounds(5, None))).after.instances == 5
    assert diagnose(at, quiet, GOALS).after.instances == 7


def test_where_speeds_differ_the_projection_is_of_what_really_stays() -> None:
    """Instance 1 is fast; were instance 0 merged, the last one's substreams would run on instance 0's slow machine."""
    at = setting(QueueLaw(0.2), [[10], [10], [700]], [100, 1000, 1000])
    found = diagnose(at, np.zeros(3), GOALS)
    assert found.after.levels_s.max() <= 1.0


def test_the_reason_is_a_sentence() -> None:
    at = setting(BatchLaw(0.2, 0.02), [[300, 200, 150, 330], [100, 150], [20, 10]], [1000] * 3)
    found = diagnose(at, np.full(3, 3.0), GOALS)
    assert why(found, GOALS) == (
        "instance 0 takes 78% of the rows; moving substreams 0, 1 to instance 2 lowers the projected latency "
        "from 21 s to 0.894 s"
    )


# what a state is made of ---------------------------------------------------------------------------------------------


def seen(i: int, said: ComponentSeen) -> Snapshot:
    return Snapshot(float(i), i + 1.0, {COUNT: said})


def step(i: int, arrived: float = 800.0, latency_s: float = 0.5, **said: object) -> Snapshot:
    """A batch a second of 800 rows over 8 substreams and 2 instances, each row a millisecond of work."""
    batch = BatchSeen(i, i + 0.0, i + 0.9, i + 1.0, 800, 2)
    rows = np.full(8, 100.0)
    known = ComponentSeen(
        arrived, 800.0, 800.0, 0, 0, parallelism=2, batches=(batch,), latency=LatencyHistogram.of([latency_s]),
        substreams=SubstreamsSeen(rows_completed=rows, useful_s=rows / 1000),
        instances=InstancesSeen(np.full(2, 400.0), useful_s=np.full(2, 0.4)),
    )  # fmt: skip
    return seen(i, replace(known, **said))  # type: ignore[arg-type]


def view(snapshots: list[Snapshot], known: Deployment | None = None, limit_s: float = 3.0) -> View:
    told = known or deployment(assignments={COUNT: spread(8, 2)}, objectives={COUNT: (Latency(limit_s),)})
    return View(told, History(900.0, tuple(snapshots)), {COUNT: Bounds(1, 8)}, snapshots[-1].end_s)


def state(at: View) -> State | Invalid:
    return examine(at, COUNT, 0.0, Asked(3.0, 1.0, 0.2))


def test_a_state_holds_rates_speeds_costs_and_latency() -> None:
    found = state(view([step(i) for i in range(5)]))
    assert isinstance(found, State)
    assert found.setting.rows_per_s == pytest.approx(np.full(8, 100.0))
    assert found.setting.service_rows_per_s == pytest.approx([1000, 1000])
    assert found.latency_s == pytest.approx([0.5, 0.5], rel=0.02)
    assert isinstance(found.setting.law, BatchLaw)
    assert (found.setting.law.overhead_s, found.setting.law.after_s) == pytest.approx((0.6, 0.1))


def test_rates_are_what_arrives_not_what_is_completed() -> None:
    found = state(view([step(i, arrived=1600.0) for i in range(5)]))
    assert isinstance(found, State)
    assert found.setting.loads == pytest.approx([800, 800])


def test_partial_aggregation_makes_fewer_rows_of_them() -> None:
    halved = SubstreamsSeen(rows_completed=np.full(8, 50.0), useful_s=np.full(8, 0.05))
    found = state(view([step(i, substreams=halved) for i in range(5)]))
    assert isinstance(found, State)
    assert found.setting.loads == pytest.approx([200, 200])
    assert found.setting.law == replace(found.setting.law, before_share=pytest.approx(0.2))  # type: ignore[type-var]


def test_what_a_substream_takes_beside_its_rows_is_no_work_of_its_rows() -> None:
    """50 ms for each substream, committing its state: without them a row still takes a millisecond."""
    rows = np.array([10.0, 50, 100, 140, 10, 50, 200, 240])
    useful_s = rows / 1000 + 0.05
    by_instance = [values.reshape(4, 2).sum(axis=0) for values in (rows, useful_s)]
    found = state(
        view([step(i, substreams=SubstreamsSeen(rows_completed=rows, useful_s=useful_s),
                   instances=InstancesSeen(by_instance[0], useful_s=by_instance[1])) for i in range(5)])
    )  # fmt: skip
    assert isinstance(found, State) and isinstance(found.setting.law, BatchLaw)
    assert found.setting.service_rows_per_s == pytest.approx([1000, 1000])
    assert found.setting.law.substream_s == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("snapshots", "reason"),
    [
        ([step(0)], "waiting for 3 batches"),
        ([*[step(i) for i in range(5)], seen(5, ComponentSeen())], "figures of the last step are missing"),
        ([*[step(i) for i in range(5)], Snapshot(5.0, 6.0, {})], "the last step did not see it"),
        ([step(0), step(1), step(62), step(63)], "waiting for 3 batches"),
        ([step(i, substreams=None) for i in range(5)], "how the rows fall on its substreams is not known yet"),
    ],
)
def test_nothing_is_concluded_from_an_invalid_state(snapshots: list[Snapshot], reason: str) -> None:
    assert state(view(snapshots)) == Invalid(reason)


def decided(at: View, memory: Memory | None = None, policy: StreamSwitch | None = None) -> Decision:
    return (policy or StreamSwitch()).decide(at, memory or {}, np.random.default_rng(0))


OVERLOADED = [step(i, arrived=3000.0, latency_s=9.0) for i in range(5)]


def test_a_change_is_asked_for_once_and_awaited() -> None:
    first = decided(view(OVERLOADED))
    (part,) = first.parts
    assert isinstance(part, Assign) and part.assignment.parallelism > 2
    again = decided(view([*OVERLOADED, step(5, arrived=3000.0)]), first.memory)
    assert (again.parts, again.why) == ((), "count: the last change is not in force yet")


def test_after_the_answer_only_what_came_later_counts() -> None:
    first = decided(view(OVERLOADED))
    (part,) = first.parts
    assert isinstance(part, Assign)
    known = deployment(assignments={COUNT: part.assignment}, objectives={COUNT: (Latency(3.0),)})
    receipt = Receipt(ChangeId("x"), Status.IN_FORCE, 5.5)
    answered = replace(step(5, parallelism=part.assignment.parallelism), receipts=(receipt,))
    then = decided(view([*OVERLOADED, answered], known), first.memory)
    assert (then.parts, then.why) == ((), "count: the last step did not see it")


def test_an_answer_that_never_comes_stops_nothing() -> None:
    first = decided(view(OVERLOADED))
    late = [step(i, arrived=3000.0, latency_s=9.0) for i in range(5, 80)]
    then = decided(view([*OVERLOADED, *late]), first.memory)
    assert then.alerts == ("words/count: no answer to a change within 60 s; regulation goes on",)
    assert decided(view([*OVERLOADED, *late, *[step(i, 3000.0, 9.0) for i in range(80, 90)]]), then.memory).parts


def test_an_objective_below_the_floor_is_refused() -> None:
    at = view([step(i) for i in range(5)], limit_s=0.7)
    refused = decided(at)
    assert refused.parts == ()
    assert refused.alerts[0].startswith("words/count: 0.7 s cannot be reached: an empty batch alone means 0.8 s")


def test_an_objective_may_change_on_the_fly() -> None:
    slow = [step(i, arrived=1200.0, latency_s=2.0) for i in range(5)]
    assert decided(view(slow, limit_s=30.0)).parts == ()
    assert decided(view(slow, limit_s=1.5)).parts != ()


def test_without_a_latency_objective_nothing_is_done() -> None:
    at = view([step(i) for i in range(5)], deployment(assignments={COUNT: spread(8, 2)}))
    assert (decided(at).parts, decided(at).why) == ((), "count: no latency was asked for")


def test_who_is_out_of_bounds_is_brought_back() -> None:
    at = replace(view([step(i) for i in range(5)]), bounds={COUNT: Bounds(4, 8)})
    assert decided(at).why == "count: its bounds ask for 4 instances"


def test_an_engine_that_cannot_assign_is_rescaled() -> None:
    known = deployment(
        capabilities=Capabilities(Execution.MICRO_BATCH, frozenset({PartKind.RESCALE})),
        assignments={COUNT: spread(8, 2)}, objectives={COUNT: (Latency(3.0),)},
    )  # fmt: skip
    assert decided(view(OVERLOADED, known)).why.startswith("count: 6 instances instead of 2 take the projected")


# whole runs in the simulator -----------------------------------------------------------------------------------------

COSTS = BatchCosts(before_s=0.15, after_s=0.05, substream_s=0.01)
ANY = Rule(max_parallelism=16)


def batches(part: Part, rate: tuple[tuple[float, float], ...], **world: object) -> Lived:
    told = World(duration_s=150.0, **world)  # type: ignore[arg-type]
    return lived(StreamSwitch(), chain([part], steps(*rate), told), rule=ANY)


def test_a_fourfold_step_is_answered_at_once_and_taken_back_once() -> None:
    part = Part("count", 1000.0, 2, 16, objectives=(Latency(2.0),), costs=COSTS)
    found = batches(part, ((0, 900), (40, 3600), (100, 900)))
    assert len(found.changes) == 2
    assert found.changes[0][0] <= 46 and found.width_at("count", 60) >= 5
    assert max(found.latency_s(SIMULATED, 55, 100)) < 2.0
    assert found.width_at("count", 149) == 2
    assert found.refused == []


def test_steady_load_changes_nothing() -> None:
    part = Part("count", 1000.0, 3, 16, objectives=(Latency(2.0),), costs=COSTS)
    assert batches(part, ((0, 1500),), cv=1.0).changes == []


def test_a_hot_key_that_moves_is_followed() -> None:
    skew = Skew(hot={3: 0.5}, moves_every_s=40.0)
    part = Part("count", 1000.0, 4, 16, skew=skew, objectives=(Latency(2.0),), costs=COSTS)
    found = batches(part, ((0, 1400),))
    late = [s for s in found.latency_s(SIMULATED, 20, 150) if s > 2.0]
    assert found.changes and len(late) < 20


def test_a_slow_instance_loses_substreams() -> None:
    part = Part("count", 1000.0, 4, 16, objectives=(Latency(1.5),), costs=COSTS)
    fault = Fault(30.0, FaultKind.SLOW_INSTANCE, 100.0, "words/count/1", speed=0.4)
    found = batches(part, ((0, 2000),), faults=(fault,))
    (_, first) = found.changes[0]
    (move,) = first.parts
    assert isinstance(move, Assign)
    assert len(move.assignment.substreams_of(1)) < 4
    assert "instance 1" in first.why


def test_continuous_operators_move_one_step_at_a_time() -> None:
    part = Part("count", 1000.0, 2, 16, objectives=(Latency(1.0),))
    world = World(Execution.CONTINUOUS, 150.0, switching=Switching(Pause.INVOLVED, 0.2))
    found = lived(StreamSwitch(), chain([part], steps((0, 900), (40, 3600), (100, 900)), world), rule=ANY)
    widths = [w["count"] for w in found.widths]
    assert max(abs(a - b) for a, b in pairwise(widths)) == 1
    assert found.width_at("count", 95) >= 5 and found.width_at("count", 149) == 2
    assert found.latency_s(SIMULATED, 80, 100) == pytest.approx([0.0] * 20, abs=0.1)


def test_a_stateless_component_is_rescaled_by_the_same_law() -> None:
    parts = [Part("lines", 1e6, costs=COSTS), Part("count", 1000.0, 2, objectives=(Latency(2.0),), costs=COSTS)]
    rate = steps((0, 900), (40, 3600), (100, 900))
    found = lived(StreamSwitch(), chain(parts, rate, World(duration_s=150.0)), rule=ANY)
    assert [len(c.parts) for _, c in found.changes] == [1, 1]
    assert 5 <= found.width_at("count", 90) <= 7 and found.width_at("count", 149) <= 2
    assert max(found.latency_s(SIMULATED, 60, 100)) < 2.0


def test_nothing_is_changed_on_stale_data() -> None:
    part = Part("count", 1000.0, 2, 16, objectives=(Latency(2.0),), costs=COSTS)
    gap = Fault(38.0, FaultKind.LOST_METRICS, 60.0, "words/count")
    found = batches(part, ((0, 900), (40, 3600)), faults=(gap,))
    assert not [at_s for at_s, _ in found.changes if at_s <= 98]
    assert found.width_at("count", 140) >= 5
