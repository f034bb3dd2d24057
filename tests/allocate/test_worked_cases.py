"""Section E of the specification: expected values, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from penstock.allocate.answer import throughput
from penstock.allocate.candidates import candidates
from penstock.allocate.measured import Question, Semantics
from penstock.allocate.model import decision_model
from penstock.allocate.network import Ints
from penstock.allocate.stela import throughput_shares
from tests.allocate.topologies import answer, example, increase

TABLES = {
    ("linear", "stela"): [({"3": 1}, 150), ({"2": 1, "3": 1}, 250), ({"2": 1, "3": 2}, 350)],
    ("linear", "predictive"): [({"3": 1}, 150), ({"2": 1, "3": 1}, 250), ({"2": 1, "3": 2}, 350)],
    ("simple_tree", "stela"): [
        ({"4": 1}, 100),
        ({"2": 1, "4": 1}, 500),
        ({"2": 1, "3": 1, "4": 1}, 700),
        ({"2": 1, "3": 2, "4": 1}, 900),
    ],
    ("simple_tree", "predictive"): [
        ({"3": 1}, 200),
        ({"2": 1, "4": 1}, 500),
        ({"2": 1, "3": 1, "4": 1}, 700),
        ({"2": 1, "3": 2, "4": 1}, 900),
    ],
    ("topology_17", "stela"): [({"6": 1}, 40), ({"6": 1, "9": 1}, 140), ({"6": 1, "9": 1, "17": 1}, 200)],
    ("topology_17", "predictive"): [({"16": 1}, 500), ({"16": 2}, 700), ({"11": 1, "16": 2}, 1000)],
    ("topology_17", "predictive-knapsack"): [({"16": 1}, 500), ({"11": 1, "16": 1}, 800), ({"11": 1, "16": 2}, 1000)],
    ("topology_17", "exact"): [({"16": 1}, 500), ({"11": 1, "16": 1}, 800), ({"9": 1, "16": 2}, 1040)],
    ("stela_wins", "stela"): [({"2": 1}, 360), ({"2": 1, "5": 1}, 410), ({"2": 1, "4": 1, "5": 1}, 450)],
    ("stela_wins", "predictive"): [({"5": 1}, 50), ({"2": 1, "4": 1}, 400), ({"2": 1, "4": 1, "5": 1}, 450)],
    ("two_paths", "stela"): [({"3": 1}, 100), ({"2": 1, "3": 1}, 300)],
    ("two_paths", "predictive"): [({"2": 1}, 200), ({"2": 1, "3": 1}, 300)],
    ("over_provisioned", "exact"): [({"2": 1}, 400), ({"2": 2}, 600)],
    ("rounding", "predictive"): [({"2": 1}, 1)],
}
INCREASES = {
    ("simple_tree", "exact"): [200, 500, 700, 900],
    ("simple_tree_as_printed", "exact"): [300, 500, 800, 800, 1000],
    ("diamond", "exact"): [200, 300, 300, 400],
    ("stela_wins", "exact"): [360, 410, 450],
    ("two_paths", "exact"): [200, 300],
    ("two_paths", "combined"): [200, 300],
}


@pytest.mark.parametrize(("name", "algorithm"), TABLES)
def test_allocations_and_increases_are_those_of_the_tables(name: str, algorithm: str) -> None:
    for units, (extra, gained) in enumerate(TABLES[name, algorithm], start=1):
        found = answer(algorithm, name, units)
        assert found.extra == extra
        assert found.increase_rows_per_s == pytest.approx(gained)


@pytest.mark.parametrize(("name", "algorithm"), INCREASES)
def test_increases_are_those_that_were_computed(name: str, algorithm: str) -> None:
    found = [
        answer(algorithm, name, units).increase_rows_per_s for units in range(1, len(INCREASES[name, algorithm]) + 1)
    ]
    assert found == pytest.approx(INCREASES[name, algorithm])


@pytest.mark.parametrize(
    ("name", "rows_per_s"),
    [("linear", 250), ("simple_tree", 900), ("simple_tree_as_printed", 1000), ("topology_17", 4740), ("diamond", 600)],
)
def test_the_throughput_before_is_that_of_the_model(name: str, rows_per_s: float) -> None:
    assert throughput(example(name), {}, Semantics.DROP) == pytest.approx(rows_per_s)


def test_linear_shares_candidates_and_safe_allocations() -> None:
    model = decision_model(Question(example("linear"), 3), 10)
    assert throughput_shares(model, model.none())[[1, 2]] == pytest.approx([0, 1])
    found = {(c.head, c.head_units): (c.units, c.increase_rows_per_s) for c in candidates(model, model.none(), 3)}
    assert found[2, 1] == pytest.approx((1, 150))
    assert found[1, 1] == pytest.approx((3, 350))
    assert answer("predictive", "linear", 2).safe_extra == {"3": 1}
    assert answer("predictive", "linear", 3).safe_extra == {"2": 1, "3": 2}


@pytest.mark.parametrize("algorithm", ["stela", "predictive"])
def test_sources_get_units_once_nothing_else_is_congested(algorithm: str) -> None:
    extras = [
        ({"1": 1, "2": 1, "3": 2}, 500),
        ({"1": 1, "2": 1, "3": 3}, 550),
        ({"1": 1, "2": 2, "3": 3}, 650),
    ]
    for units, (extra, gained) in enumerate(extras, start=4):
        found = answer(algorithm, "linear", units, sources_too=True)
        assert found.extra == extra
        assert found.increase_rows_per_s == pytest.approx(gained)
    assert answer(algorithm, "linear", 5).unspent == 2


def test_simple_tree_as_printed_separates_greedy_from_knapsack() -> None:
    name = "simple_tree_as_printed"
    assert answer("predictive", name, 2).increase_rows_per_s == pytest.approx(400)
    assert answer("predictive", name, 2).extra == {"3": 1, "4": 1}
    for algorithm in ("stela", "predictive-knapsack", "combined", "exact"):
        assert answer(algorithm, name, 2).extra == {"2": 1, "4": 1}


def test_topology_17_shares_and_large_candidates() -> None:
    model = decision_model(Question(example("topology_17"), 8), 24)
    order = [c.id for c in example("topology_17").components]
    shares = {str(c): float(s) for c, s in zip(order, throughput_shares(model, model.none()), strict=True)}
    expected = {"4": 0, "5": 0, "6": 0.2954, "8": 0.1055, "9": 0.1688, "10": 0.0844, "11": 0.0633, "16": 0.1055}
    assert {c: round(shares[c], 4) for c in expected} == expected
    found = {(str(order[c.head]), c.head_units): c for c in candidates(model, model.none(), 8)}
    nine, four = found["9", 1], found["4", 1]
    assert _named(order, nine.extra) == {"9": 1, "16": 2, "17": 1}
    assert nine.increase_rows_per_s == pytest.approx(1100)
    assert _named(order, four.extra) == {"4": 1, "9": 1, "16": 3, "17": 1}
    assert four.increase_rows_per_s == pytest.approx(1700)


def _named(order: Sequence[str], extra: Ints) -> dict[str, int]:
    return {c: int(n) for c, n in zip(order, extra, strict=True) if n}


@pytest.mark.parametrize(
    ("extra", "gained"),
    [
        ({"2": 1}, 100),
        ({"3": 1}, 200),
        ({"2": 1, "3": 1}, 300),
        ({"3": 2}, 300),
        ({"2": 1, "3": 2}, 300),
        ({"2": 1, "3": 2, "4": 1}, 400),
    ],
)
def test_diamond_heads_that_share_a_descendant_are_not_added_up(extra: dict[str, int], gained: float) -> None:
    assert increase("diamond", extra) == pytest.approx(gained)


def test_diamond_safe_allocation_never_congests_the_join() -> None:
    for algorithm in ("predictive", "predictive-knapsack", "combined"):
        safe = answer(algorithm, "diamond", 3).safe_extra
        assert safe is not None
        assert safe != {"2": 1, "3": 2}
    assert answer("stela", "diamond", 1).extra == {"3": 1}


def test_two_paths_to_one_sink_count_once() -> None:
    model = decision_model(Question(example("two_paths"), 1))
    order = [c.id for c in example("two_paths").components]
    shares = dict(zip(order, throughput_shares(model, model.none()), strict=True))
    assert [round(float(shares[c]), 4) for c in order if c in ("2", "3")] == [0.4444, 0.5556]


def test_units_of_an_over_provisioned_descendant_are_not_credited() -> None:
    model = decision_model(Question(example("over_provisioned"), 2), 12)
    found = [(c.head_units, c.units, c.increase_rows_per_s) for c in candidates(model, model.none(), 2)]
    assert np.array(found) == pytest.approx(np.array([(1, 1, 400), (2, 2, 600)]))


def test_throttled_simple_tree_and_diamond() -> None:
    tree, diamond = "simple_tree_as_printed", "diamond"
    throttle = Semantics.THROTTLE
    assert throughput(example(tree), {}, throttle) == pytest.approx(750)
    assert throughput(example(diamond), {}, throttle) == pytest.approx(400)
    found = [answer("exact", tree, units, semantics=throttle) for units in range(1, 6)]
    gained = [a.increase_rows_per_s for a in found]
    assert gained == pytest.approx([361.1111, 583.3333, 750, 750, 1250])
    assert found[0].extra == {"3": 1}
    assert found[3].unspent == 1
    assert found[4].extra == {"2": 1, "3": 2, "4": 1, "6": 1}
    of_diamond = [answer("exact", diamond, units, semantics=throttle).increase_rows_per_s for units in range(1, 5)]
    assert of_diamond == pytest.approx([400, 400, 500, 600])
