"""Output equals a batch computation of the same input, to the row, while queries are rescaled and drivers killed."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.spark.finite import write_input
from tests.spark.harness import JOBS, Running, await_condition, committed_batch, plain, run
from tests.spark.oracle import ORACLES, Row, as_counter, put_out

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

CHAOS = """\
version: 1
queries:
  "*":
    policy: {name: chaos, every_batches: 1}
"""

# Every kind once; the stores are dealt out within each group, so that each of them meets stateful kinds of every sort.
GROUPS = {
    "stateless, aggregations": ("mixed", ["stateless", "adaptive", "aggregation", "actions", "ordered", "union"]),
    "event time": ("mixed", ["windowed", "several", "dedupe", "sessions"]),
    "joins": ("mixed", ["inner", "outer"]),
    "python state": ("rocksdb", ["pandas_state", "timers"]),
}
LEAST_CHANGES = 3
KILLS = 5


def check_exact(folder: Path, kinds: Sequence[str], rows: list[Row]) -> None:
    for kind in kinds:
        wanted, got = as_counter(ORACLES[kind](rows)), as_counter(put_out(kind, folder / "out" / kind))
        assert got == wanted, (
            f"{kind}: missing {list((wanted - got).items())[:3]}, too many {list((got - wanted).items())[:3]}"
        )


def under_way(kinds: Sequence[str], batches: int, changes: int = 1) -> Callable[[Running], bool]:
    return lambda job: all(len(job.batches_of(k)) >= batches and job.changes_of(k) >= changes for k in kinds)


@pytest.mark.parametrize("group", GROUPS)
def test_output_equals_batch_under_chaos_and_a_killed_driver(group: str, tmp_path: Path) -> None:
    store, kinds = GROUPS[group]
    rows = write_input(tmp_path / "in", files=27, rows=60)
    (tmp_path / "chaos.yaml").write_text(CHAOS)
    options: list[str | Path] = ["--config", tmp_path / "chaos.yaml", "--seed", "7"]
    job: list[str | Path] = [JOBS / "kinds.py", tmp_path, store, *kinds]
    with run(tmp_path / "killed", options, *job) as first:
        first.until(under_way(kinds, batches=2))
        assert not first.facts("query-ended"), "killed too late to show anything"
        first.kill_driver()
    with run(tmp_path / "finished", options, *job) as second:
        second.finish()
    check_exact(tmp_path, kinds, rows)
    for kind in kinds:
        assert first.changes_of(kind) + second.changes_of(kind) >= LEAST_CHANGES, kind
        assert not [f for f in second.facts("unregulated") if f["query"]], "a query was left alone"


def test_a_query_goes_from_plain_spark_to_penstock_and_back(tmp_path: Path) -> None:
    kinds = ["aggregation", "outer", "dedupe"]
    rows = write_input(tmp_path / "in", files=36, rows=40)
    (tmp_path / "chaos.yaml").write_text(CHAOS)
    job: list[str | Path] = [JOBS / "kinds.py", tmp_path, "mixed", *kinds]
    checkpoints = [tmp_path / "checkpoint" / kind for kind in kinds]
    with plain(*job) as process:
        await_condition(lambda: all(committed_batch(c) >= 1 for c in checkpoints), process)
    begun = min(committed_batch(c) for c in checkpoints)
    with run(tmp_path / "under", ["--config", tmp_path / "chaos.yaml"], *job) as under:
        under.until(lambda r: all(r.changes_of(kind) >= 2 for kind in kinds))
        under.kill_driver()
    assert min(committed_batch(c) for c in checkpoints) > begun
    with plain(*job) as process:
        assert process.wait(timeout=300) == 0
    check_exact(tmp_path, kinds, rows)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("store", ["default", "rocksdb"])
@pytest.mark.parametrize("group", GROUPS)
def test_the_full_matrix(group: str, store: str, tmp_path: Path) -> None:
    """20 changes and 5 kills of every kind on every store; PENSTOCK_FUZZ_SEED gives other inputs, changes and kills."""
    kinds = GROUPS[group][1]
    rng = random.Random(int(os.environ.get("PENSTOCK_FUZZ_SEED", "0")))
    rows = write_input(tmp_path / "in", files=180, rows=30, seed=rng.randrange(1000))
    (tmp_path / "chaos.yaml").write_text(CHAOS)
    options: list[str | Path] = ["--config", tmp_path / "chaos.yaml", "--seed", str(rng.randrange(1000))]
    job: list[str | Path] = [JOBS / "kinds.py", tmp_path, store, *kinds]
    changes: Counter[str] = Counter()
    for kill in range(KILLS):
        with run(tmp_path / f"killed-{kill}", options, *job) as killed:
            killed.until(under_way(kinds, batches=rng.randrange(4, 8), changes=3))
            assert not killed.facts("query-ended"), f"killed too late to show anything, the {kill + 1}th time"
            killed.kill_driver()
        changes.update({kind: killed.changes_of(kind) for kind in kinds})
    with run(tmp_path / "finished", options, *job) as last:
        last.finish(timeout_s=1800)
    changes.update({kind: last.changes_of(kind) for kind in kinds})
    assert min(changes[kind] for kind in kinds) >= 20, changes
    check_exact(tmp_path, kinds, rows)
