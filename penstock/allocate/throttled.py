"""The best allocation where sources slow down to what the tightest component takes.

For a share of the source rate each component needs a known number of units, so the largest affordable share is found by
bisection over the shares at which some component needs one more. Units of sources are tried in all combinations.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from penstock.allocate.network import EPSILON, Floats, Ints, Network, pass_rows

MOST_COMBINATIONS = 20_000


def best_throttled(net: Network, budget: int, least_for_sources: int = 0) -> tuple[Ints, float, bool]:
    """Extra units by node, the throughput, and whether every combination of source units was tried.

    More at one source may slow the others down: where units must go somewhere, `least_for_sources` of them go there.
    """
    best, value = np.zeros(net.size, dtype=np.int64), -1.0
    tried_all = combinations(net, budget) <= MOST_COMBINATIONS
    for of_sources in _source_units(net, budget, least_for_sources) if tried_all else [best.copy()]:
        extra, rows_per_s = _with_source_units(net, of_sources, budget)
        if rows_per_s > value * (1 + EPSILON):
            best, value = extra, rows_per_s
    return best, float(value), tried_all


def combinations(net: Network, budget: int) -> int:
    reach = np.minimum(net.most_extra[net.is_source], budget)
    return int(np.prod(reach + 1, dtype=np.float64))


def _source_units(net: Network, budget: int, least: int) -> Iterator[Ints]:
    reach = np.where(net.is_source, np.minimum(net.most_extra, budget), 0)
    for units in product(*(range(r + 1) for r in reach)):
        if least <= sum(units) <= budget:
            yield np.array(units, dtype=np.int64)


def _with_source_units(net: Network, of_sources: Ints, budget: int) -> tuple[Ints, float]:
    loads = np.empty(net.size)
    full = pass_rows(net, of_sources, True, loads, np.empty(net.size))
    share, needed = _largest_share(net, loads, budget - int(of_sources.sum()))
    return of_sources + needed, share * full


def _largest_share(net: Network, loads: Floats, budget: int) -> tuple[float, Ints]:
    """The largest share of the loads that so many units more take, and where they go."""
    owner = np.repeat(np.arange(net.size), np.diff(net.first))
    bound = ~net.is_source[owner] & (loads[owner] > 0)
    shares = np.unique(np.minimum(1.0, net.capacity[bound] / loads[owner[bound]]))
    shares = np.append(shares, 1.0)
    low, high = 0, len(shares) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _affordable(net, loads, shares[middle], budget) else (low, middle - 1)
    needed = _needed(net, loads, shares[low])
    return (shares[low], needed) if _affordable(net, loads, shares[low], budget) else (0.0, np.zeros_like(needed))


def _needed(net: Network, loads: Floats, share: float) -> Ints:
    """Units more at each node; one more than there are where even all are not enough."""
    rows = np.where(net.is_source, 0.0, loads) * share * (1 - EPSILON)
    short = net.capacity < np.repeat(rows, np.diff(net.first))
    return np.add.reduceat(short, net.first[:-1], dtype=np.int64)


def _affordable(net: Network, loads: Floats, share: float, budget: int) -> bool:
    needed = _needed(net, loads, share)
    return bool((needed <= net.most_extra).all() and needed.sum() <= budget)
