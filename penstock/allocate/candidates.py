"""Candidates: some units for a congested head, and what its descendants need to take the rows it then sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.allocate.model import Model
from penstock.allocate.network import EPSILON, Flags, Ints, capacity_at


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """`extra` is the state it leads to, `units` what it costs, `enough` whether every descendant can be served."""

    head: int
    head_units: int
    extra: Ints
    units: int
    increase_rows_per_s: float
    enough: bool

    @property
    def increase_per_unit(self) -> float:
        return self.increase_rows_per_s / self.units


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Heads with their units, and the state with everything below them served."""

    heads: Mapping[int, int]
    extra: Ints


def candidates(model: Model, extra: Ints, budget: int, scope: Flags | None = None) -> list[Candidate]:
    """All candidates with a head in scope, also those that cost more than the budget: the residual step needs them."""
    before = model.throughput(extra)
    takers = model.takers(extra) if scope is None else model.takers(extra) & model.congested(extra) & scope
    return [
        _candidate(model, extra, int(head), units, before)
        for head in np.flatnonzero(takers)
        for units in range(1, min(budget, _units_to_decongest(model, extra, int(head))) + 1)
    ]


def _units_to_decongest(model: Model, extra: Ints, head: int) -> int:
    left = int(model.net.most_extra[head] - extra[head])
    if model.net.is_source[head]:
        return left
    rows = model.seen(extra)[0][head] * (1 - EPSILON)
    enough = (n for n in range(1, left) if capacity_at(model.net, head, extra[head] + n) >= rows)
    return next(enough, left)


def _candidate(model: Model, extra: Ints, head: int, units: int, before_rows_per_s: float) -> Candidate:
    grown, enough = served(model, extra, {head: units})
    increase = model.throughput(grown) - before_rows_per_s
    return Candidate(head, units, grown, int((grown - extra).sum()), increase, enough)


def served(model: Model, extra: Ints, heads: Mapping[int, int]) -> tuple[Ints, bool]:
    """The heads with their units, and all that is below any of them sized for the joint input.

    Candidates are priced alone, but heads may share descendants: only the union says what both cost.
    """
    grown, sized = extra.copy(), np.zeros(model.net.size, dtype=np.bool_)
    for head, units in heads.items():
        grown[head] += units
        sized |= model.below[head]
    return model.decongested(grown, sized)


def superseded(model: Model, heads: Mapping[int, int], candidate: Candidate) -> bool:
    """One that is chosen holds all that this candidate holds."""
    same = heads.get(candidate.head, 0) >= candidate.head_units
    return same or any(model.below[head, candidate.head] for head in heads)


def with_candidate(model: Model, heads: Mapping[int, int], candidate: Candidate) -> dict[int, int]:
    """The candidate in place of all that it supersedes."""
    kept = {h: n for h, n in heads.items() if h != candidate.head and not model.below[candidate.head, h]}
    return {**kept, candidate.head: candidate.head_units}
