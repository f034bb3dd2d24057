"""Each trap that the spike found, as a job that gives a wrong answer where the switch falls into it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.spark.finite import write_input
from tests.spark.harness import JOBS, Running, plain, run
from tests.spark.oracle import aggregation, batches, committed
from tests.spark.test_exactness import CHAOS

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def schedule(path: Path, *steps: tuple[float, str, int]) -> list[str | Path]:
    lines = [f"- {{at_s: {at_s}, component: {component}, parallelism: {p}}}" for at_s, component, p in steps]
    path.write_text("\n".join(lines) + "\n")
    return ["--schedule", path]


def under_chaos(folder: Path, trap: str) -> Running:
    (folder / "chaos.yaml").write_text(CHAOS)
    with run(folder / "run", ["--config", folder / "chaos.yaml"], JOBS / "traps.py", folder, trap) as job:
        job.finish()
    return job


def test_a_replayed_batch_runs_under_the_plan_it_first_ran_with(tmp_path: Path) -> None:
    rows = write_input(tmp_path / "in", files=12, rows=200)
    out = tmp_path / "out" / "replayed"
    job: list[str | Path] = [JOBS / "traps.py", tmp_path, "replayed"]

    def killed_in_mid_batch(running: Running) -> bool:
        newest = max((int(f.name.split("-")[0]) for f in out.glob("[0-9]*-*")), default=0)
        finished = len(list(out.glob(f"{newest}-*")))
        return running.changes_of("replayed") >= 1 and newest >= 2 and 0 < finished < 3

    with run(tmp_path / "wide", schedule(tmp_path / "3.yaml", (0, "replayed", 3)), *job) as first:
        first.until(killed_in_mid_batch)
        first.kill_driver()
    with run(tmp_path / "narrow", schedule(tmp_path / "2.yaml", (0, "replayed", 2)), *job) as second:
        second.finish()
    written = Counter(id for file in out.glob("[0-9]*-*") for id in json.loads(file.read_text()))
    assert written == Counter(r["id"] for r in rows)
    plans = second.facts("plan-in-force")
    assert plans[0]["plan"]["parallelism"] == 3, "the replayed batch"
    assert plans[-1]["plan"]["parallelism"] == 2, "the batches after it"


def test_a_foreach_batch_function_may_join_on_the_batch(tmp_path: Path) -> None:
    rows = write_input(tmp_path / "in", files=18, rows=60)
    job = under_chaos(tmp_path, "batch_join")
    found = {r["key"]: r for r in batches(tmp_path / "out" / "batch_join")}
    wanted = {r["key"]: r["n"] for r in aggregation(rows) if r["key"].startswith("k")}
    assert {key: row["n"] for key, row in found.items()} == wanted
    assert all(row["again"] == row["n"] for row in found.values())
    stages = {s["stage"] for f in job.batches_of("batch_join") for s in f["stages"]}
    assert stages == {"source", "state-0"}, "the function's own stages are not the stream's"


def test_complete_mode_comes_out_ordered_and_is_counted_once(tmp_path: Path) -> None:
    rows = write_input(tmp_path / "in", files=18, rows=60)
    job = under_chaos(tmp_path, "ordered")
    for file in (tmp_path / "out" / "ordered").glob("[0-9]*.json"):
        keys = [row["key"] for row in json.loads(file.read_text())]
        assert keys == sorted(keys)
    sources = [s for f in job.batches_of("ordered") for s in f["stages"] if s["stage"] == "source"]
    assert sum(sum(s["rows_in"]) for s in sources) == len(rows), "the sampling of orderBy runs the plan twice"


def test_a_self_join_reads_its_input_as_often_as_on_plain_spark(tmp_path: Path) -> None:
    rows = write_input(tmp_path / "in", files=9, rows=40)
    under_chaos(tmp_path, "self_join")
    regulated = int((tmp_path / "input_rows").read_text())
    assert {r["id"] for r in committed(tmp_path / "out" / "self_join")} == {r["id"] for r in rows}
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "in").symlink_to(tmp_path / "in")
    with plain(JOBS / "traps.py", tmp_path / "plain", "self_join") as process:
        assert process.wait(timeout=300) == 0
    assert regulated == int((tmp_path / "plain" / "input_rows").read_text())


def test_a_sink_that_wants_its_rows_in_order_gets_them(tmp_path: Path) -> None:
    rows = write_input(tmp_path / "in", files=18, rows=60)
    under_chaos(tmp_path, "partitioned")
    written = Counter(r["id"] for r in committed(tmp_path / "out" / "partitioned"))
    assert written == Counter(r["id"] for r in rows)


def test_a_continuous_query_runs_as_if_penstock_were_not_there(tmp_path: Path) -> None:
    with run(tmp_path / "run", ["--policy", "chaos"], JOBS / "traps.py", tmp_path, "continuous") as job:
        job.until(lambda r: bool(r.facts("unregulated")))
        job.finish()
    assert "same time" in job.facts("unregulated")[0]["why"]
    assert not job.facts("plan-in-force")
