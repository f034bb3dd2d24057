"""Commands as processes of their own, with all that they start known by pid: nothing may be left when they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.spark.harness import LOOK_S, Fact, Running, ended, penstock

ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
ENVIRONMENT["SPARK_LOCAL_IP"] = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Process:
    """A pid is used again one day: with the time of its start it is not."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        return (found := _stat(self.pid)) is not None and found[2] == self.started

    def end(self, how: signal.Signals) -> None:
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.pid, how)


@dataclass(slots=True)
class Launched(Running):
    """`out` is the run directory, where the command has one."""

    known: set[Process] = field(default_factory=set)

    @property
    def said(self) -> str:
        return Path(f"{self.out}.stdout").read_text()

    @property
    def complained(self) -> str:
        return Path(f"{self.out}.stderr").read_text()

    @property
    def last_object(self) -> dict[str, Any]:
        found = json.loads(self.said.splitlines()[-1])
        assert isinstance(found, dict)
        return found

    @property
    def job_log(self) -> str:
        file = self.out / "job.log"
        return file.read_text() if file.exists() else ""

    def family(self) -> set[Process]:
        """Itself, all that it started, and so on. Whoever was seen is ended with the test, orphan or not."""
        found = family_of(self.process.pid)
        self.known |= found
        return found

    def end(self, how: signal.Signals, timeout_s: float = 90) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout_s)

    def command_lines(self) -> str:
        return "\n".join(_read(p.pid, "cmdline").replace("\0", " ") for p in self.family())


@contextmanager
def launched(out: Path, words: list[str], environment: Mapping[str, str] = ENVIRONMENT) -> Iterator[Launched]:
    """Any command; ended with the block, and with it whatever it started, each by its pid."""
    with Path(f"{out}.stdout").open("wb") as said, Path(f"{out}.stderr").open("wb") as complained:
        process = subprocess.Popen(
            words, env=dict(environment), stdout=said, stderr=complained, text=True, start_new_session=True
        )
    command = Launched(process, out)
    try:
        yield command
    finally:
        command.family()
        if process.poll() is None:
            process.terminate()
            ended(process, 60)
        for left in command.known:
            left.end(signal.SIGKILL)
        process.wait(timeout=60)


@contextmanager
def run(
    out: Path, options: Iterable[str | Path], *job: str | Path, environment: Mapping[str, str] = ENVIRONMENT
) -> Iterator[Launched]:
    """`penstock run`, with its standard output and error apart."""
    with launched(out, penstock("run", "--out", out, "--quiet", *options, *job), environment) as command:
        yield command


def family_of(pid: int) -> set[Process]:
    parents = {int(entry.name): found for entry in Path("/proc").glob("[0-9]*") if (found := _stat(int(entry.name)))}
    members = {pid} & parents.keys()
    while fresh := {child for child, (_, parent, _) in parents.items() if parent in members} - members:
        members |= fresh
    return {Process(member, parents[member][2]) for member in members}


def _stat(pid: int) -> tuple[str, int, str] | None:
    """State, parent and time of start of a process that runs."""
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return (fields[0], int(fields[1]), fields[19]) if fields and fields[0] not in "ZX" else None


def _read(pid: int, file: str) -> str:
    try:
        return Path(f"/proc/{pid}/{file}").read_text(errors="replace")
    except OSError:
        return ""


def within(timeout_s: float, condition: Callable[[], bool]) -> bool:
    """Whether it comes to that: looked at again and again."""
    pause = threading.Event()
    for _ in range(int(timeout_s / LOOK_S)):
        if condition():
            return True
        pause.wait(LOOK_S)
    return condition()


def all_gone(processes: Iterable[Process], timeout_s: float = 20) -> list[Process]:
    """Those that are still there in the end."""
    within(timeout_s, lambda: not any(p.alive for p in processes))
    return [p for p in processes if p.alive]


def schedule(folder: Path, *appointments: tuple[str, int]) -> list[str | Path]:
    """The options for a schedule of (component, parallelism), due as soon as the component is there."""
    file = folder / "schedule.yaml"
    lines = [f"- {{at_s: 0, component: {name}, parallelism: {p}}}" for name, p in appointments]
    file.write_text("\n".join(lines) + "\n")
    return ["--schedule", file]


def instances_used(progress: Fact) -> dict[str, tuple[int, int]]:
    """Of each stage: how many instances had work, and how many partitions there were for them."""
    return {s["stage"]: (len(set(s["instance"])), len(s["instance"])) for s in progress["stages"]}


def runs_as(job: Running, query: str, parallelism: int) -> bool:
    """Whether the newest plan has that parallelism, and a batch since then has run so: each stage as that many
    instances, or as many as it had partitions."""
    ids = {f["query"] for f in job.facts("query-started") if (f["name"] or "query-1") == query}
    plans = [f for f in job.facts("plan-in-force") if f["query"] in ids]
    if not plans or plans[-1]["plan"]["parallelism"] != parallelism:
        return False
    batches = [f for f in job.facts("progress") if f["query"] == plans[-1]["query"] and f["stages"]]
    used = [instances_used(f) for f in batches if f["batch"] >= plans[-1]["batch"]]
    for stages in used:
        assert all(n == min(parallelism, partitions) for n, partitions in stages.values()), stages
    return any("state-0" in stages for stages in used)
