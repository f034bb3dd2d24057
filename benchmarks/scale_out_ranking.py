"""How far from the optimum is each algorithm, by family of topologies, and by what causes it?

    python -m benchmarks.scale_out_ranking [topologies of each kind and size, default 2]

The distance is the share of the best possible increase that is missed: 0 is the optimum, 1 is no increase at all. Where
`exact` ends without a proof the distance is to its bound, so that it is overstated by at most the gap.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.scale_out_families import FAMILIES, Shape, document
from penstock.allocate.exact import exact
from penstock.allocate.measured import Question
from penstock.allocate.read import read
from penstock.allocate.registry import ALGORITHMS

RULES = ("stela", "predictive", "predictive-knapsack", "combined", "greedy-bound", "exact")
SIZES = (10, 25, 50, 100, 200)
WORK_LIMIT = 300_000_000


@dataclass(frozen=True, slots=True)
class Result:
    shape: Shape
    distance: dict[str, float]
    proved: bool


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    results = [r for shape, seed in _shapes(repeats) if (r := _result(shape, seed))]
    proved = sum(r.proved for r in results)
    print(f"{len(results)} topologies of {SIZES} components, one unit for each 8; {proved} optima proved\n")
    print(f"{'mean distance by family':34}" + "".join(f"{rule:>21}" for rule in RULES))
    for family in FAMILIES:
        _print_row(family, [r for r in results if r.shape.family == family], np.mean)
    _print_row("all", results, np.mean)
    print("\ndistribution over all")
    for name, share in (("median", 50), ("90 of 100 are below", 90), ("99 of 100 are below", 99), ("largest", 100)):
        _print_row(name, results, partial(np.percentile, q=share))
    _print_causes(results)


def _shapes(repeats: int) -> list[tuple[Shape, int]]:
    switches = (False, True)
    return [
        (Shape(family, size, concentrated, tight, heavy), 1000 * repeat + size)
        for family, size in product(FAMILIES, SIZES)
        for concentrated, tight, heavy in product(switches, switches, switches)
        for repeat in range(repeats)
    ]


def _result(shape: Shape, seed: int) -> Result | None:
    question = Question(read(document(shape, seed)).topology, max(2, shape.components // 8))
    best = exact(question, WORK_LIMIT)
    answers = {rule: best if rule == "exact" else ALGORITHMS[rule](question) for rule in RULES}
    most = (best.upper_bound_rows_per_s or 0.0) - best.throughput_before_rows_per_s
    if most < 1e-6:
        return None
    distance = {rule: 1 - answer.increase_rows_per_s / most for rule, answer in answers.items()}
    return Result(shape, distance, best.gap_share == 0)


def _print_row(name: str, results: list[Result], of: Callable[[list[float]], Any]) -> None:
    figures = "".join(f"{of([r.distance[rule] for r in results]):>21.3f}" for rule in RULES)
    print(f"{name:34}{figures}")


def _print_causes(results: list[Result]) -> None:
    """Who wins, by the three causes; a tie is nobody's."""
    groups: dict[tuple[bool, bool, bool], list[Result]] = defaultdict(list)
    for r in results:
        groups[r.shape.concentrated, r.shape.tight, r.shape.heavy].append(r)
    print(
        "\noutput        capacity below  congestion   stela wins  predictive wins  mean distance of stela, predictive"
    )
    for (concentrated, tight, heavy), members in sorted(groups.items()):
        ahead = [r.distance["predictive"] - r.distance["stela"] for r in members]
        wins, losses = sum(a > 1e-9 for a in ahead), sum(a < -1e-9 for a in ahead)
        output = "concentrated" if concentrated else "even"
        stela, predictive = (np.mean([r.distance[rule] for r in members]) for rule in ("stela", "predictive"))
        print(
            f"{output:14}{'tight' if tight else 'slack':16}{'heavy' if heavy else 'light':11}"
            f"{wins:>6} of {len(members):<6}{losses:>7} of {len(members):<6}{stela:>14.3f}, {predictive:.3f}"
        )


if __name__ == "__main__":
    main()
