"""Time without output when the number of slots changes: live, over stopping the application and starting it again.

The extra time is the longest gap between two commits around the change, less the median gap. Goal: at most 1/10.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from threading import Event

from benchmarks.side_by_side import ENVIRONMENT, JOBS, ratio, scratch


def commits_s(checkpoint: Path) -> list[float]:
    return sorted(f.stat().st_mtime for f in (checkpoint / "commits").glob("[0-9]*"))


def extra_s(commits: Sequence[float], before: int) -> float:
    """Around the change that came after the first `before` commits."""
    gaps = [b - a for a, b in pairwise(commits)]
    usual_s = median(gaps[5:before])
    return max(0.0, max(gaps[before - 1 : before + 5]) - usual_s)


def start(words: Sequence[object]) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, *map(str, words)], env=ENVIRONMENT, stdout=quiet, stderr=quiet)


def await_commits(checkpoint: Path, count: int) -> None:
    """Ten more than are there, so that the median stands on warm batches."""
    for _ in range(1200):
        if len(commits_s(checkpoint)) >= count:
            return
        Event().wait(0.1)
    sys.exit(f"{checkpoint} never had {count} commits")


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    process.wait(timeout=90)


def restarted(folder: Path) -> float:
    checkpoint = folder / "checkpoint"
    first = start([JOBS / "counting.py", checkpoint, 4])
    await_commits(checkpoint, 30)
    stop(first)
    before = len(commits_s(checkpoint))
    second = start([JOBS / "counting.py", checkpoint, 2])
    await_commits(checkpoint, before + 15)
    stop(second)
    return extra_s(commits_s(checkpoint), before)


def live(folder: Path) -> float:
    checkpoint, schedule = folder / "checkpoint", folder / "schedule.yaml"
    schedule.write_text("- {at_s: 15, component: counts, parallelism: 2}\n")
    options = ["run", "--quiet", "--out", folder / "run", "--schedule", schedule]
    job = start(["-m", "penstock.cli.main", *options, JOBS / "counting.py", checkpoint, 4])
    await_change(checkpoint)
    before = len([at_s for at_s in commits_s(checkpoint) if at_s < changed_at_s(checkpoint)])
    await_commits(checkpoint, before + 15)
    stop(job)
    return extra_s(commits_s(checkpoint), before)


def changed_at_s(checkpoint: Path) -> float:
    return max((f.stat().st_mtime for f in (checkpoint / "_penstock").glob("[0-9]*")), default=float("inf"))


def await_change(checkpoint: Path) -> None:
    for _ in range(1200):
        if changed_at_s(checkpoint) < float("inf"):
            return
        Event().wait(0.1)
    sys.exit("the change never came")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    ways: dict[Callable[[Path], float], list[float]] = {live: [], restarted: []}
    for _ in range(options.pairs):
        for way, found in ways.items():
            with scratch() as folder:
                found.append(way(folder))
    ratio("extra seconds without output, live over restart", ways[live], ways[restarted], "at most 0.1")


if __name__ == "__main__":
    main()
