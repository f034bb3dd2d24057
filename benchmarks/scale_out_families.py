"""Random topologies by family, as documents that `penstock scale-out` reads.

Causes that decide which algorithm wins are switches: is the output concentrated on few paths or even over the sinks, is
capacity below the heads tight or slack, is congestion light or heavy?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

FAMILIES = ("tree", "diamond", "star", "layered")


@dataclass(frozen=True, slots=True)
class Shape:
    family: str
    components: int
    concentrated: bool = False
    tight: bool = False
    heavy: bool = True
    stepped: bool = False
    most_extra: int = 20


def document(shape: Shape, seed: int) -> dict[str, Any]:
    """Rates follow from the source, rows that do not fit are dropped."""
    rng = np.random.default_rng(seed)
    parents = _parents(shape, rng)
    children: list[list[int]] = [[] for _ in parents]
    for child, of_child in enumerate(parents):
        for parent in of_child:
            children[parent].append(child)
    arriving = [0.0] * len(parents)
    parts = []
    for at, below in enumerate(children):
        part = _source(at) if at == 0 else _operator(shape, rng, at, arriving[at])
        part["children"] = {str(c): float(r) for c, r in zip(below, _ratios(shape, rng, len(below)), strict=True)}
        for child, ratio in zip(below, part["children"].values(), strict=True):
            arriving[child] += part["output_rate"] * ratio
        parts.append(part)
    return {"components": parts}


def _source(at: int) -> dict[str, Any]:
    return {"name": str(at), "resources": 1, "output_rate": 1000.0}


def _operator(shape: Shape, rng: np.random.Generator, at: int, arriving: float) -> dict[str, Any]:
    units = int(rng.integers(1, 4))
    congested = rng.random() < (0.5 if shape.heavy else 0.2)
    if congested:
        most = arriving * rng.uniform(*((0.25, 0.6) if shape.heavy else (0.7, 0.95)))
    else:
        most = arriving * rng.uniform(*((1.0, 1.05) if shape.tight else (1.5, 3.0)))
    ratio = rng.uniform(0.5, 1.5)
    part = {
        "name": str(at),
        "resources": units,
        "input_rate": arriving,
        "output_rate": min(arriving, most) * ratio,
        "max_processing_rate": most,
    }
    if shape.stepped:
        part["capacity"] = _staircase(rng, most, units, shape.most_extra)
    return part


def _staircase(rng: np.random.Generator, most: float, units: int, more: int) -> list[float]:
    """Through `most` at `units`; after that units gain nothing, half, their share, or several shares at once."""
    steps = np.concatenate((np.ones(units), rng.choice([0.0, 0.5, 1.0, 2.5], size=more)))
    return [float(c) for c in np.cumsum(steps) * most / units]


def _ratios(shape: Shape, rng: np.random.Generator, children: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    if children == 0:
        return np.zeros(0)
    return rng.dirichlet(np.full(children, 0.3 if shape.concentrated else 20.0))


def _parents(shape: Shape, rng: np.random.Generator) -> list[list[int]]:
    made = {"tree": _tree, "diamond": _diamonds, "star": _star, "layered": _layers}[shape.family]
    return made(shape.components, rng)


def _tree(components: int, rng: np.random.Generator) -> list[list[int]]:
    return [[], *([int(rng.integers(max(0, (at - 1) // 3), at))] for at in range(1, components))]


def _star(components: int, rng: np.random.Generator) -> list[list[int]]:
    """Short branches from one hub."""
    parents: list[list[int]] = [[], [0]]
    while len(parents) < components:
        long = len(parents) > 2 and rng.random() < 0.4
        parents.append([len(parents) - 1 if long else 1])
    return parents


def _diamonds(components: int, rng: np.random.Generator) -> list[list[int]]:
    """Splits that are joined again, one behind the other or side by side."""
    parents: list[list[int]] = [[]]
    while len(parents) < components:
        top, width = int(rng.integers(max(0, len(parents) - 6), len(parents))), int(rng.integers(2, 4))
        first = len(parents)
        parents += [[top] for _ in range(width)]
        parents.append(list(range(first, first + width)))
    return parents[:components]


def _layers(components: int, rng: np.random.Generator) -> list[list[int]]:
    width = max(2, int(components**0.5))
    parents: list[list[int]] = [[]]
    for at in range(1, components):
        start = (at - 1) // width * width + 1
        above = range(max(0, start - width), start)
        count = min(len(above), int(rng.integers(1, 4)))
        parents.append(sorted(int(p) for p in rng.choice(np.array(above), size=count, replace=False)))
    return parents
