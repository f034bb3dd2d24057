"""Whole units from divided ones: what gives `exact` and `greedy-bound` their allocations."""

from __future__ import annotations

import numpy as np
from numba import njit

from penstock.allocate.network import Floats, Ints
from penstock.allocate.reduced import Reduced, emitted
from penstock.allocate.relaxation import relaxed

NOTICEABLE = 1e-10
WHOLE = 1e-7  # units that close to the next whole number are that number


@njit(cache=True)
def rounded(red: Reduced, units: Floats, high: Ints, budget: int) -> tuple[Ints, float]:
    """Down, then the left units one by one: where one gains most, else where the largest part was cut off."""
    extra = np.floor(units + 1e-7).astype(np.int64)
    cut = units - extra
    value = emitted(red, extra)
    left = budget - extra.sum()
    while left > 0:
        chosen, best = -1, 0.0
        for i in range(len(extra)):
            if extra[i] < high[i]:
                extra[i] += 1
                score = emitted(red, extra) - value + NOTICEABLE * max(0.0, cut[i])
                extra[i] -= 1
                if score > best:
                    chosen, best = i, score
        if chosen < 0:
            break
        extra[chosen] += 1
        cut[chosen] -= 1.0
        value = emitted(red, extra)
        left -= 1
    return extra, value


@njit(cache=True)
def improved(red: Reduced, extra: Ints, value: float, budget: int, rounds: int) -> float:
    """Moves one unit at a time to where it gains, as long as one does; changes `extra`, returns its throughput."""
    for _ in range(rounds):
        source, target, best = _best_move(red, extra, value, budget)
        if target < 0:
            break
        if source >= 0:
            extra[source] -= 1
        extra[target] += 1
        value = best
    return value


@njit(cache=True)
def _best_move(red: Reduced, extra: Ints, value: float, budget: int) -> tuple[int, int, float]:
    """The node to take from (-1: a unit that is left over), the node to give to (-1: nothing gains), and the value."""
    source, target, best = -1, -1, value * (1 + NOTICEABLE)
    left_over = extra.sum() < budget
    for i in range(-1, len(extra)):
        if (i < 0 and not left_over) or (i >= 0 and (left_over or extra[i] == 0)):
            continue
        if i >= 0:
            extra[i] -= 1
        for j in range(len(extra)):
            if j != i and extra[j] < red.most[j]:
                extra[j] += 1
                moved = emitted(red, extra)
                extra[j] -= 1
                if moved > best:
                    source, target, best = i, j, moved
        if i >= 0:
            extra[i] += 1
    return source, target, best


@njit(cache=True)
def dived(red: Reduced, low: Ints, high: Ints, budget: int) -> tuple[Ints, float, int]:
    """Solves the relaxation again and again, each time with the most certain nodes held at whole units."""
    low, high = low.copy(), high.copy()
    work = 0
    while True:
        _, units, _, written = relaxed(red, low, high, budget)
        work += written
        cut = units - np.floor(units + WHOLE)
        divided = np.flatnonzero(cut > WHOLE)
        if len(divided) == 0:
            break
        _hold(low, high, units, cut, divided, budget)
    extra, value = rounded(red, units, high, budget)
    return extra, improved(red, extra, value, budget, budget), work


@njit(cache=True)
def _hold(low: Ints, high: Ints, units: Floats, cut: Floats, divided: Ints, budget: int) -> None:
    """A quarter of the divided nodes, the largest parts first, go to the next whole number or above; else one below."""
    up = 0
    for _ in range((len(divided) + 3) // 4):
        i = divided[np.argmax(cut[divided])]
        above = int(units[i] + WHOLE) + 1
        if cut[i] >= 0.5 and low.sum() - low[i] + above <= budget:
            low[i] = above
            up += 1
        cut[i] = 0.0
    if up == 0:
        smallest = divided[np.argmin(units[divided] - np.floor(units[divided]))]
        high[smallest] = max(low[smallest], int(units[smallest] + WHOLE))
