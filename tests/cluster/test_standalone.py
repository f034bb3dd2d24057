"""A standalone cluster: executors found, a query rescaled, its instances placed on the executors that are named."""

from __future__ import annotations

import json
import re
import signal
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.changes import Change, Part, Place, Rescale, Status, Target
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.engine import SparkEngine
from penstock.ids import ChangeId, ComponentId, ContainerId, TopologyId
from tests.cluster.standalone import free_port, standalone
from tests.spark.harness import JOBS
from tests.spark.launched import Launched, all_gone, run, runs_as

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

EXECUTORS = 3
COUNTS = Target(TopologyId("words"), ComponentId("counts"))


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone(tmp_path_factory.mktemp("cluster"), cores=EXECUTORS) as address:
        yield address


@dataclass(frozen=True, slots=True)
class Spark:
    """Spark's own account of where tasks ran, from its REST interface."""

    api: str

    @classmethod
    def of(cls, ui_port: int) -> Spark:
        api = f"http://127.0.0.1:{ui_port}/api/v1/applications"
        return cls(f"{api}/{_get(api)[0]['id']}")

    def places(self, since_batch: int) -> list[dict[int, str]]:
        """Of each stage that ran in such a batch: task -> executor."""
        stages = [s for s in _get(f"{self.api}/stages?status=complete") if batch_of(s) >= since_batch]
        tasks = [_get(f"{self.api}/stages/{s['stageId']}/{s['attemptId']}/taskList?length=100") for s in stages]
        return [{t["index"]: t["executorId"] for t in found if t["status"] == "SUCCESS"} for found in tasks]


def batch_of(stage: dict[str, Any]) -> int:
    found = re.search(r"batch = (\d+)", stage.get("description", ""))
    return int(found[1]) if found else -1


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def submitted(master: str, ui_port: int) -> list[str | Path]:
    """The context does not come up before its executors: they are there before the agent can listen."""
    conf = {
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.cores.max": str(EXECUTORS),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.port": str(ui_port),
    }
    options = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    return ["--", "spark-submit", "--master", master, *options, JOBS / "small_words.py"]


def apply(engine: SparkEngine, part: Part) -> None:
    engine.observe()
    receipt = engine.apply(Change(ChangeId(str(part)), (part,), "the test asks", "tester"))
    assert receipt.status is Status.TAKEN, receipt.reason


def placed(job: Launched, executors: list[str]) -> bool:
    return [f["plan"]["executors"] for f in job.facts("plan-in-force")][-1:] == [executors]


def test_executors_are_found_and_instances_run_where_they_are_placed(master: str, tmp_path: Path) -> None:
    ui_port = free_port()
    with run(tmp_path / "run", [], *submitted(master, ui_port)) as job:
        job.until(lambda r: len(r.batches_of("counts")) >= 1)
        narrowing = SparkEngine(Agent.in_directory(job.out))
        apply(narrowing, Rescale(COUNTS, 2))
        narrowing.release()
        job.until(lambda r: runs_as(r, "counts", 2))
        agent, spark = Agent.in_directory(job.out), Spark.of(ui_port)
        added = {f["executor"]: f["slots"] for f in job.facts("executor-added")}
        assert added == dict.fromkeys(("0", "1", "2"), 1)
        for executors in (["2", "0"], ["1", "2"]):
            engine = SparkEngine(agent)
            apply(engine, Place(COUNTS, tuple(map(ContainerId, executors))))
            check_places(job, spark, executors)
            engine.release()
        family = job.family()
        assert job.end(signal.SIGTERM) == 0
        assert all_gone(family) == []


def check_places(job: Launched, spark: Spark, executors: list[str]) -> None:
    job.until(lambda r: placed(job, executors))
    first = job.facts("plan-in-force")[-1]["batch"]
    job.until(lambda r: len(spark.places(first)) >= 6)
    for where in spark.places(first):
        assert where == dict(enumerate(executors)), "a task ran elsewhere"
