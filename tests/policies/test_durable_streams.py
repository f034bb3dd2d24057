"""Where nothing stops the sources: Dhalion by the unmet share; StreamSwitch per substream, and with stalled ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.changes import Capabilities, Execution, PartKind, Rescale, Restart, Target
from penstock.ids import ComponentId
from penstock.objectives.objective import Latency, Throughput
from penstock.observe.history import History
from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import ComponentSeen, InstancesSeen, Snapshot, SubstreamsSeen
from penstock.policies.detectors import Reading, backpressure
from penstock.policies.dhalion import provisioning, throughput
from penstock.policies.figures import Figures
from penstock.policies.health_policy import Pace
from penstock.policies.policy import Bounds, Decision, View
from penstock.policies.rule import Rule
from penstock.policies.streamswitch import StreamSwitch
from penstock.policies.streamswitch_examine import Asked, State, examine
from penstock.simulator.component import BatchCosts
from penstock.topology.assignment import spread
from tests.fake_engine import COUNT, deployment
from tests.policies.driven import WORDS, Part, World, chain, lived, steps

ANY = Rule(max_parallelism=16)
QUICK = Pace(window_s=30.0, interval_s=5.0, wait_s=15.0)
CONTINUOUS = Capabilities(Execution.CONTINUOUS, frozenset({PartKind.RESCALE, PartKind.ASSIGN, PartKind.RESTART}))


def test_a_backlog_that_grows_scales_up_by_what_was_not_handled() -> None:
    part = Part("count", 1000.0, 2, 64)
    world = World(Execution.CONTINUOUS, 200.0)
    found = lived(provisioning(QUICK), chain([part], steps((0, 1500.0), (40, 2500.0)), world), rule=ANY)
    ups = [c.why for _, c in found.changes if "under-provisioning" in c.why]
    assert "of the rows were not handled" in ups[0] and "s of work wait" in ups[0]
    assert found.width_at("count", 199) >= 3


def seen(i: int, queued: list[float], executed: list[float], arrived: float) -> Snapshot:
    """Ten seconds of two instances that do 100 rows a second each."""
    rows = np.array(executed)
    return Snapshot(10.0 * i, 10.0 * i + 10, {COUNT: ComponentSeen(
        arrived, float(rows.sum()), rows_pending=float(sum(queued)), oldest_pending_s=9.0, parallelism=2,
        instances=InstancesSeen(rows, np.array(queued), rows / 100),
        substreams=SubstreamsSeen(np.full(8, arrived / 8), np.tile(rows / 4, 4),
                                  rows_pending=np.tile(np.array(queued) / 4, 4)),
    )})  # fmt: skip


def view(snapshots: list[Snapshot], *objectives: Latency | Throughput) -> View:
    known = deployment(capabilities=CONTINUOUS, assignments={COUNT: spread(8, 2)}, objectives={COUNT: objectives})
    return View(known, History(900.0, tuple(snapshots)), {COUNT: Bounds(1, 8)}, snapshots[-1].end_s)


def decided(at: View) -> Decision:
    return provisioning(QUICK).decide(at, {}, np.random.default_rng(0))


def test_on_durable_streams_rates_are_those_that_arrive() -> None:
    """Instance 0 works at half its speed, so it executes half: judged by that, its rate would be unlike the other's."""
    at = view([seen(i, [500.0 * (i + 1), 0.0], [500, 1000], 2000) for i in range(4)])
    symptom = backpressure(Reading.of(at, COUNT, Figures.since(at, COUNT, 0.0)))
    assert symptom is not None and symptom.rates is not None
    assert symptom.rates == pytest.approx([3500, 4000])
    assert symptom.share == pytest.approx(0.25)
    assert decided(at).parts == (Restart(COUNT, 0),)


def test_a_backlog_is_worked_off_by_more_instances() -> None:
    at = view([seen(i, [3000.0, 3000.0], [1000, 1000], 2020) for i in range(4)])
    (part,) = decided(at).parts
    assert isinstance(part, Rescale) and part.parallelism == 4  # 2 (1 + .01 + 6000 / 12000), rounded up


