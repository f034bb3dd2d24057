"""How long the smallest batch takes, under Penstock over stock Spark settings. Goals: stateless 0.5, stateful 0.45."""

from __future__ import annotations

import argparse

from benchmarks.side_by_side import ratio, run_job

GOALS = {
    "stateless": "at most 0.5",
    "stateful": "at most 0.45",
    "2": "one hop over files",
    "4": "three hops over files",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--kinds", nargs="*", default=list(GOALS))
    options = parser.parse_args()
    for kind in options.kinds:
        ours, plain = [], []
        for _ in range(options.pairs):
            plain.append(run_job("floor.py", [kind, options.seconds], None))
            ours.append(run_job("floor.py", [kind, options.seconds], []))
        for figure in ("median_ms", "p99_ms"):
            values = [r[figure] for r in ours], [r[figure] for r in plain]
            ratio(f"{kind}, {figure} of a batch", *values, GOALS[kind] if figure == "median_ms" else "none")


if __name__ == "__main__":
    main()
