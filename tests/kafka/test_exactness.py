"""Over a real broker: equal to a batch computation, to the row, while rescaled and the driver killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from penstock.engines.spark.recording import recorded
from tests.kafka.topics import end_offsets, make_topic, read_all, write, write_rows
from tests.spark.harness import JOBS, Running, committed_batch, run
from tests.spark.oracle import Row, aggregation, as_counter, batches, committed, newest

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

EXAMPLE = Path(pyspark.__file__).parent / "examples/src/main/python/sql/streaming/structured_kafka_wordcount.py"
CHAOS = """\
version: 1
queries:
  "*":
    policy: {name: chaos, every_batches: 1}
"""
TWO = """\
topology: over-kafka
work: work
spark: {{spark.ui.enabled: false, spark.master: "local[4]", spark.jars: "{jars}"}}
kafka: {{servers: "{servers}"}}
components:
  told:
    function: declared_parts:told
    source:
      format: kafka
      kafka.bootstrap.servers: "{servers}"
      subscribe: rows
      startingOffsets: earliest
      maxOffsetsPerTrigger: 150
    max_parallelism: 3
    stream: {{kind: kafka, topic: passed-on, partitions: 3, rows_a_batch: 200}}
  once:
    function: declared_parts:once
    inputs: [{{from: told, grouping: key, key: key}}]
    substreams: 4
    parallelism: 2
    sink: {{format: parquet, path: out}}
"""


def options(folder: Path) -> list[str | Path]:
    (folder / "chaos.yaml").write_text(CHAOS)
    return ["--config", folder / "chaos.yaml", "--seed", "5"]


def committed_offsets(checkpoint: Path) -> int:
    offsets = (checkpoint / "offsets" / str(committed_batch(checkpoint))).read_text().splitlines()[-1]
    return sum(sum(partitions.values()) for partitions in json.loads(offsets).values())


def check_conserved(job: Running, arrived: int) -> None:
    """arrived = completed + pending + dropped in every snapshot, and in the end arrived is what the broker says."""
    told = completed = dropped = 0.0
    for _, snapshot in recorded(job.out):
        for seen in snapshot.components.values():
            told += seen.rows_arrived or 0
            completed += seen.rows_completed or 0
            dropped += seen.rows_dropped or 0
            assert seen.rows_pending is not None or not completed, "unknown until Spark has told of a batch"
            assert told == completed + (seen.rows_pending or 0) + dropped
    assert told == completed + dropped == arrived


def test_an_ordinary_job_is_exact_and_conserves_rows_under_chaos_and_a_killed_driver(
    servers: str, connector: str, tmp_path: Path
) -> None:
    make_topic(servers, "counted", partitions=3)
    rows = write_rows(servers, "counted", rows=1200)
    job: list[str | Path] = [Path(__file__).parent / "counts_job.py", tmp_path, servers, "counted", connector]
    with run(tmp_path / "killed", options(tmp_path), *job) as first:
        first.until(lambda r: len(r.batches_of("counts")) >= 3 and r.changes_of("counts") >= 1)
        first.kill_driver()
    taken = committed_offsets(tmp_path / "checkpoint")
    assert 0 < taken < end_offsets(servers, "counted"), "killed too late to show anything"
    with run(tmp_path / "finished", options(tmp_path), *job) as second:
        second.finish()
    got = newest(batches(tmp_path / "out"), lambda r: r["key"])
    assert as_counter(got) == as_counter(aggregation(rows))
    assert first.changes_of("counts") + second.changes_of("counts") >= 3
    check_conserved(second, arrived=end_offsets(servers, "counted") - taken)


def test_two_components_over_kafka_under_chaos_and_a_killed_driver(
    servers: str, connector: str, tmp_path: Path
) -> None:
    """A row is sent at least once, as Spark's connector guarantees; a reader that drops the second is exact."""
    make_topic(servers, "rows", partitions=3)
    wanted = [through(row) for row in write_rows(servers, "rows", rows=1200) if row["value"] % 3]
    (tmp_path / "topology.yaml").write_text(TWO.format(servers=servers, jars=connector))
    (tmp_path / "declared_parts.py").write_text((JOBS / "declared_parts.py").read_text())
    job: list[str | Path] = [tmp_path / "topology.yaml"]
    with run(tmp_path / "killed", options(tmp_path), *job) as first:
        first.until(lambda r: len(r.batches_of("once")) >= 2 and r.changes_of("told") >= 1)
        assert not first.facts("query-ended"), "killed too late to show anything"
        first.kill_driver()
    with run(tmp_path / "finished", options(tmp_path), *job) as second:
        second.until(lambda r: len(committed(tmp_path / "out")) >= len(wanted))
    assert as_counter(committed(tmp_path / "out")) == as_counter(wanted)
    sent = {row["copy"] for row in read_all(servers, "passed-on")}
    assert sent == {row["copy"] for row in wanted}
    assert all(first.changes_of(c) + second.changes_of(c) >= 2 for c in ("told", "once"))


def test_sparks_own_example_runs_unchanged_and_is_rescaled(servers: str, connector: str, tmp_path: Path) -> None:
    make_topic(servers, "lines", partitions=2)
    submit: list[str | Path] = ["spark-submit", "--master", "local[4]", "--jars", connector]
    settings = ["--conf", "spark.sql.shuffle.partitions=4", "--conf", "spark.ui.enabled=false"]
    with run(
        tmp_path / "run", options(tmp_path), "--", *submit, *settings, EXAMPLE, servers, "subscribe", "lines"
    ) as job:
        job.until(lambda r: bool(r.facts("progress")))  # it reads what comes from now on
        for i, words in enumerate(("a b", "a c", "a b", "d", "a"), 1):
            write(servers, "lines", [words] * 20)
            job.until(has_read(20 * i))
        assert len(job.facts("plan-in-force")) >= 2
        job.until(lambda r: console_counts(r) == {"a": 80, "b": 40, "c": 20, "d": 20})
        source = job.facts("progress")[-1]["progress"]["sources"][0]["description"]
    assert source == "KafkaV2[Subscribe[lines]]"
    assert not job.facts("unregulated")


def through(row: Row) -> Row:
    """As it comes out in the end, its time to the microsecond."""
    return {**{n: v for n, v in row.items() if n != "ts"}, "ts_us": round(row["ts"].timestamp() * 1e6)}


def has_read(rows: int) -> Callable[[Running], bool]:
    return lambda job: rows_read(job) == rows


def rows_read(job: Running) -> int:
    return sum(int(f["progress"]["numInputRows"]) for f in job.facts("progress"))


def console_counts(job: Running) -> dict[str, int]:
    """The last table that Spark's console sink wrote, among what else the driver says."""
    written = (job.out / "job.log").read_text().split("Batch:")[-1]
    cells = [line.strip("|").split("|") for line in written.splitlines() if line.startswith("|")]
    return {word.strip(): int(n) for word, n in cells if n.strip().isdecimal()}
