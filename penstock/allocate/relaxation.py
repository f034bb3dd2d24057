"""The bound that `exact` prunes with: units divisible, capacities replaced by their concave hull.

For any prices a_i of a row that arrives at i, with V_i what a row processed at i is worth at its children's prices,
b_i = max(0, V_i - a_i), and any price l of a unit, no allocation has more throughput than

    sum_i a_i offered_i  +  l budget  +  sum_i max_k (b_i capacity_i(k) - l k)

because rows processed are at most rows that arrived and at most the capacity. The linear program is asked only for
good prices: the bound is recomputed from them by this formula, so that it holds whatever rounding did to the program.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from penstock.allocate.network import Floats, Ints
from penstock.allocate.reduced import Reduced
from penstock.allocate.simplex import maximise, row_prices, tableau_of, values


@njit(cache=True)
def _segments(red: Reduced, low: Ints, high: Ints) -> tuple[Ints, Floats, Floats]:
    """Columns of the program: owner, rows for each of the column's own unit, upper bound.

    First for each node the capacity it has at `low`, then the segments of the hull above it, measured in units.
    """
    count = len(low)
    most = count + int((high - low).sum())
    owner, slope, upper = np.empty(most, dtype=np.int64), np.empty(most), np.empty(most)
    columns = count
    for i in range(count):
        owner[i], slope[i], upper[i] = i, 1.0, red.capacity[i, low[i]]
        at = low[i]
        while at < high[i]:
            best, to = 0.0, high[i]
            for k in range(at + 1, high[i] + 1):
                rise = (red.capacity[i, k] - red.capacity[i, at]) / (k - at)
                if rise >= best * (1 + 1e-12) and rise > 0:
                    best, to = rise, k
            if best > 0:
                owner[columns], slope[columns], upper[columns] = i, best, to - at
                columns += 1
            at = to
    return owner[:columns], slope[:columns], upper[:columns]


@njit(cache=True)
def _cells(red: Reduced, owner: Ints, slope: Floats) -> Floats:
    """Row 0 the objective, then an inflow row for each node, last the budget."""
    count = len(red.node)
    cells = np.zeros((count + 2, len(owner)))
    for c in range(len(owner)):
        i = owner[c]
        cells[0, c] = red.worth[i] * slope[c]
        if not red.is_source[i]:
            cells[1 + i, c] = slope[c]
        cells[count + 1, c] = 1.0 if c >= count else 0.0
    _fill_arrivals(red, owner, slope, cells)
    return cells


@njit(cache=True)
def _fill_arrivals(red: Reduced, owner: Ints, slope: Floats, cells: Floats) -> None:
    count = len(red.node)
    arrivals = np.zeros((count, count))
    for child in range(count):
        for e in range(red.parents_from[child], red.parents_from[child + 1]):
            arrivals[child, red.parent[e]] = red.weight[e]
    for c in range(len(owner)):
        for child in range(owner[c] + 1, count):
            cells[1 + child, c] = -arrivals[child, owner[c]] * slope[c]


@njit(cache=True)
def relaxed(red: Reduced, low: Ints, high: Ints, budget: int) -> tuple[Floats, Floats, Floats, int]:
    """Rows processed and units by node at the relaxed optimum, prices (the last is that of a unit), and the work."""
    count = len(low)
    owner, slope, upper = _segments(red, low, high)
    right = np.zeros(count + 2)
    right[1 : count + 1] = red.offered
    right[count + 1] = budget - low.sum()
    tab = tableau_of(_cells(red, owner, slope), right, upper)
    work = maximise(tab, 40 * (count + 2))
    found = values(tab)
    rows, units = np.zeros(count), low.astype(np.float64)
    for c in range(len(owner)):
        rows[owner[c]] += slope[c] * found[c]
        if c >= count:
            units[owner[c]] += found[c]
    return rows, units, row_prices(tab), work


@njit(cache=True)
def capacity_prices(red: Reduced, prices: Floats) -> tuple[Floats, float]:
    """b_i, and the first sum of the bound; prices above a row's worth are cut to it."""
    count = len(red.node)
    worth, left, offered = red.worth.copy(), np.zeros(count), red.constant
    for i in range(count - 1, -1, -1):
        paid = 0.0 if red.is_source[i] else min(worth[i], max(0.0, prices[i]))
        for e in range(red.parents_from[i], red.parents_from[i + 1]):
            worth[red.parent[e]] += red.weight[e] * paid
        left[i] = worth[i] - paid
        offered += paid * red.offered[i]
    return left, offered


@njit(cache=True)
def tightened(red: Reduced, prices: Floats, low: Ints, high: Ints, budget: int, at_least: float) -> float:
    """The bound on all allocations between `low` and `high`; narrows the two to where `at_least` is in reach."""
    count = len(low)
    of_capacity, bound = capacity_prices(red, prices)
    of_unit = prices[count]
    best = np.empty(count)
    for i in range(count):
        best[i] = -np.inf
        for k in range(low[i], high[i] + 1):
            best[i] = max(best[i], of_capacity[i] * red.capacity[i, k] - of_unit * k)
        bound += best[i]
    bound += of_unit * budget
    for i in range(count):
        slack = bound - at_least - best[i]
        while low[i] < high[i] and slack + of_capacity[i] * red.capacity[i, low[i]] - of_unit * low[i] < 0:
            low[i] += 1
        while low[i] < high[i] and slack + of_capacity[i] * red.capacity[i, high[i]] - of_unit * high[i] < 0:
            high[i] -= 1
    return float(bound)
