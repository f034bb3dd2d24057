"""Makes `chain.jsonl` again: `python -m tests.recordings.record` (a minute; Spark 4.3, Java 17).

Facts of a real run of `tests/jobs/small_chain.py`, as `penstock run` keeps them: a rate source -> Parquet files -> a
count without a name, which is rescaled from 4 to 2 instances once three of its batches have had rows, and runs for
three more. Paths are made the same everywhere: /recorded.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path

from penstock.changes import Change, Rescale, Status, Target
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.engine import SparkEngine
from penstock.ids import ChangeId, ComponentId, TopologyId
from tests.spark.harness import JOBS, Fact
from tests.spark.launched import Launched, run

HERE = Path(__file__).resolve().parent
COUNTS = Target(TopologyId("chain"), ComponentId("query-1"))


def counted(job: Launched) -> list[Fact]:
    return [f for f in job.facts("progress") if f["name"] is None and f["stages"]]


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "lines").mkdir()
    with run(folder / "run", [], JOBS / "small_chain.py", folder) as job:
        job.until(lambda r: len(counted(job)) >= 3)
        engine = SparkEngine(Agent.in_directory(job.out))
        engine.observe()
        change = Change(ChangeId("narrower"), (Rescale(COUNTS, 2),), "for the recording", "record.py")
        assert engine.apply(change).status is Status.TAKEN
        job.until(lambda r: bool(r.facts("plan-in-force")))
        first = job.facts("plan-in-force")[0]["batch"]
        job.until(lambda r: sum(f["batch"] >= first for f in counted(job)) >= 3)
        job.end(signal.SIGTERM)
    facts = (folder / "run" / "facts.jsonl").read_text()
    (HERE / "chain.jsonl").write_text(facts.replace(str(folder), "/recorded"))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
