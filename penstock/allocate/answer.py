"""What an algorithm answers: an allocation, and what the model says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.allocate.measured import Component, MeasuredTopology, Question, Semantics
from penstock.allocate.model import Model
from penstock.allocate.network import Ints, network_of
from penstock.ids import ComponentId


@dataclass(frozen=True, slots=True)
class Rates:
    """One component as the model sees it. `lost_rows_per_s` is dropped, or joins the backlog."""

    units: int
    input_rows_per_s: float
    processed_rows_per_s: float
    lost_rows_per_s: float
    output_rows_per_s: float
    capacity_rows_per_s: float


@dataclass(frozen=True, slots=True)
class Answer:
    """`extra` is the full allocation; `safe_extra` worsens no congestion, None for algorithms without such a promise.

    No allocation of these units has more throughput than `upper_bound_rows_per_s`; None where nobody computed it.
    """

    algorithm: str
    extra: Mapping[ComponentId, int]
    safe_extra: Mapping[ComponentId, int] | None
    unspent: int
    throughput_before_rows_per_s: float
    throughput_rows_per_s: float
    upper_bound_rows_per_s: float | None
    why: str

    @property
    def increase_rows_per_s(self) -> float:
        return self.throughput_rows_per_s - self.throughput_before_rows_per_s

    @property
    def gap_share(self) -> float | None:
        """How much of the bound is missing at most."""
        bound = self.upper_bound_rows_per_s
        if bound is None:
            return None
        return max(0.0, 1 - self.throughput_rows_per_s / bound) if bound > 0 else 0.0

    def bounded_by(self, rows_per_s: float) -> Answer:
        return replace(self, upper_bound_rows_per_s=max(rows_per_s, self.throughput_rows_per_s))


def answer_of(algorithm: str, question: Question, extra: Ints, why: str, safe: Ints | None = None) -> Answer:
    """Both throughputs come from the model, without the margin: the margin binds decisions only."""
    topology, semantics = question.topology, question.semantics
    return Answer(
        algorithm=algorithm,
        extra=named(topology, extra),
        safe_extra=None if safe is None else named(topology, safe),
        unspent=question.extra_units - int(extra.sum()),
        throughput_before_rows_per_s=throughput(topology, {}, semantics),
        throughput_rows_per_s=throughput(topology, named(topology, extra), semantics),
        upper_bound_rows_per_s=None,
        why=why,
    )


def named(topology: MeasuredTopology, extra: Ints) -> Mapping[ComponentId, int]:
    return {c.id: int(n) for c, n in zip(topology.components, extra, strict=True) if n}


def resized(topology: MeasuredTopology, change: Mapping[ComponentId, int]) -> MeasuredTopology:
    """The topology with so many units more, or fewer."""
    return MeasuredTopology(tuple(replace(c, units=c.units + change.get(c.id, 0)) for c in topology.components))


def _present(topology: MeasuredTopology, semantics: Semantics) -> Model:
    lossless = semantics is Semantics.THROTTLE
    return Model(network_of(topology, 0, sources_too=False, lossless=lossless), lossless)


def throughput(topology: MeasuredTopology, change: Mapping[ComponentId, int], semantics: Semantics) -> float:
    """What the sinks emit with so many units more, or fewer, by component."""
    model = _present(resized(topology, change), semantics)
    return float(model.throughput(model.none()))


def rates_of(
    topology: MeasuredTopology, change: Mapping[ComponentId, int], semantics: Semantics
) -> Mapping[ComponentId, Rates]:
    """Every component with so many units more, or fewer."""
    after = resized(topology, change)
    model = _present(after, semantics)
    inputs, processed, _ = model.rates(model.none())
    return {c.id: _rates(c, float(i), float(p)) for c, i, p in zip(after.components, inputs, processed, strict=True)}


def _rates(component: Component, rows_in: float, processed: float) -> Rates:
    return Rates(
        units=component.units,
        input_rows_per_s=rows_in,
        processed_rows_per_s=processed,
        lost_rows_per_s=float(np.maximum(rows_in - processed, 0.0)),
        output_rows_per_s=processed * component.out_in_ratio,
        capacity_rows_per_s=component.curve.at(component.units),
    )
