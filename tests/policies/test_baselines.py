"""What StreamSwitch and Dhalion are measured against: DRS, DS2, Flink's rules, batch time against interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.changes import Assign, Execution, Rescale
from penstock.objectives.objective import Latency
from penstock.observe.history import History
from penstock.policies.batch_ratio import BatchRatio
from penstock.policies.drs import Drs
from penstock.policies.ds2 import Ds2
from penstock.policies.flink_like import FlinkLike
from penstock.policies.policy import Bounds, Decision, Memory, Policy, View
from penstock.policies.rule import Rule
from penstock.simulator.component import BatchCosts
from penstock.simulator.scenario import Skew
from penstock.topology.assignment import spread
from tests.fake_engine import COUNT, deployment
from tests.policies.driven import COUNT as SIMULATED
from tests.policies.driven import Lived, Part, World, chain, lived, steps
from tests.policies.test_streamswitch import step

COSTS = BatchCosts(before_s=0.15, after_s=0.05, substream_s=0.01)
PART = Part("count", 1000.0, 2, 32, objectives=(Latency(2.0),), costs=COSTS)
ANY = Rule(max_parallelism=16)
RISE = ((0.0, 900.0), (60.0, 3600.0), (140.0, 900.0))


def run(policy: Policy, part: Part = PART, execution: Execution = Execution.MICRO_BATCH) -> Lived:
    return lived(policy, chain([part], steps(*RISE), World(execution, 260.0)), rule=ANY)


def continuous(policy: Policy, part: Part = PART) -> Lived:
    return run(policy, part, Execution.CONTINUOUS)


@pytest.mark.parametrize("balances", [False, True])
def test_drs_has_as_many_instances_as_a_queue_needs(balances: bool) -> None:
    found = continuous(Drs(balances=balances))
    assert (found.width_at("count", 55), found.width_at("count", 130), found.width_at("count", 250)) == (2, 5, 2)
    assert found.refused == []


def test_drs_lb_on_micro_batches_keeps_the_objective() -> None:
    """DRS alone leaves the halves of halves as they are: one instance has twice another's load."""
    found = run(Drs(balances=True))
    assert found.width_at("count", 130) >= 5
    assert max(found.latency_s(SIMULATED, 110, 140)) < 2.0
    assert found.changes[0][1].why.startswith("count: ") and " need " in found.changes[0][1].why


def test_only_drs_lb_moves_a_hot_key_s_neighbours_away() -> None:
    hot = Part("count", 1000.0, 3, 30, Skew(hot={0: 0.35}), objectives=(Latency(1.0),))
    rate = steps((0, 1900.0))
    plain, balancing = (
        lived(Drs(balances=b), chain([hot], rate, World(Execution.CONTINUOUS, 60.0)), rule=ANY) for b in (False, True)
    )
    assert plain.changes == []
    (first, *_) = balancing.changes
    assert isinstance(first[1].parts[0], Assign) and "from instance 0" in first[1].why


def view(count: int, arrived: float = 800.0) -> View:
    """800 rows a second completed by two instances, each row a millisecond."""
    known = deployment(assignments={COUNT: spread(8, 2)}, objectives={COUNT: (Latency(3.0),)})
    history = History(900.0, tuple(step(i, arrived) for i in range(count)))
    return View(known, history, {COUNT: Bounds(1, 8)}, float(count))


def decided(policy: Policy, at: View, memory: Memory | None = None) -> Decision:
    return policy.decide(at, memory or {}, np.random.default_rng(0))


def test_ds2_sizes_by_true_rates() -> None:
    assert decided(Ds2(), view(10)).why == "count: 10 s of 20 s were seen"
    found = decided(Ds2(over_provision_share=0.0), view(25, 4200.0))
    assert found.parts == (Rescale(COUNT, 5),)
    assert found.why == "count: 4200 rows/s keep 4.2 instances busy: 5 instead of 2"


def test_ds2_takes_three_steps_at_most() -> None:
    memory = {str(COUNT): {"rows_per_s": 4200.0, "steps": 3}}
    found = decided(Ds2(), view(25, 4200.0), memory)
    assert (found.parts, found.why) == ((), "count: 3 steps have not found the number for 4200 rows/s: it stays")
    assert decided(Ds2(), view(25, 5000.0), memory).parts != ()


def test_ds2_scales_a_whole_topology_in_one_step() -> None:
    parts = [Part("lines", 1e5, 1, 64), Part("split", 400.0, 1, emits=3.0), Part("count", 1000.0, 1, 64)]
    world = World(Execution.CONTINUOUS, 120.0)
    found = lived(Ds2(over_provision_share=0.0), chain(parts, steps((0, 1500.0)), world), rule=Rule(max_parallelism=16))
    (_, first) = found.changes[0]
    assert {str(p.target.component): p.parallelism for p in first.parts if isinstance(p, Rescale)} == {
        "split": 4, "count": 5,
    }  # fmt: skip
    assert len(found.changes) <= 3


FLINK = FlinkLike(window_s=20.0, restart_s=0.0, scale_down_after_s=40.0)


def test_flink_s_rules_scale_up_beyond_the_band_and_down_late() -> None:
    found = run(FLINK)
    assert found.width_at("count", 130) in (6, 7)  # 3600 / 0.7 / 1000, rounded up, and a little for the backlog
    down = [at_s for at_s, c in found.changes if at_s > 140]
    assert down and down[0] >= 180


def test_flink_s_rules_leave_a_utilization_within_the_band_alone() -> None:
    found = decided(FlinkLike(window_s=20.0), view(25, 1000.0))
    assert (found.parts, found.why) == ((), "count: 50% of what it can do arrives: 2 instances are kept")


def test_flink_s_rules_count_the_backlog_and_a_restart() -> None:
    def behind(rows: float) -> View:
        at = view(25, 2400.0)
        last = at.history.snapshots[-1]
        waits = replace(last, components={COUNT: replace(last.components[COUNT], rows_pending=rows)})
        return replace(at, history=History(900.0, (*at.history.snapshots[:-1], waits)))

    policy = FlinkLike(window_s=20.0)
    assert decided(policy, behind(0.0)).parts == (Rescale(COUNT, 4),)  # 2400 / .7 + 2400 / 6 = 3829 rows/s
    assert decided(policy, behind(1.8e6)).parts == (Rescale(COUNT, 5),)  # and 1000 more for the backlog


def test_batch_time_against_interval() -> None:
    found = run(BatchRatio(scaling_interval_s=10.0))
    assert found.width_at("count", 135) >= 5
    widths = [w["count"] for w in found.widths]
    assert widths[-1] < max(widths)
    assert "of its interval" in found.changes[0][1].why


def test_without_anything_seen_nothing_is_done() -> None:
    policies: tuple[Policy, ...] = (Drs(), Ds2(), FLINK, BatchRatio())
    for policy in policies:
        empty = replace(view(1), history=History(900.0))
        assert decided(policy, empty) == Decision(why="nothing has been seen yet")
