"""Scenarios as people write them: what is read, and what is said of mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.changes import Execution
from penstock.errors import InvalidInput
from penstock.files import read_yaml_text
from penstock.ids import ComponentId, HostId
from penstock.objectives.objective import Latency
from penstock.simulator.parse import read_scenario
from penstock.simulator.scenario import FaultKind, Fidelity, Pause, PressureKind, Scenario

WHOLE = """
version: 1
seed: 5
duration_s: 600
step_s: 0.1
observe_s: 1
fidelity: rows
hosts: [{id: a, cores: 8, speed: 1.5, rack: r1, kind: large, price_usd_per_h: 0.4}]
slots_per_container: 2
topologies:
  words:
    topology:
      components:
        spout: {parallelism: 4}
        count: {parallelism: 2, substreams: 8, inputs: [{from: spout, grouping: key, key: word}]}
    execution:
      kind: continuous
      pressure: {kind: backpressure, high_rows: 1000, low_rows: 10}
      switching: {pause: topology, fixed_s: 60, state_row_s: 0.001, container_s: 30}
      components:
        spout: {rows_per_s: 1000, queueing: shared}
        count:
          rows_per_s: 2500
          cv: 1
          emits: 0.5
          skew: {zipf: 0.6, hot: {3: 0.5}, moves_every_s: 60}
          state: {initial_rows: 10, per_row: 0.1, limit_rows: 1000}
          mix: {speed: 0.5, share: 0.4}
    traffic:
      spout:
        rows_per_s: 100
        steps: [[0, 10], [60, 30]]
        sinusoid: {base_rows_per_s: 50, amplitude_rows_per_s: 20, period_s: 60}
        trace: {every_s: 10, rows_per_s: [1, 2]}
        bursts: [{at_s: 30, rows_per_s: 1000, fades_s: 5}]
        cv: 1
    objectives: {count: [mean latency < 1s]}
    policy: static
faults:
  - {at_s: 10, kind: slow instance, target: words/count/1, for_s: 5, speed: 0.25}
  - {at_s: 10, kind: failed host, target: a, for_s: 5}
  - {at_s: 10, kind: lost metrics, for_s: 5}
"""


def read(text: str) -> Scenario:
    return read_scenario(read_yaml_text(text, "s.yaml")).scenario


def test_everything_that_can_be_said_is_read() -> None:
    scenario = read(WHOLE)
    (model,) = scenario.topologies
    count = model.components[ComponentId("count")]
    assert (scenario.seed, scenario.observe_steps, scenario.fidelity) == (5, 10, Fidelity.ROWS)
    assert (scenario.hosts[0].id, scenario.hosts[0].speed, scenario.slots_per_container) == (HostId("a"), 1.5, 2)
    assert (model.execution, model.pressure.kind) == (Execution.CONTINUOUS, PressureKind.BACKPRESSURE)
    assert (model.switching.pause, model.switching.container_s) == (Pause.TOPOLOGY, 30)
    assert (count.service.row_s, count.service.emits, count.mix.share) == (1 / 2500, 0.5, 0.4)
    assert count.skew.weights(8)[3] == 0.5
    assert count.skew.weights(8, now_s=60.0)[4] == 0.5
    assert count.objectives == (Latency(1.0),)
    assert [f.kind for f in scenario.faults] == [
        FaultKind.SLOW_INSTANCE,
        FaultKind.FAILED_HOST,
        FaultKind.LOST_METRICS,
    ]


def test_parts_of_a_sources_traffic_add_up() -> None:
    traffic = read(WHOLE).topologies[0].components[ComponentId("spout")].traffic
    assert traffic is not None
    rates = traffic.rate(np.array([0.0, 15.0, 30.0]))
    assert rates == pytest.approx([100 + 10 + 50 + 1, 100 + 10 + 70 + 2, 100 + 10 + 50 + 2 + 1 - 1 + 1000], abs=1)


def test_hosts_may_be_so_many_of_one_kind() -> None:
    text = WHOLE.replace("hosts: [{id: a, cores: 8, speed: 1.5, rack: r1, kind: large, price_usd_per_h: 0.4}]", "")
    text = text.replace("target: a,", "target: host-2,") + "hosts: {count: 2, cores: 4}\n"
    assert [h.id for h in read(text).hosts] == ["host-1", "host-2"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("version: 1", "version: 2", "s.yaml:2: version is 2: this Penstock reads version 1"),
        ("duration_s: 600", "duration_s: -1", "s.yaml:4: duration_s is -1, it must be a number above 0"),
        ("observe_s: 1", "observe_s: 0.25", "s.yaml:6: observe_s is 0.25: it must be a multiple of step_s"),
        ("fidelity: rows", "fidelity: row", "did you mean 'rows'?"),
        ("kind: continuous", "kind: continous", "did you mean 'continuous'?"),
        ("low_rows: 10", "low_rows: 2000", "low_rows 2000 is above high_rows 1000"),
        (
            "pause: topology",
            "pause: everything",
            "s.yaml:19: topologies.words.execution.switching.pause is 'everything'",
        ),
        (
            "rows_per_s: 2500",
            "rows_per_second: 2500",
            "nothing is called 'rows_per_second' here: did you mean 'rows_per_s'?",
        ),
        ("{from: spout,", "{from: spuot,", "there is no component 'spuot'"),
        ("mean latency < 1s", "mean latency < 1", "s.yaml:37: objective"),
        ("target: words/count/1", "target: words/cuont/1", "a slow instance cannot be of 'words/cuont/1'"),
        ("target: a,", "target: b,", "a failed host cannot be of 'b': there are a"),
        ("kind: slow instance, target: words/count/1", "kind: slow instance", "needs a target"),
        ("hot: {3: 0.5}", "hot: {9: 0.5}", "substreams are numbered from 0 to 7"),
        ("hot: {3: 0.5}", "hot: {3: 1.5}", "leave nothing for the other substreams"),
        ("share: 0.4", "share: 1.4", "it is between 0 and 1"),
        ("steps: [[0, 10], [60, 30]]", "steps: [[60, 10], [0, 30]]", "its times must rise"),
        ("steps: [[0, 10], [60, 30]]", "steps: [[60, 10, 5]]", "a pair: [from second, rows per second]"),
        ("parallelism: 2, substreams: 8", "parallelism: 9, substreams: 8", "parallelism 9 is above its bound of 8"),
        ("rows_per_s: 1000, queueing: shared", "rows_per_s: 1000, skew: {zipf: 1}", "spout has no substreams"),
        ("          cv: 1\n          emits", "          queueing: shared\n          emits", "no shared queue"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_was_probably_meant(old: str, new: str, told: str) -> None:
    assert old in WHOLE
    with pytest.raises(InvalidInput) as problem:
        read(WHOLE.replace(old, new, 1))
    assert told in str(problem.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(InvalidInput) as problem:
        read(WHOLE.replace("version: 1", "version: 2").replace("fidelity: rows", "fidelity: none"))
    assert len(problem.value.problems) == 2


def test_batches_have_no_backpressure() -> None:
    with pytest.raises(InvalidInput, match="micro-batches read durable streams"):
        read(WHOLE.replace("kind: continuous", "kind: micro-batch"))


@pytest.mark.parametrize("missing", ["traffic", "execution"])
def test_what_is_missing_is_named(missing: str) -> None:
    with pytest.raises(InvalidInput, match=f"does not say '{missing}'"):
        read(WHOLE.replace(f"    {missing}:", f"    x{missing}:"))
