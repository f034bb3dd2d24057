"""`greedy-bound`: a bound that holds, and a gap that stays small."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.scale_out_families import FAMILIES, Shape, document
from penstock.allocate.certificate import upper_bound
from penstock.allocate.exact import exact
from penstock.allocate.greedy_bound import greedy_bound
from penstock.allocate.measured import Question, Semantics
from penstock.allocate.model import decision_model
from penstock.allocate.prices import corners_of
from penstock.allocate.read import read


def _question(shape: Shape, seed: int, units: int) -> Question:
    return Question(read(document(shape, seed)).topology, units)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_median_gap_at_200_components_is_below_a_tenth(family: str) -> None:
    questions = [_question(Shape(family, 200, tight=seed % 2 == 0), seed, 100) for seed in range(6)]
    gaps = [greedy_bound(q).gap_share for q in questions]
    assert all(g is not None and g >= 0 for g in gaps)
    assert np.median([g for g in gaps if g is not None]) < 0.1


def test_its_bound_is_not_below_what_exact_proves() -> None:
    for seed in range(40):
        question = _question(Shape(FAMILIES[seed % 4], 25, tight=seed % 3 == 0, stepped=seed % 5 == 0), seed, 10)
        best, fast = exact(question), greedy_bound(question)
        assert fast.upper_bound_rows_per_s is not None
        assert fast.upper_bound_rows_per_s >= best.throughput_rows_per_s * (1 - 1e-9)
        assert fast.throughput_rows_per_s <= upper_bound(question) * (1 + 1e-9)


def test_throttled_it_is_exact() -> None:
    shape = Shape("layered", 200)
    question = Question(read(document(shape, 1)).topology, 50, Semantics.THROTTLE)
    assert greedy_bound(question).throughput_rows_per_s == pytest.approx(exact(question).throughput_rows_per_s)
    assert greedy_bound(question).gap_share == 0


def test_corners_are_those_of_the_concave_hull() -> None:
    net = decision_model(_question(Shape("tree", 25, stepped=True), 3, 12)).net
    corners = corners_of(net, 12)
    for i in range(net.size):
        of_node = slice(corners.first[i], corners.first[i + 1])
        capacity = net.capacity[net.first[i] : net.first[i + 1]][:13]
        hull = np.interp(np.arange(len(capacity)), corners.units[of_node], corners.rows[of_node])
        assert (hull >= capacity * (1 - 1e-9)).all()
        rises = np.diff(corners.rows[of_node]) / np.diff(corners.units[of_node])
        assert (np.diff(rises) <= 1e-9 * np.abs(rises[:-1])).all()
