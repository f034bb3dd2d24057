"""Topologies for the tests: the worked ones from `examples/scale_out`, and small random ones of every kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from penstock.allocate.answer import Answer, throughput
from penstock.allocate.measured import MeasuredTopology, Question, Semantics
from penstock.allocate.read import read
from penstock.allocate.registry import ALGORITHMS
from penstock.ids import ComponentId

EXAMPLES = Path(__file__).parents[2] / "examples" / "scale_out"


def example(name: str) -> MeasuredTopology:
    return read(json.loads((EXAMPLES / f"{name}.json").read_text())).topology


def answer(algorithm: str, name: str, units: int, **also: Any) -> Answer:
    return ALGORITHMS[algorithm](Question(example(name), units, **also))


def random_question(seed: int, most_components: int = 6, most_units: int = 4) -> Question:
    """Any DAG with one or two sources, shared descendants, bounds, staircases, substreams; any of the semantics."""
    rng = np.random.default_rng(seed)
    sources = int(rng.integers(1, 3))
    count = sources + int(rng.integers(1, most_components - sources + 1))
    return Question(
        read(_document(rng, sources, count)).topology,
        int(rng.integers(1, most_units + 1)),
        (Semantics.DROP, Semantics.THROTTLE, Semantics.BACKLOG)[seed % 3],
        sources_too=bool(rng.random() < 0.3),
    )


def _document(rng: np.random.Generator, sources: int, count: int) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for at in range(count):
        arriving = 0.0
        count_of_parents = min(at, int(rng.integers(1, 4))) if at >= sources else 0
        for parent in rng.permutation(at)[:count_of_parents]:
            ratio = float(rng.choice([0.3, 0.5, 1.0, 1.2]))
            parts[parent]["children"][str(at)] = ratio
            arriving += parts[parent]["output_rate"] * ratio
        made = _operator(rng, arriving) if at >= sources else {"output_rate": float(rng.integers(100, 1000))}
        parts.append({"name": str(at), "resources": 1, **made, "children": {}})
    return {"components": [parts[at] for at in rng.permutation(count)]}


def _operator(rng: np.random.Generator, arriving: float) -> dict[str, Any]:
    units = int(rng.integers(1, 4))
    most = arriving * float(rng.choice([0.2, 0.4, 0.6, 0.8, 1.0, 1.3]))
    output = min(arriving, most) * float(rng.choice([0.0, 0.5, 1.0, 1.5], p=[0.1, 0.3, 0.3, 0.3]))
    made = {"resources": units, "input_rate": arriving, "output_rate": output, "max_processing_rate": most}
    return made | _growth(rng, units, most)


def _growth(rng: np.random.Generator, units: int, most: float) -> dict[str, Any]:
    kind = rng.choice(["linear", "bounded", "staircase", "substreams", "skewed"])
    if kind == "bounded":
        return {"max_resources": units + int(rng.integers(0, 3))}
    if kind == "staircase":
        steps = np.concatenate((np.ones(units), rng.choice([0.0, 0.5, 1.0, 2.5], size=4)))
        return {"capacity": [float(c) for c in np.cumsum(steps) * most / units]}
    if kind == "substreams":
        return {"substreams": int(rng.integers(units, 9))}
    if kind == "skewed":
        return {"substreams": 6, "shares": [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]}
    return {}


def written_out_throughput(topology: MeasuredTopology, extra: dict[ComponentId, int], semantics: Semantics) -> float:
    """The compute model once more, as one would say it: what the compiled one is compared with."""
    lossless = semantics is Semantics.THROTTLE
    arriving: dict[ComponentId, float] = {}
    emitted, accepted_share = 0.0, 1.0
    for c in topology.components:
        most = c.curve.at(c.units + extra.get(c.id, 0))
        rows = most if c.is_source else arriving.get(c.id, 0.0)
        if rows > most:
            accepted_share = min(accepted_share, most / rows)
        output = (rows if lossless else min(rows, most)) * c.out_in_ratio
        emitted += 0.0 if c.children else output
        for child, ratio in c.children:
            arriving[child] = arriving.get(child, 0.0) + output * ratio
    return emitted * (accepted_share if lossless else 1.0)


def all_allocations(question: Question) -> Iterator[dict[ComponentId, int]]:
    """Every allocation of at most so many units."""
    parts = question.topology.components
    reach = []
    for c in parts:
        left = question.extra_units if c.units_left is None else min(c.units_left, question.extra_units)
        reach.append(left if question.sources_too or not c.is_source else 0)
    for units in product(*(range(most + 1) for most in reach)):
        if sum(units) <= question.extra_units:
            yield {c.id: n for c, n in zip(parts, units, strict=True)}


def best_by_trying_all(question: Question) -> float:
    topology, semantics = question.topology, question.semantics
    return max(written_out_throughput(topology, extra, semantics) for extra in all_allocations(question))


def increase(name: str, extra: dict[str, int], semantics: Semantics = Semantics.DROP) -> float:
    topology = example(name)
    named = {ComponentId(c): n for c, n in extra.items()}
    return throughput(topology, named, semantics) - throughput(topology, {}, semantics)
