"""Stela: unit by unit to the congested component whose clean paths lead to the largest share of the throughput.

Puttaswamy, chapter 4. It neither asks what downstream can take nor how congested a component is.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from penstock.allocate.answer import Answer, answer_of
from penstock.allocate.measured import Question
from penstock.allocate.model import Model, decision_model
from penstock.allocate.network import EPSILON, Flags, Floats, Ints, Network

SHOWN = 20


def stela(question: Question) -> Answer:
    model = decision_model(question)
    extra, order = serial_extra(model, question.extra_units)
    names = [question.topology.components[i].id for i in order]
    if not order:
        return answer_of("stela", question, extra, "nothing that may take a unit is congested")
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    why = f"each unit in turn to where the highest share of throughput is on uncongested paths: {shown}"
    return answer_of("stela", question, extra, why)


def serial_extra(model: Model, units: int) -> tuple[Ints, list[int]]:
    """The extra units, and the nodes in the order they got them."""
    extra, order = model.none(), []
    for _ in range(units):
        takers = np.flatnonzero(model.takers(extra))
        if not takers.size:
            break
        chosen = _best(model, extra, takers)
        extra[chosen] += 1
        order.append(chosen)
    return extra, order


def _best(model: Model, extra: Ints, takers: Ints) -> int:
    """The highest share; among equals the largest predicted increase, then the first in topological order."""
    shares = throughput_shares(model, extra)[takers]
    tied = takers[shares >= shares.max() - EPSILON]
    if tied.size == 1:
        return int(tied[0])
    return int(tied[int(np.argmax([_with_one_more(model, extra, i) for i in tied]))])


def _with_one_more(model: Model, extra: Ints, node: int) -> float:
    grown = extra.copy()
    grown[node] += 1
    return round(model.throughput(grown), 9)


def throughput_shares(model: Model, extra: Ints) -> Floats:
    """ETP by node: what its effective sinks emit, as a share of what all sinks emit; 0 where nothing is emitted."""
    emitted = model.seen(extra)[1] * model.net.value
    total = emitted.sum()
    if total <= 0:
        return np.zeros(model.net.size)
    shares: Floats = _effective_output(model.net, model.congested(extra), emitted) / total
    return shares


@njit(cache=True)
def _effective_output(net: Network, congested: Flags, emitted: Floats) -> Floats:
    """A sink counts once however many clean paths lead to it, and a node's own congestion does not matter."""
    size = len(net.value)
    output = np.zeros(size)
    for node in range(size):
        reached = np.zeros(size, dtype=np.bool_)
        reached[node] = True
        output[node] = emitted[node]
        for below in range(node + 1, size):
            if congested[below]:
                continue
            for e in range(net.parents_from[below], net.parents_from[below + 1]):
                reached[below] |= reached[net.parent[e]]
            output[node] += emitted[below] * reached[below]
    return output
