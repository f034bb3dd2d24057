"""Branch and bound over ranges of units, the best bound first.

A node of the search holds a range of units for each component. Its relaxation gives a bound and prices; the prices
narrow the ranges; where the relaxed optimum uses a capacity that whole units do not have, the range is split there.
"""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.allocate.network import Floats, Ints
from penstock.allocate.reduced import Reduced, emitted
from penstock.allocate.relaxation import capacity_prices, relaxed, tightened
from penstock.allocate.rounding import WHOLE, dived, improved, rounded

Ranges = NDArray[np.int32]  # least and most units by node, for each range

PROVED_SHARE = 1e-10
SHORT = 1e-9
ROUNDED_FIRST, ROUNDED_EVERY = 32, 8  # rounding costs more than the relaxation, and finds little later on


@njit(cache=True)
def best_allocation(red: Reduced, budget: int, start: Ints, work_limit: int) -> tuple[Ints, float, float, int]:
    """Extra units by node, their throughput, a bound on the throughput of any, and the ranges searched."""
    best, value = start, emitted(red, start)
    if len(red.node) == 0:
        return best, value, value, 0
    ranges = _first_range(red, budget)
    queue, used, work, searched, closed = [(-np.inf, 0)], 1, 0, 0, value
    while len(queue) > 0 and work < work_limit and -queue[0][0] > value * (1 + PROVED_SHARE):
        bound, place = heapq.heappop(queue)
        low, high = ranges[place, 0].astype(np.int64), ranges[place, 1].astype(np.int64)
        rows, units, prices, written = relaxed(red, low, high, budget)
        searched += 1
        split = _split(red, prices, rows, units)
        found, found_value, written_more = _whole(red, units, (low, high), budget, (searched, split))
        work += written + written_more
        if found_value > value:
            best, value = found, found_value
        own = min(-bound, tightened(red, prices, low, high, budget, value * (1 + PROVED_SHARE)))
        if own <= value * (1 + PROVED_SHARE):
            continue
        if split < 0:
            closed = max(closed, own)
            continue
        _store(ranges, place, low, high)
        if used + 2 > len(ranges):
            ranges = np.concatenate((ranges, np.zeros_like(ranges)))
        used = _push_halves(queue, ranges, place, used, (split, int(units[split] + WHOLE), budget), own)
    bound = -queue[0][0] if len(queue) > 0 else value
    return best, value, max(value, bound, closed), searched


@njit(cache=True)
def _first_range(red: Reduced, budget: int) -> Ranges:
    ranges = np.zeros((64, 2, len(red.node)), dtype=np.int32)
    _store(ranges, 0, np.zeros_like(red.most), np.minimum(red.most, budget))
    return ranges


@njit(cache=True)
def _store(ranges: Ranges, place: int, low: Ints, high: Ints) -> None:
    """Element by element: assigning slices takes seconds more to compile."""
    for i in range(len(low)):
        ranges[place, 0, i], ranges[place, 1, i] = low[i], high[i]


@njit(cache=True)
def _whole(
    red: Reduced, units: Floats, within: tuple[Ints, Ints], budget: int, at: tuple[int, int]
) -> tuple[Ints, float, int]:
    """Whole units near the relaxed ones, where it is their turn; the throughput is minus infinity where it is not."""
    searched, split = at
    if split >= 0 and searched > ROUNDED_FIRST and searched % ROUNDED_EVERY != 0:
        return np.zeros(0, dtype=np.int64), -np.inf, 0
    if searched in (2, 16, 128, 1024) and len(units) * searched > 1000:
        dive: tuple[Ints, float, int] = dived(red, within[0], within[1], budget)
        return dive
    found, value = rounded(red, units, within[1], budget)
    if searched == 1:
        value = improved(red, found, value, budget, 2 * budget)
    return found, value, 0


@njit(cache=True)
def _push_halves(
    queue: list[tuple[float, int]], ranges: Ranges, place: int, used: int, cut: tuple[int, int, int], bound: float
) -> int:
    """Queues the parts of a range up to and above the cut that can hold an allocation; returns the places used."""
    node, at, budget = cut
    for side in range(2):
        _store(ranges, used, ranges[place, 0], ranges[place, 1])
        if side == 0:
            ranges[used, 1, node] = min(at, ranges[place, 1, node])
        else:
            ranges[used, 0, node] = max(at + 1, ranges[place, 0, node])
        if ranges[used, 0, node] <= ranges[used, 1, node] and ranges[used, 0].sum() <= budget:
            heapq.heappush(queue, (-bound, used))
            used += 1
    return used


@njit(cache=True)
def _split(red: Reduced, prices: Floats, rows: Floats, units: Floats) -> int:
    """The node whose whole units fall short of its relaxed rows by the highest worth; -1 where none does."""
    of_capacity, _ = capacity_prices(red, prices)
    chosen, most = -1, 0.0
    for i in range(len(rows)):
        short = rows[i] - red.capacity[i, int(units[i] + WHOLE)]
        score = short * (of_capacity[i] + 1e-3 * red.worth.max())
        if short > SHORT and score > most:
            chosen, most = i, score
    return chosen
