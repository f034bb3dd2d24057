"""The best allocation, with a proof: no other has more throughput than the bound that is returned beside it.

Rows pass on or are lost (`drop`, `backlog`): branch and bound, see `branching.py`. Throttled sources: `throttled.py`.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.allocate.answer import Answer, answer_of
from penstock.allocate.certificate import Certified, certified, upper_bound
from penstock.allocate.greedy_bound import allocation_and_bound
from penstock.allocate.measured import Question
from penstock.allocate.model import Model, decision_model
from penstock.allocate.network import Ints
from penstock.allocate.predictive_knapsack import knapsack_selection
from penstock.allocate.residual import Select, reach_of, residual_extra
from penstock.allocate.selection import greedy_selection
from penstock.allocate.stela import serial_extra

# Cells of a tableau that pivots may write before the search stops with a bound: some 10 s. A count, not a clock: the
# same question has the same answer on every machine.
WORK_LIMIT = 10_000_000_000
LARGE_COMPONENTS = 60  # from here on the search is not sure to end, and a good start pays
LARGEST_COMPONENTS = 1500  # beyond, one tableau takes more memory than the search is worth


def exact(question: Question, work_limit: int = WORK_LIMIT) -> Answer:
    """The margin binds the allocation, but the bound says what would be possible without it."""
    model = decision_model(question)
    found = best_known(model, question, work_limit)
    bound = found.upper_bound_rows_per_s if not question.margin_share else upper_bound(question, work_limit)
    answer = answer_of("exact", question, model.without_idle(found.extra), _why(found)).bounded_by(bound)
    if found.proved and not question.margin_share:
        return replace(answer, upper_bound_rows_per_s=answer.throughput_rows_per_s)
    return answer


def best_known(model: Model, question: Question, work_limit: int) -> Certified:
    """The search; where it ends without a proof, the best of what any other algorithm finds too."""
    units = question.extra_units
    if model.lossless:
        return certified(model, units, work_limit)
    start, bound = (None, 0.0) if model.net.size < LARGE_COMPONENTS else allocation_and_bound(model, units)
    if start is not None and model.net.size > LARGEST_COMPONENTS:
        return Certified(start, bound, 0, model.throughput(start))
    found = certified(model, units, work_limit, start)
    if found.proved:
        return found
    greedy = allocation_and_bound(model, units)[0] if start is None else start
    best = max([found.extra, greedy, *_by_rules(question)], key=model.throughput)
    return replace(found, extra=best, value_rows_per_s=model.throughput(best))


def _by_rules(question: Question) -> list[Ints]:
    model = decision_model(question, reach_of(question.extra_units))
    return [
        serial_extra(model, question.extra_units)[0],
        _by_candidates(model, question.extra_units, greedy_selection),
        _by_candidates(model, question.extra_units, knapsack_selection),
    ]


def _by_candidates(model: Model, units: int, select: Select) -> Ints:
    safe = select(model, model.none(), units, None).extra
    return residual_extra(model, safe, units - int(safe.sum()), select)


def _why(found: Certified) -> str:
    if not found.proved:
        return f"the best found in {found.searched} ranges; no allocation is better by more than the gap"
    how = f"{found.searched} ranges of allocations searched" if found.searched else "by bisection over source shares"
    return f"proved: no allocation of these units has more throughput ({how}); units that gain nothing are not spent"
