"""penstock demo: a word count under a load that steps up and down, regulated live, and its report."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.cli import run as run_command
from penstock.run_directory import RunDirectory, home
from penstock.workloads.content import Batch, Lines
from penstock.workloads.generator import Generator, Plan
from penstock.workloads.generator_log import Summary
from penstock.workloads.jobs import word_count
from penstock.workloads.text_form import parse_keys, parse_shape
from penstock.workloads.writer import FileWriter

CALM, BUSY = 1_000, 50_000  # lines a second: more than one instance does on a small machine
BUSY_FROM_S, BUSY_UNTIL_S, LOAD_S = 20, 50, 65
JOB_S = 75  # the load begins with the job, which has so long to count the last lines
SCHEDULE = ((1, 1), (35, 8), (65, 2))  # at so many seconds, so many instances
OBJECTIVE = "p95 latency < 1s"


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "demo",
        help="a word count under a load step, and its report",
        description="Runs a word count on this machine for about a minute and a half, under a load that rises "
        f"from {CALM:,} to {BUSY:,} lines a second and falls again, rescales it while it runs, and makes the report.",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the run here (else under ~/.penstock/runs)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    kept = RunDirectory(arguments.out or home() / f"{stamp}-{os.getpid()}-demo")
    folder = Path(tempfile.mkdtemp(prefix="penstock-demo-"))
    try:
        print(_opening(), flush=True)
        writer = _WhenRead(FileWriter(folder / "input", "text", "demo"), folder / "checkpoint" / "metadata")
        with Generator(_plan(), writer) as load:
            code = run_command.run(_arguments(folder, kept.path))
        if code == 0:
            print(_closing(load.result(), kept))
        print(kept.report)
        return code
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _opening() -> str:
    turns = ", ".join(f"{n} at {at_s} s" for at_s, n in SCHEDULE)
    return (
        f"A word count on Spark, in this machine's local[8]: {word_count.__file__}\n"
        f"Its load: {CALM:,} lines a second, and {BUSY:,} from second {BUSY_FROM_S} to {BUSY_UNTIL_S}.\n"
        f"Its instances: {turns}; each time at the next micro-batch, without a restart.\n"
        f"It takes {JOB_S} seconds from when Spark is up."
    )


def _closing(load: Summary, kept: RunDirectory) -> str:
    counts = json.loads((kept.path / "summary.json").read_text(encoding="utf-8"))["components"].get("counts", {})
    counted = counts.get("rows_completed")
    lines = "unknown" if counted is None else f"{counted:,}"
    return f"{load.rows_written:,} lines were generated, {lines} were counted. The report, for any browser:"


def _plan() -> Plan:
    shape = parse_shape(f"steps {CALM}@0 {BUSY}@{BUSY_FROM_S} {CALM}@{BUSY_UNTIL_S}")
    return Plan(shape, Lines(parse_keys("zipf 1 over 10000")), duration_s=LOAD_S)


def _arguments(folder: Path, out: Path) -> argparse.Namespace:
    """As `penstock run` would read them."""
    schedule = folder / "schedule.yaml"
    turns = (f"- {{at_s: {at_s}, component: counts, parallelism: {n}}}\n" for at_s, n in SCHEDULE)
    schedule.write_text("".join(turns), encoding="utf-8")
    job = [
        word_count.__file__,
        str(folder / "input"),
        str(folder / "checkpoint"),
        "--sink",
        "noop",
        "--seconds",
        str(JOB_S),
    ]
    options = ["--schedule", str(schedule), "--objective", OBJECTIVE, "--out", str(out)]
    return _read([*options, *job])


def _read(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    run_command.add_parser(parser.add_subparsers())
    return parser.parse_args(["run", *words])


@dataclass(frozen=True, slots=True)
class _WhenRead:
    """Rows go to files from when the job's query has started: the load's clock and the query's begin together."""

    files: FileWriter
    started: Path

    def ready(self) -> bool:
        return self.started.exists()

    def prepare(self, sample: Batch) -> None:
        self.files.prepare(sample)

    def write(self, batch: Batch) -> None:
        self.files.write(batch)

    def close(self) -> None:
        self.files.close()
