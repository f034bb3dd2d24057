"""What is left of a network once every component that can never be congested is taken out of it.

Rows are counted as shares of the most that can ever reach the component, so that numbers of all sizes compare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from penstock.allocate.network import EPSILON, Flags, Floats, Ints, Network, inflow


class Reduced(NamedTuple):
    """`weight` is rows that arrive per row the parent processed, be it through others that are no longer here.

    `worth` is throughput per row, not counting what goes through other nodes here. `capacity[i, k]` is that with k
    units more, never above 1: more than 1 never arrives. `most` bounds k.
    """

    node: Ints
    parents_from: Ints
    parent: Ints
    weight: Floats
    worth: Floats
    offered: Floats
    capacity: Floats
    most: Ints
    is_source: Flags
    constant: float


@njit(cache=True)
def _largest_inputs(net: Network) -> Floats:
    size = len(net.value)
    largest, processed = np.zeros(size), np.zeros(size)
    for i in range(size):
        capacity = net.capacity[net.first[i + 1] - 1]
        largest[i] = capacity if net.is_source[i] else inflow(net, i, processed)
        processed[i] = min(largest[i], capacity)
    return largest


@njit(cache=True)
def _that_matter(net: Network, largest: Floats) -> Ints:
    size = len(net.value)
    index = np.full(size, -1)
    count = 0
    for i in range(size):
        free_source = net.is_source[i] and net.first[i + 1] - net.first[i] > 1 and largest[i] > 0
        may_congest = net.capacity[net.first[i]] < largest[i] * (1 - EPSILON)
        if free_source or (may_congest and not net.is_source[i]):
            index[i] = count
            count += 1
    return index


@njit(cache=True)
def reduced(net: Network, budget: int) -> Reduced:
    largest = _largest_inputs(net)
    index = _that_matter(net, largest)
    node = np.flatnonzero(index >= 0)
    reaches, worth, offered, constant = _paths(net, index, len(node))
    capacity, most = _capacities(net, node, largest, budget)
    size = largest[node]
    parents_from, parent, weight = _edges(reaches, size)
    worth, offered = worth * size, offered / size
    return Reduced(node, parents_from, parent, weight, worth, offered, capacity, most, net.is_source[node], constant)


@njit(cache=True)
def _edges(reaches: Floats, size: Floats) -> tuple[Ints, Ints, Floats]:
    count = len(size)
    parents_from = np.zeros(count + 1, dtype=np.int64)
    parent, weight = np.empty(count**2, dtype=np.int64), np.empty(count**2)
    edges = 0
    for child in range(count):
        for p in range(child):
            if reaches[p, child] > 0:
                parent[edges], weight[edges] = p, reaches[p, child] * size[p] / size[child]
                edges += 1
        parents_from[child + 1] = edges
    return parents_from, parent[:edges].copy(), weight[:edges].copy()


@njit(cache=True)
def _paths(net: Network, index: Ints, count: int) -> tuple[Floats, Floats, Floats, float]:
    """Follows every row through the nodes that always take it, to the next that may not, or to a sink."""
    size = len(net.value)
    carried, fixed = np.zeros((size, count)), np.zeros(size)
    reaches, worth, offered, constant = np.zeros((count, count)), np.zeros(count), np.zeros(count), 0.0
    for i in range(size):
        for e in range(net.parents_from[i], net.parents_from[i + 1]):
            fixed[i] += net.weight[e] * fixed[net.parent[e]]
            for c in range(count):
                carried[i, c] += net.weight[e] * carried[net.parent[e], c]
        if index[i] >= 0:
            offered[index[i]], fixed[i] = fixed[i], 0.0
            for c in range(count):
                reaches[c, index[i]], carried[i, c] = carried[i, c], 0.0
            carried[i, index[i]] = 1.0
        elif net.is_source[i]:
            fixed[i] = net.capacity[net.first[i]]
        for c in range(count):
            worth[c] += net.value[i] * carried[i, c]
        constant += net.value[i] * fixed[i]
    return reaches, worth, offered, constant


@njit(cache=True)
def _capacities(net: Network, node: Ints, largest: Floats, budget: int) -> tuple[Floats, Ints]:
    most = np.minimum(net.first[node + 1] - net.first[node] - 1, budget)
    capacity = np.empty((len(node), budget + 1))
    for c in range(len(node)):
        for k in range(budget + 1):
            rows = net.capacity[net.first[node[c]] + min(k, most[c])]
            capacity[c, k] = min(1.0, rows / largest[node[c]])
    return capacity, most


@njit(cache=True)
def emitted(red: Reduced, extra: Ints) -> float:
    """The throughput with so many units more at each node: the compute model on what is left."""
    processed = np.zeros(len(extra))
    total = red.constant
    for i in range(len(extra)):
        rows = red.capacity[i, extra[i]]
        if not red.is_source[i]:
            arriving = red.offered[i]
            for e in range(red.parents_from[i], red.parents_from[i + 1]):
                arriving += red.weight[e] * processed[red.parent[e]]
            rows = min(rows, arriving)
        processed[i] = rows
        total += red.worth[i] * rows
    return total
