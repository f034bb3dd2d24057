"""What Penstock measures, against somebody who stands at the output with a clock, and somebody who counts the files."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.engines.spark.recording import recorded
from penstock.workloads.content import Records
from penstock.workloads.generator import Generator, Plan
from penstock.workloads.keys import Uniform
from penstock.workloads.shape import constant
from penstock.workloads.writer import FileWriter
from tests.spark.harness import JOBS, run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

RATE_ROWS_PER_S, LOAD_S = 500.0, 20.0
LOOK_S = 0.01


@dataclass
class Consumer:
    """Reads what the file sink commits, as soon as it is there, and compares clocks."""

    folder: Path
    visible_at_s: dict[int, float] = field(default_factory=dict)
    born_at_s: dict[int, float] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        seen: set[str] = set()
        while not self.over.wait(LOOK_S):
            for commit in (self.folder / "_spark_metadata").glob("[0-9]*"):
                now_s = time.time()
                if commit.name not in seen:
                    seen.add(commit.name)
                    self._read(commit, now_s)

    def _read(self, commit: Path, now_s: float) -> None:
        for line in commit.read_text().splitlines()[1:]:
            table = pq.read_table(json.loads(line)["path"].removeprefix("file://")).to_pydict()
            for id, ingress_us in zip(table["id"], table["ingress_us"], strict=True):
                self.visible_at_s.setdefault(id, now_s)
                self.born_at_s[id] = ingress_us / 1e6


def arrival_times_s(folder: Path) -> dict[int, float]:
    """When the file that holds a row became visible to Spark."""
    files = folder.glob("*.parquet")
    return {id: f.stat().st_mtime for f in files for id in pq.read_table(f, columns=["id"]).to_pydict()["id"]}


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_latency_and_counts_agree_with_independent_observers(tmp_path: Path) -> None:
    consumer = Consumer(tmp_path / "out")
    (tmp_path / "in").mkdir()
    watching = threading.Thread(target=consumer.watch)
    with run(tmp_path / "run", [], JOBS / "passes.py", tmp_path) as job:
        job.until(lambda r: bool(r.batches_of("passes")) or bool(r.facts("query-started")))
        watching.start()
        plan = Plan(constant(RATE_ROWS_PER_S), Records(Uniform(100)), duration_s=LOAD_S)
        summary = Generator(plan, FileWriter(tmp_path / "in", "parquet", "load")).run()
        job.until(lambda r: sum(f["progress"]["numInputRows"] for f in r.batches_of("counts")) >= summary.rows_written)
        job.until(lambda r: len(consumer.visible_at_s) >= summary.rows_written)
        job.process.terminate()
        job.process.wait(timeout=60)
    consumer.over.set()
    watching.join()
    seen = json.loads((tmp_path / "run" / "summary.json").read_text())["components"]

    arrived_at_s = arrival_times_s(tmp_path / "in")
    from_birth = mean([at_s - consumer.born_at_s[id] for id, at_s in consumer.visible_at_s.items()])
    from_arrival = mean([at_s - arrived_at_s[id] for id, at_s in consumer.visible_at_s.items()])
    assert seen["passes"]["latency_s"]["mean"] == pytest.approx(from_birth, rel=0.10)
    assert seen["passes"]["arrival_latency_s"]["mean"] == pytest.approx(from_arrival, rel=0.10)

    for component in ("passes", "counts"):
        assert seen[component]["rows_in"] == summary.rows_written == len(arrived_at_s)
        assert seen[component]["rows_completed"] == summary.rows_written
        assert seen[component]["pending"] == 0
    assert seen["passes"]["rows_out"] in (None, len(consumer.visible_at_s))
    check_conserved(tmp_path / "run")


def check_conserved(run_path: Path) -> None:
    """arrived = completed + pending + dropped, of every component in every snapshot."""
    totals: dict[str, float] = {}
    snapshots = 0
    for _, snapshot in recorded(run_path):
        for target, seen in snapshot.components.items():
            assert seen.rows_completed is not None and seen.rows_dropped is not None
            if seen.rows_arrived is None:
                assert target.component not in totals, "only before the query has said what it reads"
                assert seen.rows_pending is None and seen.rows_completed == 0
                continue
            more = seen.rows_arrived - seen.rows_completed - seen.rows_dropped
            totals[target.component] = totals.get(target.component, 0.0) + more
            assert totals[target.component] == seen.rows_pending
            snapshots += 1
    assert snapshots > 10
