"""The plain integer program of scale-out, as one would write it down, given to HiGHS: what `exact` is measured against.

Rows processed are at most the rows that arrive and at most the capacity; units are integers. A staircase takes one
binary for each step.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import highspy
import numpy as np

from penstock.allocate.network import Floats, Network


def integer_program(net: Network, budget: int, stepped: bool) -> highspy.Highs:
    """The model, passed and ready: `run()` is what is timed."""
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("mip_rel_gap", 1e-9)
    rows = [model.addVariable(lb=0.0) for _ in range(net.size)]
    spent: list[Any] = []
    for i in range(net.size):
        curve = net.capacity[net.first[i] : net.first[i + 1]][: budget + 1]
        edges = range(net.parents_from[i], net.parents_from[i + 1])
        if not net.is_source[i]:
            model.addConstr(rows[i] <= sum(float(net.weight[e]) * rows[net.parent[e]] for e in edges))
        if len(curve) == 1:
            model.addConstr(rows[i] <= float(curve[0]))
        elif stepped:
            spent += _steps(model, rows[i], curve)
        else:
            spent.append(model.addIntegral(lb=0, ub=len(curve) - 1))
            model.addConstr(rows[i] <= float(curve[0]) + float(curve[1] - curve[0]) * spent[-1])
    if spent:
        model.addConstr(sum(spent) <= budget)
    emitted = sum(float(v) * r for v, r in zip(net.value, rows, strict=True))
    model.setObjective(emitted, highspy.ObjSense.kMaximize)
    return model


def _steps(model: highspy.Highs, rows: Any, curve: Floats) -> list[Any]:
    """One binary for each unit; a later one needs the earlier."""
    steps = [model.addBinary() for _ in curve[1:]]
    rises = zip(np.diff(curve), steps, strict=True)
    model.addConstr(rows <= float(curve[0]) + sum(float(rise) * step for rise, step in rises))
    for earlier, later in pairwise(steps):
        model.addConstr(later <= earlier)
    return steps
