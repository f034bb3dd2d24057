"""Units that go: the best choice against trying all, and the fast rule against the best choice."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from penstock.allocate.measured import MeasuredTopology, Question
from penstock.allocate.scale_in import Release, release_exact, release_fast
from penstock.errors import InvalidInput
from tests.allocate.topologies import example, random_question, written_out_throughput


def _spacious(seed: int) -> Question:
    """Two units more wherever the component can have them."""
    question = random_question(seed)
    grown = ((c, 2 if c.units_left is None else min(2, c.units_left)) for c in question.topology.components)
    parts = (replace(c, units=c.units + more) for c, more in grown)
    topology = MeasuredTopology(tuple(parts))
    removable = sum(c.units - 1 for c in topology.components if question.sources_too or not c.is_source)
    return replace(question, topology=topology, extra_units=min(question.extra_units, removable))


def _best_by_trying_all(question: Question) -> float:
    parts = question.topology.components
    reach = [c.units - 1 if question.sources_too or not c.is_source else 0 for c in parts]
    return max(
        written_out_throughput(
            question.topology, {c.id: -n for c, n in zip(parts, gone, strict=True)}, question.semantics
        )
        for gone in product(*(range(r + 1) for r in reach))
        if sum(gone) == question.extra_units
    )


def _holds_together(question: Question, release: Release) -> None:
    assert sum(release.removed.values()) == question.extra_units
    assert all(c.units - release.removed.get(c.id, 0) >= 1 for c in question.topology.components)
    gone = {c: -n for c, n in release.removed.items()}
    after = written_out_throughput(question.topology, gone, question.semantics)
    assert release.throughput_rows_per_s == pytest.approx(after, rel=1e-9)


def test_exact_release_equals_trying_all() -> None:
    for seed in range(200):
        question = _spacious(seed)
        release = release_exact(question)
        _holds_together(question, release)
        assert release.throughput_rows_per_s == pytest.approx(_best_by_trying_all(question), rel=1e-9), seed
        assert release.gap_share == pytest.approx(0, abs=1e-7)


def test_fast_release_is_never_above_the_exact_one() -> None:
    for seed in range(200):
        question = _spacious(seed)
        release = release_fast(question)
        _holds_together(question, release)
        assert release.throughput_rows_per_s <= release_exact(question).throughput_rows_per_s * (1 + 1e-9)
        assert release.upper_bound_rows_per_s >= _best_by_trying_all(question) * (1 - 1e-9)


def test_units_without_work_go_first() -> None:
    question = Question(example("over_provisioned"), 2)
    for release in (release_exact(question), release_fast(question)):
        assert release.removed == {"3": 2}
        assert release.decrease_rows_per_s == 0


def test_a_margin_keeps_capacity_free() -> None:
    release = release_exact(Question(example("over_provisioned"), 1, margin_share=0.5))
    assert release.removed == {"3": 1}
    assert release.upper_bound_rows_per_s == pytest.approx(400)


def test_no_component_gives_up_its_last_unit() -> None:
    for rule in (release_exact, release_fast):
        with pytest.raises(InvalidInput, match="3 units cannot go: with one kept for each component, 2 can at most"):
            rule(Question(example("over_provisioned"), 3))
