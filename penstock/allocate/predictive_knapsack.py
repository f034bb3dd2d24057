"""Predictive with a knapsack in place of the greedy walk: which candidates together gain most within the budget?

Puttaswamy names it in section 5.2.5 and did not build it. One number of units per head; a head excludes those below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.allocate.answer import Answer
from penstock.allocate.candidates import Candidate, Selection, candidates, served
from penstock.allocate.measured import Question
from penstock.allocate.model import Model
from penstock.allocate.network import EPSILON, Flags, Floats, Ints
from penstock.allocate.residual import safe_then_residual
from penstock.allocate.selection import greedy_selection

MOST_SETS = 2000  # looked at before the best so far is taken: large topologies have far too many


def predictive_knapsack(question: Question) -> Answer:
    return safe_then_residual("predictive-knapsack", question, knapsack_selection)


def knapsack_selection(model: Model, extra: Ints, budget: int, scope: Flags | None = None) -> Selection:
    """The best set of heads; at least as good as the greedy selection, which it starts from."""
    budget = model.useful(budget)
    start = greedy_selection(model, extra, budget, scope)
    fitting = [c for c in candidates(model, extra, budget, scope) if c.units <= budget and c.enough]
    groups = _groups(fitting)
    search = _Search(model, extra, budget, groups, _promises(groups, budget), start, model.throughput(start.extra))
    search.visit(0, {}, extra, model.throughput(extra))
    return search.best


def _groups(fitting: list[Candidate]) -> list[list[Candidate]]:
    """Candidates by head, the head with the best increase per unit first."""
    by_head: dict[int, list[Candidate]] = {}
    for candidate in fitting:
        by_head.setdefault(candidate.head, []).append(candidate)
    return sorted(by_head.values(), key=lambda g: -max(round(c.increase_per_unit, 9) for c in g))


def _promises(groups: list[list[Candidate]], budget: int) -> list[Floats]:
    """`promises[i][u]`: the most that groups i and later could add with u units if heads did not exclude each other."""
    promises = [np.zeros(budget + 1)]
    for group in reversed(groups):
        later, best = promises[0], promises[0].copy()
        for c in group:
            np.maximum(best[c.units :], later[: budget + 1 - c.units] + c.increase_rows_per_s, out=best[c.units :])
        promises.insert(0, best)
    return promises


@dataclass
class _Search:
    """Sets of heads in order of promise. Each set is priced by the model as a union, never as a sum of prices."""

    model: Model
    start: Ints
    budget: int
    groups: list[list[Candidate]]
    promises: list[Floats]
    best: Selection
    best_rows_per_s: float
    sets: int = field(default=0)

    def visit(self, at: int, heads: dict[int, int], extra: Ints, rows_per_s: float) -> None:
        left = self.budget - int((extra - self.start).sum())
        if rows_per_s > self.best_rows_per_s * (1 + EPSILON):
            self.best, self.best_rows_per_s = Selection(heads, extra), rows_per_s
        if at == len(self.groups) or self.sets >= MOST_SETS:
            return
        if rows_per_s + self.promises[at][left] <= self.best_rows_per_s * (1 + EPSILON):
            return
        if not self._excluded(self.groups[at][0].head, heads):
            for candidate in reversed(self.groups[at]):
                self._take(at, heads, candidate)
        self.visit(at + 1, heads, extra, rows_per_s)

    def _excluded(self, head: int, heads: dict[int, int]) -> bool:
        return any(self.model.below[h, head] or self.model.below[head, h] for h in heads)

    def _take(self, at: int, heads: dict[int, int], candidate: Candidate) -> None:
        self.sets += 1
        union = {**heads, candidate.head: candidate.head_units}
        grown, enough = served(self.model, self.start, union)
        if enough and (grown - self.start).sum() <= self.budget and self.sets <= MOST_SETS:
            self.visit(at + 1, union, grown, self.model.throughput(grown))
