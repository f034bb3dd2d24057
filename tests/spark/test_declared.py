"""Declared topologies over files: equal to a batch computation, to the row, while rescaled and their driver killed."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from penstock.engines.spark import declared
from penstock.engines.spark.application import read_application
from penstock.engines.spark.cleaning import Cleaner
from penstock.errors import InvalidInput
from penstock.ids import ComponentId
from tests.spark.finite import write_input
from tests.spark.harness import JOBS, Running, penstock, run
from tests.spark.oracle import Row, aggregation, as_counter, batches, committed, inner, newest, stateless

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHAOS = """\
version: 1
queries:
  "*":
    policy: {name: chaos, every_batches: 1}
"""

TOP = """\
work: work
spark: {spark.ui.enabled: false, spark.master: "local[4]"}
"""
ROWS = """{format: parquet, path: in, maxFilesPerTrigger: 3, schema: "id long, key string, value long, ts timestamp"}"""

TWO = f"""\
topology: two
{TOP}
components:
  kept:
    function: declared_parts:kept
    source: {ROWS}
    max_parallelism: 3
    stream: {{kind: files, files_a_batch: 4}}
  counted:
    function: declared_parts:counted
    inputs: [{{from: kept, grouping: key, key: key}}]
    substreams: 4
    parallelism: 2
    sink: {{foreach_batch: "declared_parts:write", outputMode: update}}
"""

DIAMOND = f"""\
topology: diamond
{TOP}
components:
  rows:
    source: {ROWS}
  evens:
    function: declared_parts:evens
    inputs: [rows]
  fifths:
    function: declared_parts:fifths
    inputs: [rows]
  near:
    function: declared_parts:near
    inputs: [evens, fifths]
    substreams: 4
    max_parallelism: 4
    sink: {{format: parquet, path: out}}
"""


def prepare(folder: Path, topology: str, monkeypatch: pytest.MonkeyPatch, files: int) -> list[Row]:
    """The functions lie beside the topology file, as they would for a user."""
    (folder / "topology.yaml").write_text(topology)
    (folder / "chaos.yaml").write_text(CHAOS)
    (folder / "declared_parts.py").write_text((JOBS / "declared_parts.py").read_text())
    monkeypatch.setenv("TEST_OUT", str(folder / "out"))
    return write_input(folder / "in", files=files, rows=60)


def killed_and_finished(folder: Path, components: list[str], finished: int) -> tuple[Running, Running]:
    """Under chaos: killed once in the middle, then run until the last component has put out what it must."""
    options: list[str | Path] = ["--config", folder / "chaos.yaml", "--seed", "3"]
    last = components[-1]
    with run(folder / "killed", options, folder / "topology.yaml") as first:
        first.until(lambda r: len(r.batches_of(last)) >= 3 and all(r.changes_of(c) for c in components))
        assert not first.facts("query-ended"), "killed too late to show anything"
        first.kill_driver()
    clean(folder, components)
    with run(folder / "finished", options, folder / "topology.yaml") as second:
        second.until(lambda r: rows_out(folder) >= finished)
    return first, second


class LocalPlace:
    """The test's own look at the same files."""

    def names(self, folder: str) -> list[str]:
        return [f.name for f in Path(folder).glob("*")]

    def lines(self, file: str) -> list[str]:
        return Path(file).read_text().splitlines()

    def delete(self, file: str) -> None:
        Path(file.removeprefix("file:")).unlink()

    def qualified(self, name: str) -> str:
        return f"file:{name}"


def clean(folder: Path, components: list[str]) -> None:
    """Behind the readers, at the worst time: the driver was killed, and will look at its last batches again."""
    topology = read_application(folder / "topology.yaml").declared.topology
    for component in components:
        readers = [f"{folder}/work/checkpoints/{c}" for c in topology.children(ComponentId(component))]
        if readers:
            Cleaner.of(LocalPlace(), f"{folder}/work/streams/{component}", readers).clean()


def rows_out(folder: Path) -> int:
    out = folder / "out"
    if (out / "_spark_metadata").exists():
        return len(committed(out))
    return int(sum(row["n"] for row in newest(batches(out), lambda r: r["key"]))) if out.exists() else 0


def test_two_components_equal_batch_under_chaos_and_a_killed_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [row for row in prepare(tmp_path, TWO, monkeypatch, files=18) if row["value"] % 3]
    jobs = killed_and_finished(tmp_path, ["kept", "counted"], finished=len(wanted))
    got = newest(batches(tmp_path / "out"), lambda r: r["key"])
    assert as_counter(got) == as_counter(aggregation(wanted))
    assert len(wanted) == len(stateless(wanted))
    stream = tmp_path / "work" / "streams" / "kept"
    named = {row for log in (stream / "_spark_metadata").glob("[0-9]*") for row in log.read_text().splitlines()[1:]}
    assert 0 < len(list(stream.glob("*.parquet"))) < len(named), "what its reader has taken for good is gone"
    assert sum(job.changes_of("counted") for job in jobs) >= 3
    assert {f["plan"]["parallelism"] for f in jobs[0].facts("plan-in-force") if f["batch"] == 0} >= {1, 2}


def test_a_diamond_equals_batch_under_chaos_and_a_killed_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = inner(prepare(tmp_path, DIAMOND, monkeypatch, files=15))
    jobs = killed_and_finished(tmp_path, ["rows", "evens", "fifths", "near"], finished=len(wanted))
    assert as_counter(committed(tmp_path / "out")) == as_counter(wanted)
    assert sum(job.changes_of("near") for job in jobs) >= 2


