"""What was seen of a running topology, as the question where more units go."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.allocate.answer import rates_of
from penstock.allocate.exact import exact
from penstock.allocate.history import Pace, document_of
from penstock.allocate.measured import Question, Semantics
from penstock.allocate.read import read
from penstock.changes import Capabilities, Execution, Target
from penstock.deployment import Deployment
from penstock.errors import InvalidInput
from penstock.ids import ComponentId, TopologyId
from penstock.observe.snapshot import BatchSeen, ComponentSeen, InstancesSeen, Snapshot, SubstreamsSeen
from penstock.topology.topology import Component, Stream, Topology

WORDS = TopologyId("words")
SPLIT, COUNT = (Target(WORDS, ComponentId(name)) for name in ("split", "count"))


def deployment() -> Deployment:
    split = Component(SPLIT.component, parallelism=2, max_parallelism=8)
    count = Component(COUNT.component, parallelism=1, substreams=4)
    topology = Topology(WORDS, (split, count), (Stream(SPLIT.component, COUNT.component),))
    return Deployment(Capabilities(Execution.MICRO_BATCH, frozenset()), {WORDS: topology})


def seen(arrived: float, completed: float, useful_s: list[float], substreams: int | None = None) -> ComponentSeen:
    """In a step of 10 s one batch, without overhead."""
    parts = SubstreamsSeen(rows_completed=np.full(substreams, completed / substreams)) if substreams else None
    batch = BatchSeen(1, 0.0, 9.0, max(useful_s), int(completed), len(useful_s))
    instances = InstancesSeen(useful_s=np.asarray(useful_s))
    return ComponentSeen(
        rows_arrived=arrived, rows_completed=completed, instances=instances, substreams=parts, batches=(batch,)
    )


def snapshot(split: ComponentSeen, count: ComponentSeen) -> Snapshot:
    return Snapshot(0.0, 10.0, {SPLIT: split, COUNT: count})


def test_rates_capacities_and_ratios_are_those_that_were_seen() -> None:
    """split: 1,000 rows of 9 ms, evenly over 2 of at most 8 instances; count: 2,000 rows of 5 ms in one, and behind."""
    step = snapshot(seen(1000, 1000, [4.5, 4.5]), seen(3000, 2000, [10.0], substreams=4))
    reading = read(document_of(deployment(), [step]))
    rates = rates_of(reading.topology, {}, Semantics.BACKLOG)
    assert rates[SPLIT.component].capacity_rows_per_s == pytest.approx(1000 / 4.5)
    assert rates[COUNT.component].input_rows_per_s == pytest.approx(300.0)
    assert rates[COUNT.component].capacity_rows_per_s == pytest.approx(200.0)
    assert rates[COUNT.component].lost_rows_per_s == pytest.approx(100.0)


def test_overhead_does_not_divide() -> None:
    """Batches of 240 rows at 7 ms, and 0.2 s beside: three instances of eight parts do not three times as much."""
    pace = Pace(240.0, 0.2, 0.007)
    assert pace.rows_per_s(1.0) == pytest.approx(127.7, abs=0.1)
    assert pace.rows_per_s(3 / 8) == pytest.approx(289.2, abs=0.1)


def test_a_unit_goes_where_rows_wait() -> None:
    step = snapshot(seen(1000, 1000, [9.9, 9.0]), seen(3000, 2000, [10.0], substreams=4))
    answer = exact(Question(read(document_of(deployment(), [step])).topology, 1, Semantics.BACKLOG))
    assert dict(answer.extra) == {COUNT.component: 1}
    assert answer.throughput_rows_per_s == pytest.approx(300.0)


def test_what_nobody_knows_is_said_for_each_component() -> None:
    with pytest.raises(InvalidInput) as error:
        document_of(deployment(), [snapshot(ComponentSeen(rows_completed=10.0), seen(0, 0, [0.0]))])
    assert len(error.value.problems) == 2
    assert "'split'" in error.value.problems[0]
