"""The user's job as a process: started with the door open, watched, stopped cleanly, its end told apart."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pyspark

from penstock.engines.spark import door
from penstock.errors import InvalidInput

TAIL_LINES = 20
STOP_S = 20.0  # Spark's own shutdown hooks have finished by then; later the process is killed


def command_of(words: Sequence[str]) -> tuple[list[str], str | None]:
    """The command to run, and the interpreter that its Python workers follow, None where that is the user's affair.

    >>> command_of(["spark-submit", "--help"])[0][1:]
    ['--help']
    """
    first = words[0]
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise InvalidInput(f"there is no file {first}")
        return [sys.executable, *words], sys.executable
    if first == "spark-submit" and shutil.which(first) is None:
        return [str(Path(pyspark.__file__).parent / "bin" / first), *words[1:]], sys.executable
    program = shutil.which(first)
    if program is None:
        raise InvalidInput(f"{first!r} is neither a Python file nor a program that can be run")
    return list(words), program if Path(program).name.startswith("python") else None


@dataclass(slots=True)
class Job:
    process: subprocess.Popen[str]
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    _pumps: list[threading.Thread] = field(default_factory=list)

    @property
    def exit(self) -> int | None:
        """As a shell tells it: 128 + the signal for a job that one has ended."""
        code = self.process.poll()
        return 128 - code if code is not None and code < 0 else code

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended by then."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """As Ctrl-C would: the job's own handlers and Spark's run; what does not end is killed."""
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                os.killpg(self.process.pid, how)
                self.wait(STOP_S)
        self.drain()

    def drain(self) -> None:
        for pump in self._pumps:
            pump.join(timeout=5)


def start(words: Sequence[str], run: Path, echo: bool) -> Job:
    """In a process group of its own, so that stopping it reaches the JVM and the Python workers too."""
    command, python = command_of(words)
    environment = door.opened(os.environ, run, python)
    piped = subprocess.PIPE
    process = subprocess.Popen(
        command, env=environment, stdout=piped, stderr=piped, text=True, errors="replace", start_new_session=True
    )
    job = Job(process)
    log = (run / "job.log").open("a", buffering=1)
    for source, sink in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
        assert source is not None
        pump = threading.Thread(target=_pump, args=(source, log, sink.write if echo else None, job.tail), daemon=True)
        pump.start()
        job._pumps.append(pump)
    return job


def _pump(source: IO[str], log: IO[str], echo: Callable[[str], object] | None, tail: deque[str]) -> None:
    for line in source:
        log.write(line)
        tail.append(line.rstrip("\n"))
        if echo:
            echo(line)
