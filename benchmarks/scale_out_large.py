"""Large topologies: what `exact` proves at 200 components, and what `greedy-bound` leaves open there and at 10,000.

python -m benchmarks.scale_out_large [topologies of each family, default 2]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.scale_out_families import FAMILIES, Shape, document
from penstock.allocate.answer import Answer
from penstock.allocate.exact import exact
from penstock.allocate.greedy_bound import greedy_bound
from penstock.allocate.measured import Question
from penstock.allocate.read import read


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    for algorithm in (exact, greedy_bound):  # compiles, once on a machine
        algorithm(_question("layered", 80, 10, 0))
    for family in FAMILIES:
        found = [_timed(exact, _question(family, 200, 100, seed)) for seed in range(repeats)]
        _print(f"exact         200 components  100 units  {family}", found)
    for family in FAMILIES:
        found = [_timed(greedy_bound, _question(family, 200, 100, seed)) for seed in range(10 * repeats)]
        _print(f"greedy-bound  200 components  100 units  {family}", found)
    for family in ("tree", "layered"):
        found = [_timed(greedy_bound, _question(family, 10_000, 1_000, seed)) for seed in range(repeats)]
        _print(f"greedy-bound  10000 components 1000 units  {family}", found)


def _question(family: str, components: int, units: int, seed: int) -> Question:
    return Question(read(document(Shape(family, components, tight=seed % 2 == 0), seed)).topology, units)


def _timed(algorithm: Callable[[Question], Answer], question: Question) -> tuple[float, float]:
    start = time.process_time()
    answer = algorithm(question)
    return time.process_time() - start, answer.gap_share or 0.0


def _print(title: str, found: list[tuple[float, float]]) -> None:
    seconds, gaps = np.array(found).T
    proved = int((gaps < 1e-8).sum())
    print(
        f"{title:52} longest {seconds.max():6.2f} s of one core, gap: median {np.median(gaps):.2%}, "
        f"largest {gaps.max():.2%}, {proved} of {len(gaps)} proved",
        flush=True,
    )


if __name__ == "__main__":
    main()
