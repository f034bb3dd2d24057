"""Bounds and divided units for networks of any size, from prices that are improved step by step.

The bound is that of `relaxation.py`; there a linear program finds the prices, here subgradient steps do. Rows are lost
at a price: where more is asked of a node than arrives its price rises, where less, it falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from penstock.allocate.network import Flags, Floats, Ints, Network, inflow

PATIENCE_ROUNDS = 20  # without a lower bound, before the steps get shorter


class Asked(NamedTuple):
    """What each node would do at the present prices, and the bound on throughput that they give."""

    bound: float
    units: Ints
    rows: Floats


class Corners(NamedTuple):
    """The units at which the concave hull of each node's capacity bends: at any price one of them pays most."""

    first: Ints
    units: Ints
    rows: Floats


@njit(cache=True)
def corners_of(net: Network, budget: int) -> Corners:
    first = np.zeros(len(net.value) + 1, dtype=np.int64)
    units, rows = np.empty(len(net.capacity), dtype=np.int64), np.empty(len(net.capacity))
    end = 0
    for i in range(len(net.value)):
        start = end
        for k in range(min(net.first[i + 1] - net.first[i], budget + 1)):
            capacity = net.capacity[net.first[i] + k]
            while end - start >= 2 and _below(units, rows, end, k, capacity):
                end -= 1
            units[end], rows[end] = k, capacity
            end += 1
        first[i + 1] = end
    return Corners(first, units[:end].copy(), rows[:end].copy())


@njit(cache=True)
def _below(units: Ints, rows: Floats, end: int, k: int, capacity: float) -> bool:
    """The last corner lies on or below the line from the one before it to the new point."""
    rise = (rows[end - 1] - rows[end - 2]) * (k - units[end - 2])
    return bool(rise <= (capacity - rows[end - 2]) * (units[end - 1] - units[end - 2]) * (1 + 1e-12))


@njit(cache=True)
def priced(net: Network, corners: Corners, prices: Floats, unit_price: float, budget: int) -> Asked:
    """`prices` are per row that arrives; each node takes the rows and units that pay most, arrived or not."""
    size = len(net.value)
    worth, units, rows = net.value.copy(), np.zeros(size, dtype=np.int64), np.zeros(size)
    bound = unit_price * budget
    for i in range(size - 1, -1, -1):
        paid = 0.0 if net.is_source[i] else min(prices[i], worth[i])
        for e in range(net.parents_from[i], net.parents_from[i + 1]):
            worth[net.parent[e]] += net.weight[e] * paid
        best = -np.inf
        for c in range(corners.first[i], corners.first[i + 1]):
            gain = (worth[i] - paid) * corners.rows[c] - unit_price * corners.units[c]
            if gain > best:
                best, units[i], rows[i] = gain, corners.units[c], corners.rows[c]
        if worth[i] <= paid:
            rows[i] = 0.0
        bound += best
    return Asked(bound, units, rows)


@njit(cache=True)
def marginal_worth(net: Network, lost: Flags) -> tuple[Floats, Floats]:
    """Throughput per row more processed at each node, and per row more that arrives, where `lost` nodes are full."""
    worth, arriving = net.value.copy(), np.zeros(len(net.value))
    for i in range(len(net.value) - 1, -1, -1):
        arriving[i] = 0.0 if lost[i] or net.is_source[i] else worth[i]
        for e in range(net.parents_from[i], net.parents_from[i + 1]):
            worth[net.parent[e]] += net.weight[e] * arriving[i]
    return worth, arriving


@njit(cache=True)
def cheapened(
    net: Network, prices: Floats, unit_price: float, budget: int, throughput: float, rounds: int
) -> tuple[float, Floats]:
    """The least bound seen, and the units asked for on average of the later half of the rounds."""
    size = len(net.value)
    scale, corners = _largest(net), corners_of(net, budget)
    least, pace, stalled = np.inf, 1.0, 0
    average, cheapest, cheapest_unit = np.zeros(size), prices.copy(), unit_price
    for at in range(rounds):
        asked = priced(net, corners, prices, unit_price, budget)
        stalled += 1
        if asked.bound < least * (1 - 1e-5):
            stalled = 0
        if asked.bound < least:
            least, cheapest_unit = asked.bound, unit_price
            cheapest[:] = prices
        if 2 * at >= rounds:
            average += asked.units
        if stalled >= PATIENCE_ROUNDS:
            pace, stalled, unit_price = pace * 0.6, 0, cheapest_unit
            prices[:] = cheapest
            continue
        unit_price = _step(net, scale, prices, (unit_price, budget), asked, pace * (asked.bound - throughput * 0.999))
    return least, average / (rounds - (rounds + 1) // 2)


@njit(cache=True)
def _largest(net: Network) -> Floats:
    largest, processed = np.ones(len(net.value)), np.zeros(len(net.value))
    for i in range(len(net.value)):
        processed[i] = net.capacity[net.first[i + 1] - 1]
        if not net.is_source[i]:
            rows = inflow(net, i, processed)
            processed[i] = min(processed[i], rows)
            largest[i] = max(rows, 1e-300)
    return largest


@njit(cache=True)
def _step(
    net: Network, scale: Floats, prices: Floats, of_units: tuple[float, int], asked: Asked, excess: float
) -> float:
    """Moves the prices towards balance, in shares of what can arrive at most; returns the new price of a unit."""
    unit_price, budget = of_units
    over_budget = asked.units.sum() / max(budget, 1) - 1.0
    unbalanced, length = np.zeros(len(prices)), over_budget**2
    for i in range(len(prices)):
        if net.is_source[i]:
            continue
        unbalanced[i] = (asked.rows[i] - inflow(net, i, asked.rows)) / scale[i]
        if prices[i] > 0 or unbalanced[i] > 0:
            length += unbalanced[i] ** 2
    if length < 1e-18:
        return unit_price
    for i in range(len(prices)):
        prices[i] = max(0.0, prices[i] + excess / length * unbalanced[i] / scale[i])
    return float(max(0.0, unit_price + excess / length * over_budget / max(budget, 1)))
