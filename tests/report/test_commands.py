"""`penstock report` and `penstock runs` over folders as runs leave them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from penstock.cli import demo, report, runs
from penstock.errors import InvalidInput
from penstock.workloads.jobs import word_count

STARTED_S = 1_700_000_000.0
QUERY = "11111111-2222-3333-4444-555555555555"
STAGE = {
    "stage": "state-0",
    "stateful": True,
    "substream": [0, 1],
    "instance": [0, 1],
    "rows_in": [60, 40],
    "rows_out": [60, 40],
    "wall_ns": [200_000_000, 100_000_000],
    "cpu_ns": [100_000_000, 50_000_000],
    "fetch_wait_ns": [0, 0],
}
PROGRESS = {
    "timestamp": "2023-11-14T22:13:22.000Z",
    "batchId": 0,
    "batchDuration": 1000,
    "numInputRows": 100,
    "durationMs": {"addBatch": 800, "walCommit": 50, "commitOffsets": 20, "triggerExecution": 1000},
    "stateOperators": [],
    "sources": [
        {
            "description": "FileStreamSource[file:/in]",
            "numInputRows": 100,
            "startOffset": None,
            "endOffset": {"logOffset": 0},
            "latestOffset": None,
        }
    ],
    "sink": {"description": "NoopTable", "numOutputRows": 100},
}
FACTS = (
    {"fact": "driver", "name": "words", "slots": 4, "cores": 2, "at_ms": 0},
    {"fact": "query-started", "query": QUERY, "name": "counts", "checkpoint": "file:/cp", "shuffle_partitions": 2},
    {"step_end_s": STARTED_S + 1},
    {
        "fact": "arrivals",
        "query": QUERY,
        "source": "FileStreamSource[file:/in]",
        "files": [[1_700_000_001_500, 900, 100, None]],
    },
    {"fact": "progress", "query": QUERY, "stages": [STAGE], "progress": PROGRESS, "batch": 0},
    {"step_end_s": STARTED_S + 4},
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    return tmp_path / "runs"


def kept(folder: Path, summary: str | None = None, name: str = "job") -> Path:
    folder.mkdir(parents=True)
    run = {"command": [f"{name}.py"], "started_s": STARTED_S, "penstock": "0.1.0", "name": name}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "facts.jsonl").write_text("".join(json.dumps(f) + "\n" for f in FACTS))
    if summary is not None:
        (folder / "summary.json").write_text(summary)
    return folder


def told(command: str, *words: str) -> int:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    for module in (report, runs, demo):
        module.add_parser(subparsers)
    arguments = parser.parse_args([command, *words])
    return int(arguments.run(arguments))


def test_report_is_made_again_from_what_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = {"objectives": {"counts": ["mean latency < 5s"]}, "ended": "the job ended by itself", "exit": 0}
    folder = kept(tmp_path / "one", json.dumps(summary))
    assert told("report", str(folder)) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    page = (folder / "report.html").read_text()
    assert "the job ended by itself" in page and "mean latency &lt; 5s" in page and "Always kept" in page


def test_report_of_a_run_that_was_cut_off(tmp_path: Path) -> None:
    folder = kept(tmp_path / "one")
    with (folder / "facts.jsonl").open("a") as facts:
        facts.write('{"fact": "prog')
    assert told("report", str(folder)) == 0
    page = (folder / "report.html").read_text()
    assert "how it ended is unknown" in page and "Which objectives were set is unknown" in page


def test_report_takes_the_newest_run_and_says_where_there_is_none(home: Path) -> None:
    with pytest.raises(InvalidInput, match="no run is kept yet"):
        told("report")
    for name in ("20230101-000000-1-job", "20230102-000000-1-job"):
        kept(home / name)
    assert told("report") == 0
    assert [p.parent.name for p in home.glob("*/report.html")] == ["20230102-000000-1-job"]


def test_report_of_no_run_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"run\.json is missing"):
        told("report", str(tmp_path))


def test_runs_lists_the_newest_first_and_dashes_what_is_unknown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = {
        "rows_in": 15_000,
        "latency_s": {"mean": 0.25},
        "success_share": 0.5,
        "changes": [{}, {}],
        "exit": 0,
        "ended_s": STARTED_S + 75,
    }
    kept(home / "20230101-000000-1-old", json.dumps(summary), "old")
    kept(home / "20230102-000000-1-torn", '{"rows_in": 1', "torn")
    assert told("runs") == 0
    head, torn, old = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:3] == ["when", "name", "took"]
    assert torn[2:9] == ["torn", "-", "-", "-", "-", "-", "-"]
    assert old[2:10] == ["old", "1:15", "15k", "250", "ms", "50.0%", "2", "0"]


def test_runs_says_where_nothing_is_kept_and_how_many_are_left_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told("runs") == 0
    assert "no run is kept" in capsys.readouterr().out
    for day in range(1, 4):
        kept(home / f"2023010{day}-000000-1-job")
    assert told("runs", "--limit", "1") == 0
    assert "and 2 older; --limit 0 lists all" in capsys.readouterr().out


def test_demo_runs_the_packaged_job_as_penstock_run_would(tmp_path: Path) -> None:
    arguments = demo._arguments(tmp_path, tmp_path / "out")
    assert arguments.command[0] == word_count.__file__ and "noop" in arguments.command
    assert arguments.objective == [demo.OBJECTIVE] and arguments.out == tmp_path / "out"
    assert (tmp_path / "schedule.yaml").read_text().count("component: counts") == len(demo.SCHEDULE)
    assert "penstock" not in Path(word_count.__file__).read_text()
