"""What every answer promises, on random topologies of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale_out_families import FAMILIES, Shape, document
from penstock.allocate.answer import Answer, rates_of
from penstock.allocate.combined import combined
from penstock.allocate.measured import Question, Semantics
from penstock.allocate.predictive import predictive
from penstock.allocate.predictive_knapsack import predictive_knapsack
from penstock.allocate.read import read
from penstock.allocate.registry import ALGORITHMS, allocated
from penstock.allocate.stela import stela
from tests.allocate.topologies import random_question, written_out_throughput

seeds = st.integers(0, 10**6)


def _shared(seed: int) -> Question:
    """A DAG in which heads share descendants."""
    shape = Shape(("diamond", "layered")[seed % 2], 12, tight=seed % 3 == 0, heavy=seed % 5 < 3, stepped=seed % 7 == 0)
    topology = read(document(shape, seed)).topology
    return Question(topology, 1 + seed % 9, list(Semantics)[seed % 3], sources_too=seed % 11 == 0)


def _full_rate_inputs(question: Question, answer_extra: dict[str, int]) -> dict[str, float]:
    """How far the input of each component is above its capacity; with throttling, at full source rates."""
    extra = {c.id: answer_extra.get(c.id, 0) for c in question.topology.components}
    arriving: dict[str, float] = {}
    excess = {}
    for c in question.topology.components:
        most = c.curve.at(c.units + extra[c.id])
        rows = most if c.is_source else arriving.get(c.id, 0.0)
        excess[c.id] = max(0.0, rows - most)
        output = (rows if question.semantics is Semantics.THROTTLE else min(rows, most)) * c.out_in_ratio
        for child, ratio in c.children:
            arriving[child] = arriving.get(child, 0.0) + output * ratio
    return {str(c): e for c, e in excess.items()}


@given(seeds)
def test_a_safe_allocation_makes_no_component_more_congested(seed: int) -> None:
    for question in (_shared(seed), random_question(seed)):
        before = _full_rate_inputs(question, {})
        for algorithm in (predictive, predictive_knapsack, combined):
            safe = algorithm(question).safe_extra
            assert safe is not None
            after = _full_rate_inputs(question, {str(c): n for c, n in safe.items()})
            worse = {c for c in after if after[c] > before[c] + 1e-6 * (1 + before[c])}
            assert not worse, (algorithm.__name__, safe)


def _holds_together(question: Question, found: Answer) -> None:
    after = written_out_throughput(question.topology, dict(found.extra), question.semantics)
    before = written_out_throughput(question.topology, {}, question.semantics)
    assert found.throughput_rows_per_s == pytest.approx(after, rel=1e-9)
    assert found.increase_rows_per_s == pytest.approx(after - before, abs=1e-6)
    assert sum(found.extra.values()) + found.unspent == question.extra_units
    assert found.unspent >= 0
    assert all(n > 0 for n in found.extra.values())
    for c in question.topology.components:
        assert c.units_left is None or found.extra.get(c.id, 0) <= c.units_left
        assert question.sources_too or not c.is_source or c.id not in found.extra


@given(seeds)
def test_every_increase_is_the_models_value_of_the_allocation_returned(seed: int) -> None:
    for question in (_shared(seed), random_question(seed), replace(_shared(seed), margin_share=0.1)):
        for algorithm in ALGORITHMS.values():
            _holds_together(question, algorithm(question))


@given(seeds)
def test_combined_is_never_below_its_parts(seed: int) -> None:
    for question in (_shared(seed), random_question(seed)):
        best = combined(question).throughput_rows_per_s
        for part in (stela, predictive):
            assert best >= part(question).throughput_rows_per_s * (1 - 1e-12)


@given(seeds)
def test_the_same_question_has_the_same_answer(seed: int) -> None:
    question = _shared(seed)
    for algorithm in ALGORITHMS.values():
        assert algorithm(question) == algorithm(question)


@given(seeds)
def test_rates_by_component_add_up(seed: int) -> None:
    question = random_question(seed)
    found = predictive(question)
    rates = rates_of(question.topology, found.extra, question.semantics)
    sinks = [c.id for c in question.topology.components if not c.children]
    assert sum(rates[c].output_rows_per_s for c in sinks) == pytest.approx(found.throughput_rows_per_s)
    for r in rates.values():
        assert r.processed_rows_per_s <= r.capacity_rows_per_s * (1 + 1e-9)
        assert r.input_rows_per_s == pytest.approx(r.processed_rows_per_s + r.lost_rows_per_s)


@pytest.mark.parametrize("family", FAMILIES)
def test_knapsack_selection_is_never_below_the_greedy_one(family: str) -> None:
    for seed in range(20):
        question = Question(read(document(Shape(family, 25), seed)).topology, 6)
        topology, drop = question.topology, Semantics.DROP
        greedy, best = predictive(question).safe_extra, predictive_knapsack(question).safe_extra
        assert greedy is not None
        assert best is not None
        above = written_out_throughput(topology, dict(best), drop)
        assert above >= written_out_throughput(topology, dict(greedy), drop) * (1 - 1e-9)


def test_a_tolerance_keeps_units_from_what_is_hardly_congested() -> None:
    near = {"name": "2", "resources": 1, "input_rate": 1007, "output_rate": 1000, "max_processing_rate": 1000}
    source = {"name": "1", "resources": 1, "output_rate": 1007, "children": {"2": 1.0}}
    topology = read({"components": [source, near]}).topology
    assert stela(Question(topology, 1)).extra == {"2": 1}
    assert stela(Question(topology, 1, tolerance_share=0.01)).unspent == 1
    assert predictive(Question(topology, 1, tolerance_share=0.01)).unspent == 1


SOURCE_ONLY = [{"name": "1", "resources": 1, "output_rate": 5}]
NOTHING_FLOWS = [
    {"name": "1", "resources": 1, "output_rate": 0, "children": {"2": 1}},
    {"name": "2", "resources": 1, "input_rate": 0, "output_rate": 0, "max_processing_rate": 0},
]
FIRST_UNITS_USELESS = [
    {"name": "1", "resources": 1, "output_rate": 10, "children": {"2": 1}},
    {"name": "2", "resources": 1, "input_rate": 10, "output_rate": 0, "capacity": [0, 0, 6, 6, 12]},
]


@pytest.mark.parametrize("semantics", list(Semantics))
@pytest.mark.parametrize("parts", [SOURCE_ONLY, NOTHING_FLOWS, FIRST_UNITS_USELESS])
def test_degenerate_topologies_have_answers(parts: list[dict[str, Any]], semantics: Semantics) -> None:
    topology = read({"components": parts}).topology
    for sources_too, units in ((False, 3), (True, 3), (False, 1000)):
        question = Question(topology, units, semantics, sources_too)
        for name in ALGORITHMS:
            found = allocated(name, question)
            _holds_together(question, found)
            assert (found.gap_share or 0) < 0.5


def test_units_that_help_only_together_are_found() -> None:
    topology = read({"components": FIRST_UNITS_USELESS}).topology
    found = ALGORITHMS["exact"](Question(topology, 3))
    assert (found.extra, found.unspent, found.throughput_rows_per_s) == ({"2": 2}, 1, 6)
