"""E13: how an end-to-end bound is divided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes import Target
from penstock.ids import ComponentId
from penstock.observe.history import History
from penstock.observe.snapshot import Snapshot
from penstock.policies.end_to_end import EndToEnd
from penstock.policies.policy import Bounds, Memory, View
from penstock.policies.rule import Rule
from penstock.policies.split import split
from penstock.simulator.component import BatchCosts
from penstock.topology.assignment import spread
from tests.fake_engine import COUNT, SPLIT, deployment
from tests.policies.driven import WORDS, Part, World, chain, lived, steps
from tests.policies.test_streamswitch import step


def test_e13_who_keeps_its_bound_less_often_gets_more() -> None:
    found = split((1.0, 1.0), (0.90, 0.99), (0.2, 0.2))
    assert found is not None
    assert found[0] > 1 > found[1]
    assert sum(found) == 2.0


def test_equal_success_changes_nothing() -> None:
    assert split((1.25, 0.75), (0.97, 0.97), (0.2, 0.1)) == pytest.approx((1.25, 0.75))


def test_floors_that_are_too_high_leave_nothing_to_divide() -> None:
    assert split((1.0, 1.0), (0.5, 0.5), (1.0, 1.0)) is None


def test_repeated_it_finds_where_success_is_equal() -> None:
    """Success of each rises with its bound, of the first more slowly: at (1.2, .8) both are the same."""
    bounds: tuple[float, ...] = (1.0, 1.0)
    for _ in range(400):
        successes = (min(1.0, bounds[0] / 1.25), min(1.0, bounds[1] / (0.8 * 1.25 / 1.2)))
        found = split(bounds, successes, (0.1, 0.1))
        assert found is not None
        bounds = found
    assert bounds == pytest.approx((1.2, 0.8), abs=0.01)


@given(
    st.lists(st.tuples(st.floats(0.1, 5), st.floats(0, 1), st.floats(0, 0.9)), min_size=2, max_size=6),
)
def test_the_sum_is_kept_and_no_bound_falls_below_its_floor(parts: list[tuple[float, float, float]]) -> None:
    bounds = tuple(b for b, _, _ in parts)
    floors = tuple(b * share for b, _, share in parts)
    found = split(bounds, tuple(s for _, s, _ in parts), floors)
    assert found is not None
    assert sum(found) == pytest.approx(sum(bounds), rel=1e-12)
    assert all(b >= f for b, f in zip(found, floors, strict=True))


def test_a_path_keeps_one_bound_and_the_slower_component_gets_more_of_it() -> None:
    costs = BatchCosts(before_s=0.1, substream_s=0.005)
    parts = [
        Part("split", 1000.0, 3, 16, costs=costs),
        Part("count", 1000.0, 3, 16, costs=replace(costs, before_s=0.4)),
    ]
    found = lived(
        EndToEnd(2.4), chain(parts, steps((0, 1200.0)), World(duration_s=240.0)), rule=Rule(max_parallelism=16)
    )
    target = {p: Target(WORDS, ComponentId(p)) for p in ("split", "count")}
    late = [found.latency_s(t, 180, 240) for t in target.values()]
    assert sum(max(part) for part in late) < 2.4
    assert found.refused == []


def test_bounds_move_and_are_remembered() -> None:
    policy = EndToEnd(2.0, every_s=2.0)
    slow, fast = step(0, latency_s=1.4).components[COUNT], step(0, latency_s=0.2).components[COUNT]
    shots = [Snapshot(float(i), i + 1.0, {SPLIT: fast, COUNT: slow}) for i in range(4)]
    known = deployment(assignments={COUNT: spread(8, 2)})
    memory: Memory = {}
    for i in range(1, 5):
        at = View(known, History(60.0, tuple(shots[:i])), {SPLIT: Bounds(1, 8), COUNT: Bounds(1, 8)}, float(i))
        memory = policy.decide(at, memory, np.random.default_rng(0)).memory
    assert memory["bounds"]["words/count"] > 1.0 > memory["bounds"]["words/split"]
    assert sum(memory["bounds"].values()) == pytest.approx(2.0)
