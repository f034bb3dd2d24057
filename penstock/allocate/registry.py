"""Every algorithm by name: the only list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.allocate.answer import Answer
from penstock.allocate.certificate import upper_bound
from penstock.allocate.combined import combined
from penstock.allocate.exact import LARGEST_COMPONENTS, exact
from penstock.allocate.greedy_bound import greedy_bound
from penstock.allocate.measured import Question
from penstock.allocate.predictive import predictive
from penstock.allocate.predictive_knapsack import predictive_knapsack
from penstock.allocate.residual import residual
from penstock.allocate.stela import stela

ALGORITHMS: Mapping[str, Callable[[Question], Answer]] = {
    "stela": stela,
    "predictive": predictive,
    "predictive-knapsack": predictive_knapsack,
    "residual": residual,
    "combined": combined,
    "exact": exact,
    "greedy-bound": greedy_bound,
}


def allocated(algorithm: str, question: Question) -> Answer:
    """The answer, with an upper bound also beside those that compute none themselves."""
    answer = ALGORITHMS[algorithm](question)
    if answer.upper_bound_rows_per_s is not None:
        return answer
    if len(question.topology.components) > LARGEST_COMPONENTS:
        bound = greedy_bound(question).upper_bound_rows_per_s
        return answer if bound is None else answer.bounded_by(bound)
    return answer.bounded_by(upper_bound(question))