@pytest.mark.parametrize(("example", "last"), [("word_count", "count"), ("diamond", "pairs")])
def test_an_example_runs_from_its_first_component_to_its_last(example: str, last: str, tmp_path: Path) -> None:
    topology: list[str | Path] = [EXAMPLES / example / "topology.yaml", "--work", tmp_path / "work"]
    with run(tmp_path / "run", ["--policy", "chaos"], *topology) as job:
        job.until(lambda r: any(f["progress"]["numInputRows"] for f in r.batches_of(last)))
    told = json.loads((tmp_path / "run" / "summary.json").read_text())
    declared_there = read_application(EXAMPLES / example / "topology.yaml").declared.topology
    assert set(told["components"]) == {c.id for c in declared_there.components}
    assert all(component["rows_completed"] for component in told["components"].values())


def line_of(function: str) -> int:
    lines = (JOBS / "declared_parts.py").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.startswith(f"def {function}("))


WRONG = {
    "declared_parts:counte": "declared_parts has no function 'counte': did you mean 'counted'?",
    "declared_part:counted": "there is no module 'declared_part': did you mean 'declared_parts'?",
    "declared_parts:near": f"near(left, right) (declared_parts.py:{line_of('near')}) does not take 1 input",
    "broken:counted": "broken cannot be imported: broken.py:2: NameError: name 'undefined' is not defined",
    "unclosed:counted": "unclosed cannot be imported: unclosed.py:1: '(' was never closed",
}


@pytest.mark.parametrize("function", WRONG)
def test_a_function_that_cannot_be_used_is_one_sentence_with_its_line(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, TWO.replace("declared_parts:counted", function), monkeypatch, files=1)
    (tmp_path / "broken.py").write_text("import json\nundefined\n")
    (tmp_path / "unclosed.py").write_text("print(\n")
    words = declared.command([str(tmp_path / "topology.yaml")])
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    line = TWO.splitlines().index("    function: declared_parts:counted") + 1
    assert done.stderr == f"penstock: {tmp_path / 'topology.yaml'}:{line}: {WRONG[function]}\n"
    assert done.returncode == 2


def test_a_function_that_gives_back_no_frame_ends_the_run_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, TWO.replace("declared_parts:counted", "declared_parts:nothing"), monkeypatch, files=1)
    words = penstock("run", "--quiet", "--json", "--out", tmp_path / "run", tmp_path / "topology.yaml")
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    line = TWO.splitlines().index("    function: declared_parts:counted") + 1
    place = f"declared_parts:nothing (declared_parts.py:{line_of('nothing')})"
    assert f"topology.yaml:{line}: {place} gives back list, not a DataFrame" in done.stderr
    assert done.returncode == 2
    assert json.loads(done.stdout.splitlines()[-1])["exit"] == 2


def test_every_problem_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    text = DIAMOND.replace("inputs: [evens, fifths]", "inputs: [{from: evens, grouping: all}, fifths]")
    text = text.replace("  evens:\n", "  evens:\n    stream: kafka\n    sink: {path: out}\n", 1)
    (tmp_path / "topology.yaml").write_text(text.replace("    function: declared_parts:near\n", ""))
    with pytest.raises(InvalidInput) as told:
        read_application(tmp_path / "topology.yaml")
    found = "\n".join(told.value.problems)
    assert "sink does not say 'format'" in found
    assert "component 'evens' has a sink, and 'near' reads it" in found
    assert "component 'near' has several inputs, and no function" in found
    assert "component 'near' asks for grouping 'all', which Spark does not have" in found


def spark_log(folder: Path, entries: dict[int, dict[str, object]]) -> None:
    folder.mkdir(parents=True)
    for batch, entry in entries.items():
        (folder / str(batch)).write_text(f"v1\n{json.dumps(entry)}")


def reader_log(checkpoint: Path, stream: Path, batches: int) -> str:
    """As a query leaves it that has taken one file in each of so many batches."""
    taken = {b: {"path": f"file://{stream}/{b}.parquet", "timestamp": b * 1000, "batchId": b} for b in range(batches)}
    spark_log(checkpoint / "sources" / "0", {b: dict(entry) for b, entry in taken.items()})
    for kind in ("commits", "offsets"):
        (checkpoint / kind).mkdir()
    for batch in range(batches):
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")
        (checkpoint / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"logOffset":{batch}}}')
    return str(checkpoint)


def test_a_file_goes_when_the_latest_reader_has_taken_it_for_good(tmp_path: Path) -> None:
    stream = tmp_path / "streams" / "a"
    written = {b: {"path": f"file://{stream}/{b}.parquet", "modificationTime": b * 1000} for b in range(6)}
    spark_log(stream / "_spark_metadata", {b: dict(entry) for b, entry in written.items()})
    for batch in written:
        (stream / f"{batch}.parquet").touch()
    readers = [reader_log(tmp_path / name, stream, batches) for name, batches in (("early", 6), ("late", 4))]
    cleaner = Cleaner.of(LocalPlace(), str(stream), readers)
    assert cleaner.clean() == 3, "the late one has committed 0 to 3, and looks at 3 again when it starts"
    assert sorted(f.name for f in stream.glob("*.parquet")) == ["3.parquet", "4.parquet", "5.parquet"]
    assert cleaner.clean() == 0
    assert cleaner.lateness_s() == pytest.approx(time.time() - 3, abs=5), "file 4 is younger than file 3"
    assert Cleaner.of(LocalPlace(), str(stream), readers).clean() == 0, "what an earlier run has cleaned is not missed"
    punctual = Cleaner.of(LocalPlace(), str(stream), readers[:1])
    punctual.look()
    assert punctual.lateness_s() == 0
