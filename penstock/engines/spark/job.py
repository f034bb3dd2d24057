"""The user's job as a process: started with the door open, watched, stopped cleanly, its end told apart."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from penstock.engines.spark import door, relay
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


@dataclass(frozen=True, slots=True)
class Job:
    """The user's process, and the relay of what it says, which ends when the last of the job's processes has."""

    process: subprocess.Popen[bytes]
    relay: subprocess.Popen[bytes]
    log: Path

    @property
    def exit(self) -> int | None:
        """As a shell tells it: 128 + the signal for a job that one has ended."""
        code = self.process.poll()
        return 128 - code if code is not None and code < 0 else code

    @property
    def tail(self) -> list[str]:
        with self.log.open(errors="replace") as lines:
            return [line.rstrip("\n") for line in deque(lines, maxlen=TAIL_LINES)]

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended by then."""
        return _ended(self.process, timeout_s)

    def stop(self) -> None:
        """As Ctrl-C would: the job's own handlers and Spark's run; what does not end is killed, its JVM too."""
        if self.process.poll() is not None:
            _ended(self.relay, STOP_S)
            return
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, how)
            if self.wait(STOP_S) and _ended(self.relay, STOP_S):
                return


def _ended(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def start(words: Sequence[str], run: Path, echo: bool) -> Job:
    """In a process group of its own, so that stopping it reaches the JVM and the Python workers too."""
    command, python = command_of(words)
    environment = door.opened(os.environ, run, python)
    piped = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, stdout=piped, stderr=piped, start_new_session=True)
    assert process.stdout is not None and process.stderr is not None
    log = run / "job.log"
    log.touch()
    with process.stdout as said, process.stderr as complained:
        errors = complained.fileno()
        relaying = [sys.executable, "-P", relay.__file__, str(log), "echo" if echo else "quiet", str(errors)]
        passing = subprocess.Popen(relaying, stdin=said, pass_fds=(errors,), start_new_session=True)
    return Job(process, passing, log)
