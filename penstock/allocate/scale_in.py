"""Which units can go with the least loss of throughput: the best choice, and a fast rule.

Every component keeps one unit. Sources give up units only where they are self-generating (`sources_too`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.allocate.answer import throughput
from penstock.allocate.certificate import QUICK_WORK_LIMIT, Certified, upper_bound
from penstock.allocate.exact import WORK_LIMIT, best_known
from penstock.allocate.measured import Component, MeasuredTopology, Question
from penstock.allocate.model import Model, decision_model
from penstock.allocate.network import Ints
from penstock.allocate.throttled import best_throttled
from penstock.errors import InvalidInput
from penstock.ids import ComponentId

TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Release:
    """`removed` units by component. No other choice keeps more than `upper_bound_rows_per_s`."""

    algorithm: str
    removed: Mapping[ComponentId, int]
    throughput_before_rows_per_s: float
    throughput_rows_per_s: float
    upper_bound_rows_per_s: float
    why: str

    @property
    def decrease_rows_per_s(self) -> float:
        return self.throughput_before_rows_per_s - self.throughput_rows_per_s

    @property
    def gap_share(self) -> float:
        bound = self.upper_bound_rows_per_s
        return max(0.0, 1 - self.throughput_rows_per_s / bound) if bound > 0 else 0.0


def release_exact(question: Question, work_limit: int = WORK_LIMIT) -> Release:
    """`question.extra_units` is how many units go. Starts from one unit each and asks where those that stay go."""
    kept = _kept(question)
    model, removable = decision_model(kept), _removable(question)
    found = best_known(model, kept, work_limit)
    if model.lossless and question.sources_too:
        found = _with_all_spent(model, removable, kept.extra_units, found)
    stay = _all_spent(model, found.extra.copy(), removable, kept.extra_units)
    bound = _bound(kept, work_limit) if question.margin_share else found.upper_bound_rows_per_s
    why = "proved: no other choice keeps more throughput" if found.proved else "the best found; see the gap"
    return _release("exact", question, removable - stay, bound, why)


def _with_all_spent(model: Model, removable: Ints, units: int, found: Certified) -> Certified:
    """Units that stay at a source may slow all others down, but where operators have no room for them they do stay."""
    of_operators = int(removable[~model.net.is_source].sum())
    extra, value, tried_all = best_throttled(model.net, units, units - of_operators)
    return Certified(extra, value, 0, value) if tried_all else found


def release_fast(question: Question) -> Release:
    """Unit by unit: the one whose loss is least; among equals from the component with the most capacity to spare."""
    removable = _removable(question)
    kept = _kept(question)
    model, stay = decision_model(kept, int(removable.sum())), removable.copy()
    for _ in range(question.extra_units):
        stay[_least_missed(model, stay)] -= 1
    return _release("fast", question, removable - stay, _bound(kept, 0), "unit by unit, the one whose loss is least")


def _removable(question: Question) -> Ints:
    parts = question.topology.components
    return np.array([c.units - 1 if question.sources_too or not c.is_source else 0 for c in parts], dtype=np.int64)


def _kept(question: Question) -> Question:
    """The question turned round: with every component at one unit, where do the units that stay go?"""
    removable = _removable(question)
    if question.extra_units > removable.sum():
        raise InvalidInput(
            f"{question.extra_units} units cannot go: with one kept for each component, {removable.sum()} can at most"
        )
    least = (_at_least(c, int(n)) for c, n in zip(question.topology.components, removable, strict=True))
    stay = int(removable.sum()) - question.extra_units
    return replace(question, topology=MeasuredTopology(tuple(least)), extra_units=stay)


def _at_least(component: Component, removable: int) -> Component:
    return replace(component, units=component.units - removable, max_units=component.units)


def _bound(kept: Question, work_limit: int) -> float:
    return upper_bound(replace(kept, margin_share=0.0), max(work_limit, QUICK_WORK_LIMIT))


def _all_spent(model: Model, stay: Ints, most: Ints, units: int) -> Ints:
    """Units that gain nothing still stay where they are, at operators first: only so many go as were asked for."""
    for node in np.argsort(model.net.is_source, kind="stable"):
        stay[node] += min(most[node] - stay[node], units - stay.sum())
    return stay


def _least_missed(model: Model, stay: Ints) -> int:
    inputs, _ = model.seen(stay)
    found: list[tuple[float, float, int]] = []
    for node in np.flatnonzero(stay):
        fewer = stay.copy()
        fewer[node] -= 1
        loss = model.throughput(stay) - model.throughput(fewer)
        rows = 0.0 if model.net.is_source[node] else inputs[node]
        used = rows / max(model.capacities(fewer)[node], TINY)
        found.append((round(loss, 9), used, int(node)))
    return min(found)[2]


def _release(algorithm: str, question: Question, removed: Ints, bound_rows_per_s: float, why: str) -> Release:
    """Both throughputs come from the model, without the margin."""
    parts, semantics = question.topology.components, question.semantics
    named = {c.id: int(n) for c, n in zip(parts, removed, strict=True) if n}
    after = throughput(question.topology, {c: -n for c, n in named.items()}, semantics)
    before = throughput(question.topology, {}, semantics)
    return Release(algorithm, named, before, after, max(after, bound_rows_per_s), why)