def test_short_queues_are_no_backpressure() -> None:
    at = view([seen(i, [300.0, 300.0], [1000, 1000], 2020) for i in range(4)])
    assert decided(at).why == "healthy: no symptom"


def test_a_source_that_nobody_holds_up_is_judged_by_its_rows() -> None:
    lines = Target(COUNT.topology, ComponentId("split"))
    snapshots = [
        replace(s, components={lines: s.components[COUNT]})
        for s in [seen(i, [0.0, 0.0], [1000, 1000], 2000) for i in range(4)]
    ]
    known = deployment(capabilities=CONTINUOUS, objectives={lines: (Throughput(250.0),)})
    at = View(known, History(900.0, tuple(snapshots)), {lines: Bounds(1, 8)}, 40.0)
    found = throughput(QUICK).decide(at, {}, np.random.default_rng(0))
    assert found.parts == ()
    assert found.alerts[0].startswith("words/split: the sources emit 12,000 rows/min of 15,000, and no more data waits")


# StreamSwitch --------------------------------------------------------------------------------------------------------


def state(at: View) -> State:
    found = examine(at, COUNT, 0.0, Asked(1.0, 10.0, 0.2))
    assert isinstance(found, State)
    return found


def test_a_stalled_instance_counts_by_the_age_of_what_is_pending() -> None:
    at = view([seen(i, [400.0, 0.0], [0, 1000], 2000) for i in range(4)], Latency(1.0))
    assert state(at).latency_s == pytest.approx([9.0, 0.0])


def test_a_traced_latency_is_raised_to_what_was_measured() -> None:
    slow = [seen(i, [0.0, 0.0], [1000, 1000], 2000) for i in range(4)]
    told = [
        replace(s, components={COUNT: replace(s.components[COUNT], latency=LatencyHistogram.of([0.5]))}) for s in slow
    ]
    assert state(view(told, Latency(1.0))).latency_s == pytest.approx([0.5, 0.5], rel=0.02)


def test_latency_of_each_substream_is_read_where_it_is_measured() -> None:
    each = tuple(LatencyHistogram.of([0.1 * k]) for k in range(8))
    base = [seen(i, [0.0, 0.0], [1000, 1000], 2000) for i in range(4)]
    told = []
    for s in base:
        own = s.components[COUNT].substreams
        assert own is not None
        told.append(replace(s, components={COUNT: replace(s.components[COUNT], substreams=replace(own, latency=each))}))
    found = state(view(told, Latency(1.0, per_substream=True)))
    assert found.latency_s == pytest.approx([0.3, 0.4], rel=0.02)  # of 0, .2, .4, .6 and of .1, .3, .5, .7
    assert found.setting.pause_order == pytest.approx(0.1 * np.arange(8), rel=0.02)
    worst = examine(view(told, Latency(1.0)), COUNT, 0.0, Asked(1.0, 10.0, 0.2, quantile=1.0))
    assert isinstance(worst, State)
    assert worst.latency_s == pytest.approx([0.6, 0.7], rel=0.02)


@pytest.mark.parametrize("execution", list(Execution))
@pytest.mark.parametrize("quantile", [None, 0.95, 1.0])
def test_objectives_of_every_kind_are_kept_per_substream(execution: Execution, quantile: float | None) -> None:
    limit = Latency(3.0, quantile, per_substream=True)
    part = Part("count", 1000.0, 2, 16, objectives=(limit,), costs=BatchCosts(before_s=0.15, substream_s=0.01))
    found = lived(StreamSwitch(), chain([part], steps((0, 900), (20, 2600)), World(execution, 90.0)), rule=ANY)
    assert found.changes and found.refused == []
    target = Target(WORDS, ComponentId("count"))
    assert max(found.latency_s(target, 70, 90)) < 3.0
