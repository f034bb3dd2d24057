"""The residual step: units that no candidate fits go, one by one, to the candidate that needs the fewest.

Puttaswamy, section 5.2.6. The head gets one unit, what is left is tried on the subtree below it, then on the whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.allocate.answer import Answer, answer_of
from penstock.allocate.candidates import Candidate, Selection, candidates
from penstock.allocate.measured import Question
from penstock.allocate.model import Model, decision_model
from penstock.allocate.network import Flags, Ints
from penstock.allocate.selection import greedy_selection

Select = Callable[[Model, Ints, int, Flags | None], Selection]


def safe_then_residual(algorithm: str, question: Question, select: Select) -> Answer:
    model = decision_model(question, reach_of(question.extra_units))
    safe = select(model, model.none(), question.extra_units, None)
    extra = residual_extra(model, safe.extra, question.extra_units - int(safe.extra.sum()), select)
    return answer_of(algorithm, question, extra, _why(question, safe, extra), safe.extra)


def reach_of(units: int) -> int:
    """Candidates over budget are compared by what they need, so their needs are counted beyond the budget."""
    return 2 * units + 8


def residual_extra(model: Model, extra: Ints, units: int, select: Select) -> Ints:
    """`extra` with up to so many units more; some stay where nothing congested can take one."""
    scope: Flags | None = None
    while units > 0:
        chosen = _fewest_units(candidates(model, extra, units, scope))
        if chosen is None and scope is None:
            break
        if chosen is None:
            scope = None
            continue
        grown = extra.copy()
        grown[chosen.head] += 1
        scope = model.below[chosen.head] | (np.arange(model.net.size) == chosen.head)
        selected = select(model, grown, units - 1, scope)
        units -= int((selected.extra - extra).sum())
        extra = selected.extra
    return extra


def _fewest_units(found: list[Candidate]) -> Candidate | None:
    """Those whose descendants cannot be served at all come last."""
    return min(found, key=lambda c: (not c.enough, c.units, -round(c.increase_per_unit, 9), c.head), default=None)


def _why(question: Question, safe: Selection, extra: Ints) -> str:
    parts = question.topology.components
    heads = ", ".join(f"{parts[h].id}: {n}" for h, n in safe.heads.items())
    spent, left = int(safe.extra.sum()), int((extra - safe.extra).sum())
    chosen = f"heads {{{heads}}} with all below them decongested take {spent} units" if heads else "no candidate fits"
    if not left:
        return chosen
    return f"{chosen}; {left} more go where the fewest units are missing, and may move congestion downstream"


def residual(question: Question) -> Answer:
    """The predictive selection and the residual step after it: the thesis' column "Our Approach"."""
    return safe_then_residual("residual", question, greedy_selection)
