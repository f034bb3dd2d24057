"""The published greedy selection: by throughput gained per unit, candidates that decongest all below their head.

Puttaswamy, section 5.2.5 and Algorithm 5.
"""

from __future__ import annotations

from penstock.allocate.candidates import Candidate, Selection, candidates, served, superseded, with_candidate
from penstock.allocate.model import Model
from penstock.allocate.network import Flags, Ints


def greedy_selection(model: Model, extra: Ints, budget: int, scope: Flags | None = None) -> Selection:
    """One walk over the candidates, the best increase per unit first; a superset replaces what it holds."""
    selected = Selection({}, extra)
    for candidate in sorted(candidates(model, extra, budget, scope), key=_by_increase_per_unit):
        if candidate.units <= budget and candidate.enough and not superseded(model, selected.heads, candidate):
            selected = _taken(model, extra, budget, selected, candidate)
    return selected


def _by_increase_per_unit(candidate: Candidate) -> tuple[float, int, int]:
    return -round(candidate.increase_per_unit, 9), candidate.units, candidate.head


def _taken(model: Model, extra: Ints, budget: int, selected: Selection, candidate: Candidate) -> Selection:
    heads = with_candidate(model, selected.heads, candidate)
    grown, enough = served(model, extra, heads)
    fits = enough and (grown - extra).sum() <= budget
    return Selection(heads, grown) if fits else selected
