"""The driver's memory over a run: heap after a collection, sampled, and its slope once Spark's own stores are full."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from threading import Event

import numpy as np

from benchmarks.rescale_gap import start, stop
from benchmarks.side_by_side import JOBS, scratch


def driver_pid(run: Path) -> int | None:
    facts = run / "facts.jsonl"
    lines = facts.read_text().splitlines() if facts.exists() else []
    return next((json.loads(line)["pid"] for line in lines if '"driver"' in line and '"pid"' in line), None)


def live_heap_mb(pid: int) -> float:
    """After a full collection, which counting live objects makes."""
    histogram = subprocess.run(["jmap", "-histo:live", str(pid)], capture_output=True, text=True, check=True).stdout
    total = re.search(r"^Total\s+\d+\s+(\d+)", histogram, re.MULTILINE)
    return int(total[1]) / 2**20 if total else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--warm-minutes", type=float, default=5, help="until Spark's own UI store is full")
    parser.add_argument("--every-s", type=float, default=20)
    options = parser.parse_args()
    with scratch() as folder:
        job = start(
            ["-m", "penstock.cli.main", "run", "--quiet", "--policy", "chaos", "--out", folder / "run"]
            + [JOBS / "counting.py", folder / "checkpoint", 4]
        )
        samples: list[tuple[float, float]] = []
        for at in range(int(options.minutes * 60 / options.every_s)):
            Event().wait(options.every_s)
            pid = driver_pid(folder / "run")
            if pid is not None:
                samples.append((at * options.every_s / 60, live_heap_mb(pid)))
                print(f"{samples[-1][0]:6.1f} min  {samples[-1][1]:8.1f} MB live", flush=True)
        stop(job)
    late = [(minute, mb) for minute, mb in samples if minute >= options.warm_minutes]
    if len(late) < 3:
        sys.exit("too short for a slope")
    minutes, mbs = np.asarray(late).T
    slope = np.polyfit(minutes, mbs, 1)[0]
    print(f"slope after {options.warm_minutes:g} min: {slope:.3f} MB a minute")


if __name__ == "__main__":
    main()
