"""`penstock simulate` and `penstock sweep`, as people type them."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import simulate, sweep
from penstock.errors import InvalidInput
from penstock.simulator.parse import read_scenario

KEYS = {"rows_in", "rows_out", "pending", "latency_s", "success_share", "mean_instances", "instance_seconds"}
SMALL = """
version: 1
duration_s: 60
topologies:
  t:
    topology:
      components:
        read: {parallelism: 1}
        count: {parallelism: 2, substreams: 8, inputs: [{from: read, grouping: key, key: word}]}
    execution:
      kind: micro-batch
      components:
        read: {rows_per_s: 100000, emits: 2, batch: {task_s: 0.1}}
        count: {rows_per_s: 2000, batch: {task_s: 0.2, substream_s: 0.01}}
    traffic: {read: {rows_per_s: 1000, cv: 1}}
    objectives: {count: [mean latency < 2s]}
    policy: {name: schedule, changes: [{at_s: 30, component: count, parallelism: 4}]}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def typed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    simulate.add_parser(subparsers)
    sweep.add_parser(subparsers)
    return parser.parse_args(words)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    arguments = typed("simulate", *words, "--json")
    assert arguments.run(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_the_json_has_the_keys_of_a_run(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, str(scenario))
    assert found.keys() >= KEYS | {"batches", "changes", "components"}
    assert set(found["latency_s"]) == {"mean", "p50", "p95", "p99", "max", "how"}
    assert found["rows_in"] == found["components"]["read"]["rows_in"]
    assert found["rows_out"] == found["components"]["count"]["rows_completed"]
    assert 2 * found["components"]["read"]["rows_completed"] == found["components"]["count"]["rows_in"]


def test_the_scenarios_policy_regulates_and_the_command_lines_goes_first(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scheduled = told(capsys, str(scenario))
    assert [c["status"] for c in scheduled["changes"]] == ["in force"]
    assert scheduled["components"]["count"]["mean_instances"] == pytest.approx(3.0, abs=0.1)
    left_alone = told(capsys, str(scenario), "--policy", "static")
    assert left_alone["changes"] == []
    assert left_alone["components"]["count"]["mean_instances"] == 2.0


def test_the_same_seed_gives_the_same_output(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, other = (told(capsys, str(scenario), "--seed", seed) for seed in ("1", "1", "2"))
    assert first == second
    assert first["rows_in"] != other["rows_in"]


def test_a_run_that_is_kept_has_its_summary_its_log_and_its_report(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, str(scenario), "--out", str(tmp_path / "kept"))
    kept = json.loads((tmp_path / "kept" / "summary.json").read_text())
    assert {k: kept[k] for k in found} == found
    assert (tmp_path / "kept" / "actions.jsonl").read_text().count("\n") == 2
    assert "count" in (tmp_path / "kept" / "report.html").read_text(encoding="utf-8")


def test_without_json_a_person_reads_a_table(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = typed("simulate", str(scenario))
    assert arguments.run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["component", "rows", "in"]
    assert [line.split()[0] for line in lines[1:]] == ["read", "count", "1"]


def test_a_scenario_that_is_not_there_is_told_with_what_was_meant(tmp_path: Path) -> None:
    arguments = typed("simulate", "heron-wordcount")
    with pytest.raises(InvalidInput, match="did you mean 'heron-word-count'"):
        arguments.run(arguments)


def test_a_policy_that_is_not_there_is_told_with_its_line(scenario: Path) -> None:
    scenario.write_text(SMALL.replace("name: schedule", "name: scedule"))
    arguments = typed("simulate", str(scenario))
    with pytest.raises(InvalidInput, match=r"small.yaml:\d+: .*did you mean 'schedule'"):
        arguments.run(arguments)


@pytest.mark.parametrize("name", simulate.gallery())
def test_every_scenario_of_the_gallery_can_be_read(name: str) -> None:
    assert read_scenario(simulate.written_scenario(name)).scenario.topologies


def test_several_topologies_are_told_by_name(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    once = SMALL[SMALL.index("  t:") :]
    scenario.write_text(SMALL + once.replace("  t:", "  u:").replace("read", "fetch").replace("count", "sum"))
    found = told(capsys, str(scenario))
    assert set(found["topologies"]) == {"t", "u"}
    assert found["rows_in"] == sum(t["rows_in"] for t in found["topologies"].values())
    assert len(found["changes"]) == 2


def swept(tmp_path: Path, grid: str, *more: str) -> list[dict[str, str]]:
    (tmp_path / "sweep.yaml").write_text(f"version: 1\nscenario: small.yaml\ngrid:\n{grid}")
    arguments = typed("sweep", str(tmp_path / "sweep.yaml"), *more)
    assert arguments.run(arguments) == 0
    with (tmp_path / "sweep.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


GRID = "  seed: [1, 2]\n  topologies.t.topology.components.count.parallelism: [1, 4]\n  topologies.t.policy: [static]\n"


def test_a_sweep_writes_a_row_for_each_combination_and_its_plot(scenario: Path, tmp_path: Path) -> None:
    rows = swept(tmp_path, GRID, "--jobs", "1")
    parallelism = [row["topologies.t.topology.components.count.parallelism"] for row in rows]
    assert parallelism == ["1", "4", "1", "4"]
    assert [float(row["mean_instances"]) for row in rows] == [2, 5, 2, 5]
    assert float(rows[0]["success_share"]) < float(rows[1]["success_share"])
    picture = (tmp_path / "sweep.svg").read_text(encoding="utf-8")
    assert picture.count("<circle") == 4
    assert "success_share" in picture


def test_a_sweep_over_several_processes_gives_the_same_table(scenario: Path, tmp_path: Path) -> None:
    assert swept(tmp_path, GRID, "--jobs", "1") == swept(tmp_path, GRID, "--jobs", "2")


@pytest.mark.parametrize(
    ("grid", "problem"),
    [
        ("  topologies.x.policy: [static]\n", "the scenario has no 'x' there"),
        ("  seed: 3\n", "must be a list"),
        ("  seed: []\n", "lists no values"),
        ("  {}\n", "the grid is empty"),
    ],
)
def test_a_mistake_in_a_sweep_is_told(scenario: Path, tmp_path: Path, grid: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        swept(tmp_path, grid)
