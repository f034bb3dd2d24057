"""A recorded run, folded: what is discovered, what each step saw, what a change came to."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.changes import PartKind, Status, Target
from penstock.engines.spark.ledger import Ledger
from penstock.engines.spark.recording import FACTS, Recorder, recorded
from penstock.errors import InvalidInput
from penstock.ids import ChangeId, ComponentId
from penstock.observe.snapshot import How, Snapshot
from tests.engines.recorded import CHAIN, COUNTS, LINES, Fact, engine_over, entries, facts, while_it_runs


def steps() -> list[Snapshot]:
    ledger, found = Ledger(), []
    for entry in entries():
        if "fact" in entry:
            ledger.fold(entry)
        else:
            found.append(ledger.snapshot(entry["step_end_s"]))
    return found


def seen(target: Target, what: str) -> list[Any]:
    parts = [s.components[target] for s in steps() if target in s.components]
    return [value for part in parts if (value := getattr(part, what)) is not None]


# what is discovered -------------------------------------------------------------------------------------------


def test_queries_are_components_and_are_joined_by_what_they_write_and_read() -> None:
    deployment = while_it_runs().describe()
    [topology] = deployment.topologies.values()
    assert topology.id == "chain"
    assert [c.id for c in topology.components] == ["lines", "query-1"], "the second has no name of its own"
    assert [(s.source, s.target) for s in topology.streams] == [("lines", "query-1")]
    assert deployment.slots == 4
    assert deployment.capabilities.parts == {PartKind.RESCALE, PartKind.ASSIGN, PartKind.PLACE, PartKind.REVERT}


def test_substreams_are_state_partitions_and_parallelism_is_the_plans() -> None:
    deployment = while_it_runs().describe()
    assert deployment.component(LINES).substreams is None
    assert LINES not in deployment.assignments
    assert deployment.component(COUNTS).substreams == 4
    assert deployment.assignments[COUNTS].instance_of == (0, 1, 0, 1)
    before = engine_over(facts(until="plan-in-force")).describe()
    assert before.assignments[COUNTS].instance_of == (0, 1, 2, 3), "without a plan each substream is its own instance"


def with_one_state_partition() -> list[Fact]:
    """As a count over everything has: one substream behind a wide source."""
    told = facts(until="plan-in-force")
    stages = [s for f in told if f["fact"] == "progress" for s in f["stages"] if s["stateful"]]
    for stage in stages:
        stage.update({key: column[:1] for key, column in stage.items() if isinstance(column, list)})
    assert stages
    return told


def test_a_count_over_everything_is_one_substream_behind_a_wide_source() -> None:
    deployment = engine_over(with_one_state_partition()).describe()
    assert deployment.component(COUNTS).substreams == 1
    assert deployment.component(COUNTS).parallelism == 1


def test_queries_keep_names_of_their_own() -> None:
    told = facts(until="query-ended")
    first, unnamed = (f for f in told if f["fact"] == "query-started")
    told += [{**unnamed, "query": "a"}, {**first, "query": "b"}]
    names = [t.component for t in engine_over(told).describe().targets]
    assert len(set(names)) == 4
    assert {"lines", "query-1", "query-2"} < set(names)


def test_a_query_that_starts_again_takes_the_place_of_the_one_that_ended() -> None:
    told = facts(until="query-ended")
    first = next(f for f in told if f["fact"] == "query-started")
    told += [{"fact": "query-ended", "query": first["query"], "error": None, "at_ms": told[-1]["at_ms"]}]
    told += [{**first, "query": "with a new checkpoint"}]
    ledger = engine_over(told).ledger
    assert (query := ledger.query_of(LINES)) is not None
    assert (query.id, query.running) == ("with a new checkpoint", True)


def test_why_a_query_is_left_alone_is_told() -> None:
    told = facts(until="plan-in-force")
    query = next(f["query"] for f in told if f["fact"] == "query-started")
    told += [{"fact": "unregulated", "query": query, "why": "real-time mode", "at_ms": told[-1]["at_ms"]}]
    assert engine_over(told).describe().unregulated == {LINES: "real-time mode"}


def test_executors_come_and_go() -> None:
    told = facts(until="plan-in-force")
    at_ms = told[-1]["at_ms"]
    for name in ("1", "2"):
        told += [{"fact": "executor-added", "executor": name, "host": "h", "slots": 2, "at_ms": at_ms}]
    assert engine_over(told).describe().slots == 8
    told += [{"fact": "executor-removed", "executor": "1", "why": "lost", "at_ms": at_ms}]
    assert [c.id for c in engine_over(told).describe().containers] == ["driver", "2"]


# what a step saw ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [LINES, COUNTS])
def test_what_arrived_is_completed_or_pending_or_dropped_in_every_step(target: Target) -> None:
    arrived = completed = dropped = 0.0
    for snapshot in steps():
        if (part := snapshot.components.get(target)) is not None and part.rows_arrived is not None:
            arrived += part.rows_arrived
            completed += part.rows_completed or 0.0
            dropped += part.rows_dropped or 0.0
            assert arrived == pytest.approx(completed + dropped + (part.rows_pending or 0.0))
    assert completed > 1000


def test_how_a_figure_is_known_stands_beside_it() -> None:
    assert seen(LINES, "arrivals_how")[-1] is How.INTERPOLATED
    assert seen(COUNTS, "arrivals_how")[-1] is How.EXACT
    assert seen(COUNTS, "arrivals_how")[0] is How.UNKNOWN
    assert all(
        part.rows_arrived is None for s in steps() for part in s.components.values() if part.arrivals_how is How.UNKNOWN
    )


def test_every_completed_row_has_a_latency() -> None:
    rows = sum(h.count for h in seen(COUNTS, "latency"))
    assert rows == pytest.approx(sum(seen(COUNTS, "rows_completed")))
    assert all(0.05 < h.mean_s <= h.max_s < 30 for h in seen(COUNTS, "latency"))


def test_instances_are_those_of_the_plan() -> None:
    sizes = [len(i.rows_executed) for i in seen(COUNTS, "instances")]
    assert (sizes[0], sizes[-1]) == (4, 2)
    for part in (*seen(COUNTS, "instances"), *seen(COUNTS, "substreams")):
        assert np.all(part.useful_s >= 0)
    batches = [b for found in seen(COUNTS, "batches") for b in found]
    assert [b.id for b in batches] == list(range(len(batches)))
    assert all(b.started_at_s < b.visible_at_s <= b.ended_at_s for b in batches)


def test_substreams_count_rows_at_the_stateful_stage() -> None:
    total = np.sum([s.rows_completed for s in seen(COUNTS, "substreams")], axis=0)
    assert total.tolist()[2] == 0, "seven words leave one of the four state partitions empty"
    assert sum(total > 0) == 3


def test_missed_facts_are_told_once() -> None:
    engine = while_it_runs()
    engine.take((), 10, 7)
    later = engine.take(tuple(facts()[-1:]), 11, 2)
    assert later is not None
    assert later.missed_facts == 9
    assert engine.ledger.snapshot(later.end_s + 1).missed_facts == 0


def test_a_change_is_in_force_with_the_first_batch_under_its_plan() -> None:
    told = facts()
    plan = next(f for f in told if f["fact"] == "plan-in-force")
    ledger = Ledger()
    ledger.awaited[ChangeId("narrower")] = {plan["query"]: plan["plan"]["version"]}
    ledger.awaited[ChangeId("not yet")] = {plan["query"]: plan["plan"]["version"] + 1}
    for fact in told:
        ledger.fold(fact)
    [receipt] = ledger.snapshot(told[-1]["at_ms"] / 1000).receipts
    assert (receipt.change, receipt.status, receipt.batch) == ("narrower", Status.IN_FORCE, plan["batch"])
    assert receipt.cost_s is not None
    assert receipt.cost_s >= 0
    assert list(ledger.awaited) == ["not yet"]


# recordings ---------------------------------------------------------------------------------------------------


def test_a_recording_folds_into_the_same_steps(tmp_path: Path) -> None:
    shutil.copy(CHAIN, tmp_path / FACTS)
    again = list(recorded(tmp_path))
    assert [(s.start_s, s.end_s) for _, s in again] == [(s.start_s, s.end_s) for s in steps()]
    last = ComponentId("query-1")
    assert again[-1][0].topologies[COUNTS.topology][last].substreams == 4


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    recorder = Recorder.into(tmp_path)
    engine = engine_over(facts(until="progress"))
    snapshot = engine.ledger.snapshot(1795125299.5)
    for fact in facts(until="progress"):
        recorder.fact(fact)
    recorder.step(engine.describe(), snapshot)
    recorder.close()
    [(deployment, found)] = recorded(tmp_path)
    assert deployment == engine.describe()
    assert found.end_s == snapshot.end_s


def test_a_folder_without_a_recording_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"{tmp_path} holds no recorded run"):
        list(recorded(tmp_path))
