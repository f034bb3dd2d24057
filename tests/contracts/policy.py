"""What must hold of every policy, whatever it decides. Each check takes a policy, a view and a seed."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.observe.history import History
from penstock.policies.gate import why_refused
from penstock.policies.policy import Decision, Memory, Policy, View

Check = Callable[[Policy, View, int], None]


def lived(policy: Policy, view: View, seed: int) -> list[tuple[View, Memory, Decision]]:
    """The policy over the view's history, snapshot by snapshot, with the memory that it keeps, then once more."""
    memory: Memory = {}
    told = []
    for i in range(1, len(view.history.snapshots) + 1):
        history = History(view.history.window_s, view.history.snapshots[:i])
        at = replace(view, history=history, now_s=history.snapshots[-1].end_s)
        decision = policy.decide(at, memory, np.random.default_rng([seed, i]))
        told.append((at, memory, decision))
        memory = decision.memory
    return told


def changes_nothing_it_is_given(policy: Policy, view: View, seed: int) -> None:
    before = pickle.dumps(view)
    for at, memory, _ in lived(policy, view, seed):
        remembered = copy.deepcopy(memory)
        policy.decide(at, memory, np.random.default_rng(seed))
        assert memory == remembered
    assert pickle.dumps(view) == before


def decides_the_same_twice(policy: Policy, view: View, seed: int) -> None:
    for at, memory, _ in lived(policy, view, seed):
        first, second = (policy.decide(at, memory, np.random.default_rng(seed)) for _ in range(2))
        assert first == second


def remembers_in_json(policy: Policy, view: View, seed: int) -> None:
    """A memory that was written to a file and read back leads to the same decision."""
    for at, memory, _ in lived(policy, view, seed):
        stored: dict[str, Any] = json.loads(json.dumps(dict(memory), allow_nan=False))
        decisions = [policy.decide(at, m, np.random.default_rng(seed)) for m in (memory, stored)]
        assert decisions[0].parts == decisions[1].parts


def is_calm_on_an_empty_history(policy: Policy, view: View, seed: int) -> None:
    empty = replace(view, history=History(view.history.window_s))
    decision = policy.decide(empty, {}, np.random.default_rng(seed))
    assert decision.parts == ()
    assert decision.why


def asks_only_for_what_can_be(policy: Policy, view: View, seed: int) -> None:
    for at, _, decision in lived(policy, view, seed):
        assert why_refused(decision.parts, at) is None


def says_why(policy: Policy, view: View, seed: int) -> None:
    assert all(decision.why for _, _, decision in lived(policy, view, seed))


def memory_does_not_grow(policy: Policy, view: View, seed: int) -> None:
    """It may grow with components, never with time."""
    sizes = [len(json.dumps(dict(d.memory))) for _, _, d in lived(policy, view, seed)]
    assert all(size < 100 + 200 * (1 + len(view.targets)) for size in sizes)


CHECKS: tuple[Check, ...] = (
    changes_nothing_it_is_given,
    decides_the_same_twice,
    remembers_in_json,
    is_calm_on_an_empty_history,
    asks_only_for_what_can_be,
    says_why,
    memory_does_not_grow,
)
