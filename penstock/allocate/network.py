"""A measured topology as arrays, and the compute model over them: rows pass through in topological order.

Node i is component i. Extra units are an array with one number for each node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.allocate.measured import Component, MeasuredTopology

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

EPSILON = 1e-9  # 100 * .07 is 7.000000000000001: an input that is larger by this share is not larger


class Network(NamedTuple):
    """Flat arrays, so that compiled code takes them. `capacity[first[i] + k]` is that of node i with k units more.

    The list of a node ends where more units are useless or not to be had; its last entry holds for all above.
    `weight` is rows that arrive per row the parent processed; `value` is throughput per row processed.
    """

    parents_from: Ints
    parent: Ints
    weight: Floats
    value: Floats
    is_source: Flags
    first: Ints
    capacity: Floats

    @property
    def size(self) -> int:
        return len(self.value)

    @property
    def most_extra(self) -> Ints:
        return np.diff(self.first) - 1


def network_of(topology: MeasuredTopology, reach_units: int, sources_too: bool, lossless: bool) -> Network:
    """`reach_units` bounds the extra units looked at; with `lossless` the inputs are those of unlimited capacity."""
    parts = topology.components
    index = {c.id: i for i, c in enumerate(parts)}
    incoming: list[list[tuple[int, float]]] = [[] for _ in parts]
    for i, c in enumerate(parts):
        for child, ratio in c.children:
            incoming[index[child]].append((i, ratio * c.out_in_ratio))
    lists, highest = [], [0.0] * len(parts)
    for i, c in enumerate(parts):
        largest_input = sum(w * highest[p] for p, w in incoming[i])
        reach = reach_units if sources_too or not c.is_source else 0
        capacities = _capacities(c, largest_input, reach)
        lists.append(capacities)
        highest[i] = (
            capacities[-1] if c.is_source else largest_input if lossless else min(largest_input, capacities[-1])
        )
    return _flat(parts, incoming, lists)


def _capacities(component: Component, largest_input: float, reach_units: int) -> list[float]:
    left = component.units_left
    reach = reach_units if left is None else min(left, reach_units)
    enough = np.inf if component.is_source else largest_input * (1 - EPSILON)
    at, units = component.curve.at, component.units
    capacities = [at(units)]
    while len(capacities) <= reach and capacities[-1] < enough:
        capacities.append(at(units + len(capacities)))
    return capacities


def _flat(parts: tuple[Component, ...], incoming: list[list[tuple[int, float]]], lists: list[list[float]]) -> Network:
    edges = [edge for of_node in incoming for edge in of_node]
    return Network(
        parents_from=_offsets([len(e) for e in incoming]),
        parent=np.array([p for p, _ in edges], dtype=np.int64),
        weight=np.array([w for _, w in edges], dtype=np.float64),
        value=np.array([0.0 if c.children else c.out_in_ratio for c in parts], dtype=np.float64),
        is_source=np.array([c.is_source for c in parts], dtype=np.bool_),
        first=_offsets([len(c) for c in lists]),
        capacity=np.array([r for c in lists for r in c], dtype=np.float64),
    )


def _offsets(lengths: list[int]) -> Ints:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@njit(cache=True)
def capacity_at(net: Network, node: int, extra: int) -> float:
    return float(net.capacity[min(net.first[node] + extra, net.first[node + 1] - 1)])


@njit(cache=True)
def inflow(net: Network, node: int, processed: Floats) -> float:
    rows = 0.0
    for e in range(net.parents_from[node], net.parents_from[node + 1]):
        rows += net.weight[e] * processed[net.parent[e]]
    return rows


@njit(cache=True)
def pass_rows(net: Network, extra: Ints, lossless: bool, inputs: Floats, processed: Floats) -> float:
    """Fills `inputs` and `processed`, returns what the sinks emit; `lossless` passes on what does not fit."""
    emitted = 0.0
    for i in range(len(net.value)):
        capacity = capacity_at(net, i, extra[i])
        rows = capacity if net.is_source[i] else inflow(net, i, processed)
        inputs[i] = rows
        processed[i] = rows if lossless else min(rows, capacity)
        emitted += net.value[i] * processed[i]
    return emitted


@njit(cache=True)
def pass_and_size(net: Network, extra: Ints, sized: Flags, lossless: bool, processed: Floats) -> bool:
    """Gives the `sized` nodes units until they take their input; False where some cannot get enough."""
    enough = True
    for i in range(len(net.value)):
        rows = capacity_at(net, i, extra[i]) if net.is_source[i] else inflow(net, i, processed)
        most = net.first[i + 1] - net.first[i] - 1
        while sized[i] and extra[i] < most and capacity_at(net, i, extra[i]) < rows * (1 - EPSILON):
            extra[i] += 1
        capacity = capacity_at(net, i, extra[i])
        enough &= not sized[i] or capacity >= rows * (1 - EPSILON)
        processed[i] = rows if lossless else min(rows, capacity)
    return enough


@njit(cache=True)
def accepted_share(net: Network, extra: Ints, loads: Floats) -> float:
    """The share of the full source rate that the tightest component takes."""
    share = 1.0
    for i in range(len(net.value)):
        if not net.is_source[i] and loads[i] > 0.0:
            share = min(share, capacity_at(net, i, extra[i]) / loads[i])
    return share
