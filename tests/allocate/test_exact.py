"""`exact` is the best there is: against trying everything, against every other algorithm, and as units are added."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.scale_out_families import FAMILIES, Shape, document
from penstock.allocate.exact import LARGEST_COMPONENTS, exact
from penstock.allocate.measured import Question, Semantics
from penstock.allocate.read import read
from penstock.allocate.registry import ALGORITHMS, allocated
from tests.allocate.topologies import (
    all_allocations,
    answer,
    best_by_trying_all,
    random_question,
    written_out_throughput,
)

ROUNDING = 1e-9


@pytest.mark.parametrize("semantics", list(Semantics))
def test_exact_equals_trying_every_allocation_on_500_topologies(semantics: Semantics) -> None:
    for seed in range(500):
        question = replace(random_question(seed), semantics=semantics)
        found, best = exact(question), best_by_trying_all(question)
        assert found.throughput_rows_per_s == pytest.approx(best, rel=ROUNDING), seed
        assert found.upper_bound_rows_per_s == pytest.approx(best, rel=1e-7), seed


def test_no_bound_of_any_algorithm_is_below_the_best() -> None:
    for seed in range(1000, 1100):
        question = random_question(seed)
        best = best_by_trying_all(question)
        for name in ALGORITHMS:
            found = allocated(name, question)
            assert found.upper_bound_rows_per_s is not None
            assert found.upper_bound_rows_per_s >= best * (1 - ROUNDING), (seed, name)
            assert found.throughput_rows_per_s <= best * (1 + ROUNDING), (seed, name)


def test_exact_spends_no_unit_that_gains_nothing() -> None:
    for seed in range(2000, 2100):
        question = random_question(seed)
        found = exact(question)
        for component, units in found.extra.items():
            fewer = {**found.extra, component: units - 1}
            without = written_out_throughput(question.topology, fewer, question.semantics)
            assert without < found.throughput_rows_per_s, (seed, component)


def _medium(seed: int) -> Question:
    tight, concentrated, stepped = seed % 5 < 2, seed % 3 == 0, seed % 7 < 3
    shape = Shape(FAMILIES[seed % 4], 20, concentrated, tight, heavy=seed % 2 == 0, stepped=stepped)
    return Question(read(document(shape, seed)).topology, 8, list(Semantics)[seed % 3])


def test_exact_is_never_below_another_algorithm() -> None:
    for seed in range(40):
        question = _medium(seed)
        best = exact(question).throughput_rows_per_s
        for name, algorithm in ALGORITHMS.items():
            assert algorithm(question).throughput_rows_per_s <= best * (1 + ROUNDING), (seed, name)


def test_exact_stays_best_where_the_search_ends_without_proof() -> None:
    for seed in range(8):
        question = _medium(seed)
        best = exact(question, work_limit=1)
        for name, algorithm in ALGORITHMS.items():
            if name != "exact":
                rows_per_s = algorithm(question).throughput_rows_per_s
                assert rows_per_s <= best.throughput_rows_per_s * (1 + ROUNDING), (seed, name)
        assert best.gap_share is not None
        assert best.throughput_rows_per_s <= exact(question).throughput_rows_per_s * (1 + ROUNDING)


def test_throughput_of_exact_never_falls_when_units_are_added() -> None:
    for seed in range(20):
        question = _medium(seed)
        found = [exact(replace(question, extra_units=units)).throughput_rows_per_s for units in range(9)]
        assert all(more >= fewer * (1 - ROUNDING) for fewer, more in pairwise(found)), seed


def test_a_margin_binds_the_allocation_but_not_the_reported_throughput() -> None:
    full = {"name": "2", "resources": 1, "input_rate": 100, "output_rate": 100, "max_processing_rate": 100}
    source = {"name": "1", "resources": 1, "output_rate": 100, "children": {"2": 1.0}}
    question = Question(read({"components": [source, full]}).topology, 1)
    assert exact(question).extra == {}
    careful = exact(replace(question, margin_share=0.1))
    assert careful.extra == {"2": 1}  # 100 of 100 rows/s leaves nothing free
    assert (careful.throughput_rows_per_s, careful.upper_bound_rows_per_s) == (100, 100)


def test_no_units_is_an_answer_too() -> None:
    for name in ALGORITHMS:
        found = answer(name, "diamond", 0)
        assert (found.extra, found.unspent, found.increase_rows_per_s) == ({}, 0, 0)


def test_all_allocations_respect_bounds() -> None:
    question = random_question(5)
    bounds = {c.id: c.units_left for c in question.topology.components}
    for extra in all_allocations(question):
        assert all(bounds[c] is None or n <= bounds[c] for c, n in extra.items())  # type: ignore[operator]


def test_many_sources_that_scale_are_bounded_where_not_all_combinations_are_tried() -> None:
    parts = [{"name": f"s{i}", "resources": 1, "output_rate": 100, "children": {"all": 1.0}} for i in range(8)]
    sink = {"name": "all", "resources": 1, "input_rate": 800, "output_rate": 400, "max_processing_rate": 400}
    topology = read({"components": [*parts, sink]}).topology
    found = exact(Question(topology, 6, Semantics.THROTTLE, sources_too=True))
    assert found.throughput_rows_per_s <= (found.upper_bound_rows_per_s or 0)
    assert found.throughput_rows_per_s >= 800


def test_large_topologies_are_answered_with_a_gap_that_holds() -> None:
    topology = read(document(Shape("layered", 120, tight=True), 3)).topology
    question = Question(topology, 60)
    found = exact(question, work_limit=30_000_000)
    assert found.gap_share is not None
    assert 0 < found.gap_share < 0.05
    assert "the best found" in found.why
    for name in ("stela", "combined", "predictive-knapsack", "greedy-bound"):
        other = ALGORITHMS[name](question).throughput_rows_per_s
        assert other <= found.throughput_rows_per_s * (1 + ROUNDING), name


def test_trees_of_80_components_are_proved() -> None:
    found = exact(Question(read(document(Shape("tree", 80), 1)).topology, 40))
    assert found.gap_share == 0
    assert found.why.startswith("proved")


def test_beyond_the_search_the_bound_comes_from_prices() -> None:
    topology = read(document(Shape("star", LARGEST_COMPONENTS + 1), 1)).topology
    question = Question(topology, 5)
    best, serial = exact(question), allocated("stela", question)
    assert serial.throughput_rows_per_s <= best.throughput_rows_per_s <= (best.upper_bound_rows_per_s or 0)
    assert (serial.upper_bound_rows_per_s or 0) >= best.throughput_rows_per_s
    assert (best.gap_share or 0) < 0.1
