"""The examples inside the pyspark package run unchanged: discovered, measured, rescaled."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from penstock.workloads.content import Lines
from penstock.workloads.generator import Generator, Plan
from penstock.workloads.keys import Zipf
from penstock.workloads.shape import constant
from penstock.workloads.socket_writer import SocketWriter
from tests.spark.harness import Fact, Running, run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

EXAMPLES = Path(pyspark.__file__).parent / "examples/src/main/python/sql/streaming"
SUBMIT = ["--", "spark-submit", "--master", "local[4]", "--conf", "spark.sql.shuffle.partitions=4"]
JOBS: dict[str, tuple[str, ...]] = {
    "structured_network_wordcount.py": (),
    "structured_network_wordcount_windowed.py": ("10", "5"),
    "structured_network_wordcount_session_window.py": (),
}


def narrowed(parallelism: int) -> str:
    return f"version: 1\nqueries:\n  '*':\n    policy: {{name: static, parallelism: {parallelism}}}\n"


@pytest.mark.parametrize("example", JOBS)
def test_an_example_runs_unchanged_and_is_rescaled(example: str, tmp_path: Path) -> None:
    plan = Plan(constant(200.0), Lines(Zipf(100, 1.0), words_per_line=5))
    (tmp_path / "narrow.yaml").write_text(narrowed(2))
    options: list[str | Path] = ["--config", tmp_path / "narrow.yaml"]
    writer = SocketWriter(0, "text")
    with Generator(plan, writer):
        job: list[str | Path] = [*SUBMIT, EXAMPLES / example, "127.0.0.1", str(writer.port), *JOBS[example]]
        with run(tmp_path / "run", options, *job) as running:
            running.until(lambda r: any(instances(f) == 2 for f in stateful(r)))
    assert all(f["name"] is None for f in running.facts("query-started")), "most queries have no name"
    assert not running.facts("unregulated")


def test_an_example_that_spark_itself_refuses_ends_as_it_would(tmp_path: Path) -> None:
    """Session windows in update mode are not supported by Spark 4.3: it dies at its start, under Penstock too."""
    with run(tmp_path / "run", [], *SUBMIT, EXAMPLES / "structured_sessionization.py", "127.0.0.1", "9") as running:
        assert running.process.wait(timeout=120) == 1
    assert "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION" in running.log()
    assert "never started a streaming query" in (tmp_path / "run.log").read_text()


def stateful(running: Running) -> list[Fact]:
    return [s for f in running.facts("progress") for s in f["stages"] if s["stateful"]]


def instances(stage: Fact) -> int:
    return len(set(stage["instance"]))
