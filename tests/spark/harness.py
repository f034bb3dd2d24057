"""Runs jobs as a user would, with and without Penstock, and reads what the runs recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JOBS = Path(__file__).resolve().parent.parent / "jobs"
LOOK_S = 0.2
PLAIN = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

Fact = dict[str, Any]


@dataclass(slots=True)
class Running:
    process: subprocess.Popen[str]
    out: Path

    def facts(self, kind: str | None = None) -> list[Fact]:
        file = self.out / "facts.jsonl"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        found = [json.loads(line) for line in lines if line.endswith("\n")]
        return [f for f in found if "fact" in f and kind in (None, f["fact"])]

    def until(self, condition: Callable[[Running], bool], timeout_s: float = 180) -> None:
        """Looks again and again; a job that ends, or takes too long, fails the test with its output."""
        for _ in range(int(timeout_s / LOOK_S)):
            if condition(self):
                return
            if ended(self.process, LOOK_S):
                break
        if not condition(self):
            raise AssertionError(f"it never came to that; exit {self.process.poll()}\n{self.log()}")

    def log(self) -> str:
        file = self.out / "job.log"
        return file.read_text()[-4000:] if file.exists() else "no output"

    @property
    def driver_pid(self) -> int:
        return int(self.facts("driver")[-1]["pid"])

    def kill_driver(self) -> None:
        os.kill(self.driver_pid, signal.SIGKILL)
        self.process.wait(timeout=60)

    def finish(self, timeout_s: float = 300) -> int:
        code = self.process.wait(timeout=timeout_s)
        assert code == 0, f"exit {code}\n{self.log()}"
        return code

    def changes_of(self, query: str) -> int:
        ids = {f["query"] for f in self.facts("query-started") if f["name"] == query}
        return sum(f["query"] in ids for f in self.facts("plan-in-force"))

    def batches_of(self, query: str) -> list[Fact]:
        return [f for f in self.facts("progress") if f["name"] == query]


def ended(process: subprocess.Popen[str], wait_s: float) -> bool:
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def penstock(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "penstock.cli.main", *map(str, words)]


@contextmanager
def run(out: Path, options: Sequence[str | Path], *job: str | Path) -> Iterator[Running]:
    """`penstock run`, ended with the block whatever happens in it."""
    command = penstock("run", "--out", out, "--quiet", *options, *job)
    with (out.parent / f"{out.name}.log").open("w") as log:
        process = subprocess.Popen(
            command, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}, stdout=log, stderr=log, text=True
        )
        try:
            yield Running(process, out)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(timeout=90)


@contextmanager
def plain(*job: str | Path) -> Iterator[subprocess.Popen[str]]:
    """The same job on plain Spark, in a process group of its own."""
    process = subprocess.Popen(
        [sys.executable, *map(str, job)],
        env=PLAIN,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=60)


def committed_batch(checkpoint: Path) -> int:
    """The last batch that a query committed; -1 where there is none."""
    return max((int(f.name) for f in (checkpoint / "commits").glob("[0-9]*")), default=-1)


def await_condition(condition: Callable[[], bool], process: subprocess.Popen[str], timeout_s: float = 180) -> None:
    for _ in range(int(timeout_s / LOOK_S)):
        if condition():
            return
        assert process.poll() is None, f"the job ended with {process.returncode}"
        threading.Event().wait(LOOK_S)
    raise AssertionError("it never came to that")
