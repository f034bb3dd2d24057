"""Measured, allocated, applied live; what it was said to do, it does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.changes import Change, Rescale, Status
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.engine import SparkEngine
from penstock.engines.spark.recording import recorded
from penstock.ids import ChangeId
from penstock.workloads.content import Records
from penstock.workloads.generator import Generator, Plan
from penstock.workloads.keys import Uniform
from penstock.workloads.shape import constant
from penstock.workloads.writer import FileWriter
from tests.spark.harness import JOBS, Running, penstock, run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(500)]

RATE_ROWS_PER_S = 300.0  # a parked instance of `second` does 143 rows a second, one of `third` 222
QUERIES = ("first", "second", "third")


def completed_rows_per_s(run_path: Path, last_s: float) -> dict[str, float]:
    steps = [snapshot for _, snapshot in recorded(run_path)]
    kept = [s for s in steps if s.start_s >= steps[-1].end_s - last_s]
    span_s = sum(s.duration_s for s in kept)
    names = {t for s in kept for t in s.components}
    rows = {t.component: sum(s.components[t].rows_completed or 0 for s in kept if t in s.components) for t in names}
    return {name: completed / span_s for name, completed in rows.items()}


def pending(running: Running) -> dict[str, float]:
    last = [snapshot for _, snapshot in recorded(running.out)][-1]
    return {t.component: seen.rows_pending or 0.0 for t, seen in last.components.items()}


def scale_out(run_path: Path) -> dict[str, Any]:
    command = penstock(
        "scale-out", "--attach", run_path, "--watch", "30", "--resources", "9", "--margin", "0.35", "--apply", "--json"
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def narrow(run_path: Path) -> None:
    """By hand, as an operator would; whoever regulates after that finds the lease free."""
    engine = SparkEngine(Agent.in_directory(run_path))
    engine.observe()
    parts = tuple(Rescale(engine.ledger.target(q), 1) for q in engine.ledger.queries.values())
    receipt = engine.apply(Change(ChangeId("narrow"), parts, "to begin with", "the test"))
    assert receipt.status is Status.TAKEN, receipt.reason
    engine.release()


@contextmanager
def behind(tmp_path: Path) -> Iterator[tuple[Running, Generator]]:
    """Three queries of one instance each, under a load that the second cannot keep up with."""
    plan = Plan(constant(RATE_ROWS_PER_S), Records(Uniform(100), payload_bytes=8), duration_s=400)
    writer = FileWriter(tmp_path / "in", "parquet", "load")
    with run(tmp_path / "run", [], JOBS / "three.py", tmp_path) as job:
        job.until(lambda r: len(r.facts("query-started")) == 3)
        narrow(job.out)
        with Generator(plan, writer) as load:
            job.until(lambda r: all(r.changes_of(q) and len(r.batches_of(q)) >= 2 for q in QUERIES))
            yield job, load


def test_what_is_measured_is_allocated_and_applied_live(tmp_path: Path) -> None:
    with behind(tmp_path) as (job, _):
        answer = scale_out(job.out)
        wanted = 1 + answer["allocation"]["second"]
        assert wanted >= 3
        job.until(lambda r: {len(set(s["instance"])) for s in r.batches_of("second")[-1]["stages"]} >= {wanted})


@pytest.mark.long
def test_an_allocation_that_is_applied_gives_the_throughput_that_was_predicted(tmp_path: Path) -> None:
    """Minutes, and a machine with nothing else to do: the queries' overhead is part of what is predicted."""
    with behind(tmp_path) as (job, load):
        answer = scale_out(job.out)
        job.until(lambda r: max(pending(r).values()) < 1.5 * RATE_ROWS_PER_S, timeout_s=150)
        settled = len(job.batches_of("third"))
        job.until(lambda r: len(r.batches_of("third")) >= settled + 40)
        found = completed_rows_per_s(job.out, last_s=15)
        load.stop()
    assert found["third"] == pytest.approx(answer["throughput"], rel=0.05)
    for component in QUERIES:
        assert found[component] == pytest.approx(answer["per_component"][component]["processing_rate"], rel=0.10)
