"""The best allocation that a search found, and a bound that no allocation exceeds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.allocate.branching import best_allocation
from penstock.allocate.measured import Question
from penstock.allocate.model import Model, decision_model
from penstock.allocate.network import Ints
from penstock.allocate.reduced import reduced
from penstock.allocate.throttled import best_throttled

QUICK_WORK_LIMIT = 20_000_000
PROVED_SHARE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """`searched` ranges of allocations were looked into; 0 where no search was needed."""

    extra: Ints
    upper_bound_rows_per_s: float
    searched: int
    value_rows_per_s: float

    @property
    def proved(self) -> bool:
        return self.upper_bound_rows_per_s <= self.value_rows_per_s * (1 + PROVED_SHARE)


def upper_bound(question: Question, work_limit: int = QUICK_WORK_LIMIT) -> float:
    """No allocation of these units has more throughput."""
    model = decision_model(replace(question, margin_share=0.0))
    return certified(model, question.extra_units, work_limit).upper_bound_rows_per_s


def certified(model: Model, units: int, work_limit: int, start: Ints | None = None) -> Certified:
    """`start` is an allocation that is known already: the better it is, the less is searched."""
    if not model.lossless:
        return _of_search(model, units, work_limit, model.none() if start is None else start)
    extra, value, tried_all = best_throttled(model.net, units)
    if tried_all:
        return Certified(extra, value, 0, value)
    # What is throttled away would otherwise at worst be lost: the best without throttling bounds the best with it.
    unthrottled = _of_search(model, units, work_limit, model.none())
    return Certified(extra, unthrottled.upper_bound_rows_per_s, 0, value)


def _of_search(model: Model, units: int, work_limit: int, start: Ints) -> Certified:
    units = model.useful(units)
    small = reduced(model.net, units)
    known = np.minimum(start[small.node], small.most)
    found, value, bound, searched = best_allocation(small, units, known, work_limit)
    extra = model.none()
    extra[small.node] = found
    return Certified(extra, float(bound), int(searched), float(value))
