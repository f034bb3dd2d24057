"""Parked work: two cores act as many slots, one instance can be slow, and whoever reads the figures is told."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest

from tests.spark.finite import write_input
from tests.spark.harness import JOBS, Fact, Running, run
from tests.spark.oracle import as_counter, committed

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

FILES, ROWS = 8, 50
MICROS = 10000.0
FILE_S = ROWS * MICROS / 1e6  # a little more where a file has duplicates
PARKED = ("wide", "narrow", "uneven")
SLOW = 3.0
NARROW = "version: 1\nqueries:\n  narrow:\n    policy: {name: static, parallelism: 2}\n"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Running:
    """`narrow` runs as two instances as soon as the regulator has seen it; the others as wide as they can."""
    folder = tmp_path_factory.mktemp("parked")
    rows = write_input(folder / "in", files=FILES * 4 - 1, rows=ROWS)
    (folder / "narrow.yaml").write_text(NARROW)
    job: list[str | Path] = [JOBS / "declared_parked.py", folder, str(MICROS), str(SLOW)]
    with run(folder / "run", ["--config", folder / "narrow.yaml"], *job) as running:
        running.finish()
    wanted = as_counter([{"id": row["id"], "value": row["value"]} for row in rows])
    for name in PARKED:
        assert as_counter(committed(folder / "out" / name)) == wanted, "sleep must not change a row"
    return running


def batches_of(job: Running, name: str, instances: int) -> list[Fact]:
    """Without the last, which has the row that closes."""
    full = [b for b in job.batches_of(name)[:-1] if b["stages"]]
    found = [b for b in full if len(useful_s(b)) == instances]
    assert found, f"{name} was to run as {instances}: {[len(useful_s(b)) for b in full]}"
    return found


def useful_s(batch: Fact) -> list[float]:
    """Of each instance, in the stage that reads the files."""
    stage = next(s for s in batch["stages"] if s["stage"].startswith("source"))
    by_instance = dict.fromkeys(stage["instance"], 0.0)
    for instance, wall_ns in zip(stage["instance"], stage["wall_ns"], strict=True):
        by_instance[instance] += wall_ns / 1e9
    return [by_instance[i] for i in sorted(by_instance)]


def cpu_s(batch: Fact) -> float:
    return float(sum(ns for s in batch["stages"] for ns in s["cpu_ns"]) / 1e9)


def test_two_cores_act_as_eight_slots(job: Running) -> None:
    """The quickest batch of each: on a busy machine a task waits for a core too, and that is no sleep."""
    wide, narrow = batches_of(job, "wide", 8), batches_of(job, "narrow", 2)
    longest_s = [min(max(useful_s(b)) for b in some) for some in (wide, narrow)]
    assert 2 < longest_s[1] / longest_s[0] < 5, "four times the instances take about a quarter of the time"
    assert min(sum(useful_s(b)) for b in wide + narrow) > 0.9 * FILES * FILE_S, "the debt is settled in its own batch"
    assert min(cpu_s(b) / sum(useful_s(b)) for b in wide + narrow) < 0.2, "it is sleep, not work"


def test_one_instance_can_be_slow(job: Running) -> None:
    uneven = [useful_s(b) for b in batches_of(job, "uneven", 8)]
    assert all(each[1] > 0.9 * SLOW * FILE_S for each in uneven)
    quickest = min(uneven, key=sum)
    assert quickest[1] > SLOW / 2 * median(quickest), quickest


def test_reports_say_that_work_is_parked(job: Running) -> None:
    queries = {f["query"] for f in job.facts("query-started") if f["name"] in PARKED}
    assert sorted(f["query"] for f in job.facts("parked")) == sorted(queries), "told once each, and of no other query"
    components = json.loads((job.out / "summary.json").read_text())["components"]
    assert {name: c["parked"] for name, c in components.items()} == {"plain": False, **dict.fromkeys(PARKED, True)}
    assert "wide: some of its work is parked" in (job.out / "report.html").read_text()
