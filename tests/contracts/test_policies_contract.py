"""Every policy of the registry passes the contract, over deployments and histories that nobody chose."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.changes import Rescale, Target
from penstock.deployment import Deployment
from penstock.ids import ComponentId, TopologyId
from penstock.observe.history import History
from penstock.policies.policy import Bounds, Decision, Memory, Policy, View
from penstock.policies.registry import POLICIES, read_policy
from penstock.policies.regulating import REGULATING
from penstock.policies.rule import Rule, bounds_of
from penstock.reading import Written
from tests.contracts.policy import (
    CHECKS,
    Check,
    asks_only_for_what_can_be,
    changes_nothing_it_is_given,
    decides_the_same_twice,
    is_calm_on_an_empty_history,
    memory_does_not_grow,
    remembers_in_json,
    says_why,
)
from tests.fake_engine import COUNT, deployment, snapshot
from tests.strategies import deployments, histories

SETTINGS: dict[str, list[dict[str, object]]] = {
    "static": [{}, {"parallelism": 3}, {"parallelism": 64}],
    "chaos": [{}, {"every_batches": 1}],
    "schedule": [
        {"changes": []},
        {"changes": [{"at_s": s, "component": c, "parallelism": p} for s in (0, 5) for c in "ab" for p in (2, 99)]},
    ],
    **{name: [{}] for name in REGULATING},
}
POLICIES_IN_USE = [(name, settings) for name in POLICIES for settings in SETTINGS[name]]
IDS = [f"{name}-{SETTINGS[name].index(settings)}" for name, settings in POLICIES_IN_USE]


@st.composite
def views(draw: st.DrawFn) -> View:
    deployment: Deployment = draw(deployments())
    history = draw(histories(deployment, least=1))
    rule = Rule(
        min_parallelism=draw(st.none() | st.integers(1, 4)), max_parallelism=draw(st.none() | st.integers(4, 9))
    )
    scope = [t for t in deployment.targets if t not in deployment.unregulated and draw(st.integers(0, 4)) > 0]
    bounds = {t: bounds_of(deployment, t, rule) for t in scope}
    return View(deployment, history, bounds, history.snapshots[-1].end_s, history.snapshots[0].start_s)


def made(name: str, settings: dict[str, object]) -> Policy:
    policy = read_policy(Written({"name": name, **settings}, lambda trail: "contract"))
    assert policy is not None
    return policy


def test_every_policy_of_the_registry_is_tried() -> None:
    assert set(SETTINGS) == set(POLICIES)


@pytest.mark.parametrize(("name", "settings"), POLICIES_IN_USE, ids=IDS)
@given(view=views(), seed=st.integers(0, 2**31))
def test_policy_keeps_the_contract(name: str, settings: dict[str, object], view: View, seed: int) -> None:
    for check in CHECKS:
        check(made(name, settings), view, seed)


@dataclass(frozen=True)
class Bad:
    """A policy that breaks the contract in one way."""

    way: Callable[[View, Memory], Decision]
    name: str = "bad"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        return self.way(view, memory)


TIMES = itertools.count()
NOBODY = Target(TopologyId("nobody"), ComponentId("nobody"))
BAD: dict[Check, Callable[[View, Memory], Decision]] = {
    changes_nothing_it_is_given: lambda view, memory: Decision(
        why=str(view.deployment.topologies.clear()),  # type: ignore[attr-defined]
    ),
    decides_the_same_twice: lambda view, memory: Decision(why=str(next(TIMES))),
    remembers_in_json: lambda view, memory: Decision(why="x", memory={"seen": set()}),
    is_calm_on_an_empty_history: lambda view, memory: Decision((Rescale(NOBODY, 1),), why="x"),
    asks_only_for_what_can_be: lambda view, memory: Decision((Rescale(NOBODY, 1),), why="x"),
    says_why: lambda view, memory: Decision(),
    memory_does_not_grow: lambda view, memory: Decision(why="x", memory={"all": memory.get("all", "") + "x" * 5000}),
}


def test_every_check_has_a_policy_that_it_catches() -> None:
    assert set(BAD) == set(CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_policy_that_breaks_the_contract_is_caught(check: Check) -> None:
    history = History(60.0, (snapshot(0), snapshot(1)))
    view = View(deployment(), history, {COUNT: Bounds(1, 8)}, 2.0)
    with pytest.raises((AssertionError, TypeError)):
        check(Bad(BAD[check]), view, 1)
