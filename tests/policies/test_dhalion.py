"""Dhalion's policies at work: in a world where sources stop (Heron), and on micro-batches with durable streams."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from penstock.changes import Assign, Execution, Receipt, Rescale, Restart, Status
from penstock.ids import ChangeId
from penstock.objectives.objective import Latency, Throughput
from penstock.objectives.utility import Promise
from penstock.observe.history import History
from penstock.observe.snapshot import BatchSeen, ComponentSeen, InstancesSeen, Snapshot, SubstreamsSeen
from penstock.policies.dhalion import provisioning, throughput
from penstock.policies.health_policy import Pace
from penstock.policies.policy import Bounds, Decision, Memory, View
from penstock.policies.rule import Rule
from penstock.simulator.component import BatchCosts
from penstock.simulator.scenario import Fault, FaultKind, Pause, Pressure, PressureKind, Skew, Switching
from penstock.topology.assignment import spread
from tests.fake_engine import COUNT, deployment
from tests.policies.driven import Lived, Part, World, chain, lived, steps

M = 1e4 / 60  # a million rows a minute, with every 100 rows as one
HERON = World(
    Execution.CONTINUOUS, 45 * 60.0, 1.0, 20, Pressure(PressureKind.BACKPRESSURE, 5000, 2500),
    Switching(Pause.TOPOLOGY, 20.0),
)  # fmt: skip
ANY = Rule(max_parallelism=64)


def word_count(spouts: int, bolts: int, partitions: int = 640) -> list[Part]:
    return [
        Part("spout", 0.1125 * M, spouts, partitions),
        Part("split", 0.4 * M, bolts, emits=3.0),
        Part("count", 1.2 * M, bolts, 840),
    ]


def widths(found: Lived) -> tuple[int, int, int]:
    last = found.widths[-1]
    return last["spout"], last["split"], last["count"]


def test_too_many_instances_are_given_back_and_too_few_are_added() -> None:
    rate = steps((0, 3.2 * M), (25 * 60, 4.0 * M))
    found = lived(provisioning(), chain(word_count(40, 11), rate, HERON), rule=ANY)
    before = [c for at_s, c in found.changes if at_s < 25 * 60]
    assert all("over-provisioning" in c.why for c in before)
    assert widths(found)[1] >= 10 and widths(found)[2] >= 10
    assert widths(found)[1] <= 13
    assert found.refused == []


def test_a_scale_down_that_ends_in_backpressure_is_undone_and_not_repeated() -> None:
    found = lived(provisioning(), chain(word_count(40, 11), steps((0, 4.2 * M)), HERON), rule=ANY)
    down = Counter(
        (p.target, p.parallelism) for _, c in found.changes if "is over-prov" in c.why
        for p in c.parts if isinstance(p, Rescale)
    )  # fmt: skip
    assert down and max(down.values()) == 1
    assert found.width_at("split", 44 * 60) >= 11 and found.width_at("count", 44 * 60) >= 11


def test_a_spike_shorter_than_the_window_changes_nothing() -> None:
    rate = steps((0, 3.8 * M), (900, 4.8 * M), (930, 3.8 * M))
    found = lived(provisioning(), chain(word_count(40, 10), rate, HERON), rule=Rule(min_parallelism=10))
    assert found.changes == []


def slo(rows_per_s: float, highest: int = 64) -> Rule:
    return Rule(max_parallelism=highest, promises=(Promise(Throughput(rows_per_s)),))


def test_a_throughput_objective_is_reached_from_one_instance() -> None:
    parts = [Part("spout", 0.1 * M, 1, 64), Part("split", 0.4 * M, 1, emits=3.0), Part("count", 1.2 * M, 1, 840)]
    found = lived(throughput(), chain(parts, steps((0, 6.0 * M)), HERON), rule=slo(4.0 * M))
    sources = [p.parallelism for _, c in found.changes for p in c.parts if p.target.component == "spout"]  # type: ignore
    assert sources == [4, 16, 40]
    assert 10 <= widths(found)[1] <= 13 and 10 <= widths(found)[2] <= 14
    last = [s.components for s in found.snapshots[-10:]]
    emitted = sum(c.rows_completed or 0 for seen in last for t, c in seen.items() if t.component == "spout")
    assert emitted / (10 * 20) >= 4.0 * M * 0.999


def test_without_more_data_people_are_told_and_nothing_is_changed() -> None:
    found = lived(throughput(), chain(word_count(40, 11), steps((0, 2.0 * M)), HERON), rule=slo(4.0 * M))
    assert found.changes == []
    assert found.alerts[0][1].endswith("and no more data waits: there is not enough of it")


def test_sources_have_an_upper_bound() -> None:
    parts = [Part("spout", 0.1 * M, 16, 32), Part("split", 0.4 * M, 12, emits=3.0), Part("count", 1.2 * M, 12, 840)]
    found = lived(throughput(), chain(parts, steps((0, 6.0 * M)), HERON), rule=slo(4.0 * M, 40))
    assert found.width_at("spout", 30 * 60) == 32
    assert "sources are wanted, its upper bound is 32" in found.alerts[0][1]


def test_a_met_objective_is_left_alone() -> None:
    found = lived(throughput(), chain(word_count(43, 12, 430), steps((0, 4.3 * M)), HERON), rule=slo(4.0 * M))
    assert (found.changes, found.alerts) == ([], [])


# micro-batches -------------------------------------------------------------------------------------------------------

FAST = Pace(window_s=30.0, interval_s=5.0, wait_s=15.0)
COSTS = BatchCosts(before_s=0.2, substream_s=0.01)


def batches(part: Part, rate: tuple[tuple[float, float], ...], **world: object) -> Lived:
    told = World(duration_s=200.0, **world)  # type: ignore[arg-type]
    return lived(provisioning(FAST), chain([part], steps(*rate), told), rule=Rule(max_parallelism=16))


def test_late_batches_scale_up_and_idle_ones_down() -> None:
    part = Part("count", 1000.0, 2, 16, objectives=(Latency(2.0),), costs=COSTS)
    found = batches(part, ((0, 3000), (120, 600)))
    assert "under-provisioning" in found.changes[0][1].why
    assert found.width_at("count", 110) >= 5
    assert found.width_at("count", 199) < found.width_at("count", 110)


def test_a_slow_instance_is_named_and_restarted() -> None:
    fault = Fault(20.0, FaultKind.SLOW_INSTANCE, 170.0, "words/count/2", speed=0.5)
    part = Part("count", 1000.0, 4, 16, objectives=(Latency(1.2),), costs=COSTS)
    found = batches(part, ((0, 2000),), faults=(fault,))
    restarted = [p.instance for _, c in found.changes for p in c.parts if isinstance(p, Restart)]
    assert "slow instances" in next(c.why for _, c in found.changes if "over-prov" not in c.why)
    assert restarted[:1] == [2]


def test_data_skew_is_named_and_rebalanced() -> None:
    part = Part("count", 1000.0, 4, 64, Skew(hot={0: 0.2, 4: 0.2}), objectives=(Latency(2.0),), costs=COSTS)
    found = batches(part, ((0, 1700),))
    (_, first) = found.changes[0]
    assert "data skew" in first.why
    assert isinstance(first.parts[0], Assign)


# by hand -------------------------------------------------------------------------------------------------------------


def late(i: int, **said: object) -> Snapshot:
    """One batch of 20 s: 10 s would be on time."""
    batch = BatchSeen(i, 20.0 * i, 20.0 * i + 19, 20.0 * i + 20, 4000, 2)
    rows, useful_s = np.full(2, 2000.0), np.array([19.0, 9.0])
    seen = ComponentSeen(
        4000.0, 4000.0, 4000.0, 0, 0, parallelism=2, batches=(batch,),
        instances=InstancesSeen(rows, useful_s=useful_s), substreams=SubstreamsSeen(rows_completed=np.full(8, 500.0)),
    )  # fmt: skip
    return Snapshot(20.0 * i, 20.0 * i + 20, {COUNT: replace(seen, **said)})  # type: ignore[arg-type]


def view(snapshots: list[Snapshot]) -> View:
    known = deployment(assignments={COUNT: spread(8, 2)})
    return View(known, History(900.0, tuple(snapshots)), {COUNT: Bounds(1, 8)}, snapshots[-1].end_s)


def decided(at: View, memory: Memory | None = None, seed: int = 0) -> Decision:
    return provisioning().decide(at, memory or {}, np.random.default_rng(seed))


def listed(*entries: str) -> Memory:
    return {"blacklist": [[f"slow instances|words/count|{action}", 200.0, 1, 1] for action in entries]}


def test_e10_another_action_is_drawn_where_the_own_one_is_listed() -> None:
    at = view([late(i) for i in range(16)])
    assert decided(at).parts == (Restart(COUNT, 0),)
    drawn = Counter(type(decided(at, listed("restart"), seed).parts[0]).__name__ for seed in range(200))
    assert set(drawn) == {"Rescale"}  # nothing is unevenly spread: there is nothing to rebalance


def test_e10_each_of_the_others_on_half_of_the_seeds() -> None:
    uneven = SubstreamsSeen(rows_completed=np.array([900.0, 500, 500, 400, 500, 400, 400, 400]))
    at = view([late(i, substreams=uneven) for i in range(16)])
    drawn = Counter(type(decided(at, listed("restart"), seed).parts[0]).__name__ for seed in range(200))
    assert set(drawn) == {"Rescale", "Assign"}
    assert 70 <= drawn["Assign"] <= 130
    assert decided(at, listed("restart", "rebalance", "scale up")).parts == ()


def test_after_an_action_nothing_is_done_until_it_has_settled() -> None:
    first = decided(view([late(i) for i in range(16)]))
    assert first.memory["acted"][0][:3] == ["words/count", "slow instances", "restart"]
    again = decided(view([late(i) for i in range(17)]), first.memory)
    assert again.parts == () and again.why == "the next look is in 160 s"
    receipt = Receipt(ChangeId("x"), Status.IN_FORCE, 400.0)
    answered = [replace(late(i), receipts=(receipt,) if i == 19 else ()) for i in range(26)]
    early = decided(view(answered), first.memory)
    assert early.why == "count: 120 s of 180 s were seen"


def test_what_did_not_help_is_told_and_listed() -> None:
    first = decided(view([late(i) for i in range(16)]))
    then = decided(view([late(i) for i in range(26)]), first.memory)
    assert "the last action (restart) did not help" in then.why
    assert then.parts != () and then.parts != first.parts
    assert then.memory["blacklist"] == [["slow instances|words/count|restart", 200.0, 1, 1]]


def test_a_window_that_was_not_seen_is_waited_for() -> None:
    assert decided(view([late(i) for i in range(3)])).why == "count: 60 s of 300 s were seen"
    assert decided(view([*[late(i) for i in range(16)], Snapshot(320, 340, {})])).parts == ()


@pytest.mark.parametrize("says", ["instance 0", "slow instances", "90%", "100% of its batches were late"])
def test_the_reason_names_cause_and_cure(says: str) -> None:
    why = decided(view([late(i) for i in range(16)])).why
    assert (says in why) == (says != "90%")
