"""For very large topologies: units where they gain most, and a bound that says how far from the best that may be.

Prices of rows and units (see `prices.py`) give the bound and a divided allocation; whole units are taken from it, and
the rest go one by one to the node with the largest gain among the few most promising.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit

from penstock.allocate.answer import Answer, answer_of
from penstock.allocate.certificate import certified
from penstock.allocate.measured import Question
from penstock.allocate.model import Model, decision_model
from penstock.allocate.network import EPSILON, Flags, Floats, Ints, Network, capacity_at, pass_rows
from penstock.allocate.prices import cheapened, marginal_worth

ROUNDS = 2000
PROMISING = 4
AHEAD_UNITS = 16


@njit(cache=True)
def _throughput(net: Network, extra: Ints) -> float:
    inputs, processed = np.empty(len(extra)), np.empty(len(extra))
    return float(pass_rows(net, extra, False, inputs, processed))


@njit(cache=True)
def _full(net: Network, extra: Ints) -> tuple[Flags, Floats]:
    """Nodes that could not take a row more, and the rows that arrive at each."""
    inputs, processed = np.empty(len(extra)), np.empty(len(extra))
    pass_rows(net, extra, False, inputs, processed)
    full = np.zeros(len(extra), dtype=np.bool_)
    for i in range(len(extra)):
        full[i] = inputs[i] >= capacity_at(net, i, extra[i]) * (1 - EPSILON)
    return full, inputs


@njit(cache=True)
def _promise(net: Network, extra: Ints, node: int, rows: float, left: int) -> tuple[float, int]:
    """The most rows gained per unit at a node, and for how many units at once: a staircase may need several."""
    best, units = 0.0, 0
    now = capacity_at(net, node, extra[node])
    most = net.first[node + 1] - net.first[node] - 1 - extra[node]
    for n in range(1, min(most, left, AHEAD_UNITS) + 1):
        rise = (min(rows, capacity_at(net, node, extra[node] + n)) - now) / n
        if rise > best:
            best, units = rise, n
    return best, units


@njit(cache=True)
def _next_purchase(net: Network, extra: Ints, left: int) -> tuple[int, int]:
    """The node and units with the largest true gain per unit among the most promising; -1 where none gains."""
    full, inputs = _full(net, extra)
    worth, _ = marginal_worth(net, full)
    scores, units = np.zeros(len(extra)), np.zeros(len(extra), dtype=np.int64)
    for i in range(len(extra)):
        if full[i] or net.is_source[i]:
            rows = np.inf if net.is_source[i] else inputs[i]
            rise, units[i] = _promise(net, extra, i, rows, left)
            scores[i] = worth[i] * rise
    before = _throughput(net, extra)
    chosen, best = -1, before * 1e-12
    for _ in range(PROMISING):
        i = int(scores.argmax())
        if scores[i] <= 0:
            break
        scores[i] = 0.0
        extra[i] += units[i]
        gain = (_throughput(net, extra) - before) / units[i]
        extra[i] -= units[i]
        if gain > best:
            chosen, best = i, gain
    return chosen, 0 if chosen < 0 else units[chosen]


@njit(cache=True)
def spend(net: Network, extra: Ints, wanted: Floats, budget: int) -> None:
    """Adds units to `extra` one purchase at a time; where none gains, to the node furthest below what is wanted."""
    left = budget - extra.sum()
    while left > 0:
        chosen, units = _next_purchase(net, extra, left)
        if chosen < 0:
            missing = np.where(extra < np.diff(net.first) - 1, wanted - extra, 0.0)
            chosen, units = int(missing.argmax()), 1
            if missing[chosen] <= 0:
                return
        extra[chosen] += units
        left -= units


def greedy_bound(question: Question) -> Answer:
    extra, bound = allocation_and_bound(decision_model(question), question.extra_units)
    if question.margin_share:
        bound = allocation_and_bound(decision_model(replace(question, margin_share=0.0)), question.extra_units)[1]
    why = "units by the prices that give the bound, the rest one by one where they gain most"
    return answer_of("greedy-bound", question, extra, why).bounded_by(bound)


def allocation_and_bound(model: Model, budget: int) -> tuple[Ints, float]:
    if model.lossless:
        found = certified(model, budget, 0)  # bisection is fast on any size
        return found.extra, found.upper_bound_rows_per_s
    net, greedy, budget = model.net, model.none(), model.useful(budget)
    spend(net, greedy, np.zeros(net.size), budget)
    full, _ = _full(net, greedy)
    prices = marginal_worth(net, full)[1]
    reached = _throughput(net, greedy)
    of_unit = (reached - _throughput(net, model.none())) / max(budget, 1)
    bound, divided = cheapened(net, prices, of_unit, budget, reached, ROUNDS)
    guided = _guided(model, divided, budget)
    return max(greedy, guided, key=model.throughput), float(bound)


def _guided(model: Model, divided: Floats, budget: int) -> Ints:
    """Starts from the whole part of the divided units; what turns out idle is spent again."""
    extra = np.floor(divided + 0.1).astype(np.int64)
    while extra.sum() > budget:
        extra[np.argmax(np.where(extra > 0, extra - divided, -np.inf))] -= 1
    for _ in range(3):
        spend(model.net, extra, divided, budget)
        extra = model.without_idle(extra)
    spend(model.net, extra, np.zeros(model.net.size), budget)
    return extra
