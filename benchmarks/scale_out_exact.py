"""`exact` against the plain integer program in HiGHS: 25 components, 20 units, the same optimum or it stops.

    python -m benchmarks.scale_out_exact [topologies of each kind, default 100]

Prints medians and the ratio. `exact` is timed from the measured topology to the answer; HiGHS only while it solves, not
while the program is written down.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.scale_out_families import FAMILIES, Shape, document
from benchmarks.scale_out_integer_program import integer_program
from penstock.allocate.exact import exact
from penstock.allocate.measured import Question
from penstock.allocate.model import decision_model
from penstock.allocate.read import read

COMPONENTS, UNITS = 25, 20


def main() -> None:
    topologies = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    exact(_question(Shape("tree", COMPONENTS), 0))  # compiles, once on a machine
    print(f"{COMPONENTS} components, {UNITS} units, drop, {topologies} topologies; families in turn, heavy congestion")
    for stepped in (False, True):
        ours, theirs = _medians(stepped, topologies)
        kind = "stepped" if stepped else "linear"
        print(f"{kind:8} exact {ours * 1e3:.2f} ms, HiGHS {theirs * 1e3:.2f} ms: {theirs / ours:.1f} times faster")


def _medians(stepped: bool, topologies: int) -> tuple[float, float]:
    times = []
    for seed in range(topologies):
        family, tight = FAMILIES[seed % 4], seed % 8 < 4
        shape = Shape(family, COMPONENTS, tight=tight, stepped=stepped, most_extra=UNITS)
        times.append(_timed(_question(shape, seed), stepped))
    ours, theirs = np.median(np.array(times), axis=0)
    return float(ours), float(theirs)


def _question(shape: Shape, seed: int) -> Question:
    return Question(read(document(shape, seed)).topology, UNITS)


def _timed(question: Question, stepped: bool) -> tuple[float, float]:
    start = time.perf_counter()
    answer = exact(question)
    ours = time.perf_counter() - start
    program = integer_program(decision_model(question).net, UNITS, stepped)
    start = time.perf_counter()
    program.run()
    theirs = time.perf_counter() - start
    best = program.getObjectiveValue()
    if answer.gap_share != 0.0 or abs(answer.throughput_rows_per_s - best) > 1e-6 * best:
        raise SystemExit(f"not the same optimum: exact {answer.throughput_rows_per_s}, HiGHS {best}")
    return ours, theirs


if __name__ == "__main__":
    main()
