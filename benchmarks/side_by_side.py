"""The same job on plain Spark and under Penstock, in turn, in one run: machines are noisy, ratios are not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

JOBS = Path(__file__).resolve().parent / "jobs"
ENVIRONMENT = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
RAM = Path("/dev/shm")


@contextmanager
def scratch() -> Iterator[Path]:
    """A fresh folder, in memory where there is some: the file system is not what is measured."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-", dir=RAM if RAM.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_job(job: str, words: Sequence[object], under: Sequence[object] | None) -> dict[str, Any]:
    """The job's last line, which is a JSON object. `under` None is plain Spark, else the options of `penstock run`."""
    command = [sys.executable, str(JOBS / job), *map(str, words)]
    with scratch() as out:
        if under is not None:
            options = ["--quiet", "--out", str(out / "run"), *map(str, under)]
            command = [sys.executable, "-m", "penstock.cli.main", "run", *options, "--", *command]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        sys.exit(f"{job} failed:\n{done.stderr[-3000:]}")
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def ratio(name: str, ours: Sequence[float], theirs: Sequence[float], goal: str) -> float:
    """Of the medians, with what each run gave."""
    found = median(ours) / median(theirs)
    print(f"{name}: {found:.3f}  (goal {goal})")
    print(f"  penstock {', '.join(f'{v:.4g}' for v in ours)}   plain {', '.join(f'{v:.4g}' for v in theirs)}")
    return found
