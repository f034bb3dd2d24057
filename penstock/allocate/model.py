"""The compute model as the algorithms ask it: inputs, congestion and throughput of any allocation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.allocate.capacity import Curve, Linear, Stepped
from penstock.allocate.measured import Component, MeasuredTopology, Question, Semantics
from penstock.allocate.network import (
    EPSILON,
    Flags,
    Floats,
    Ints,
    Network,
    accepted_share,
    capacity_at,
    network_of,
    pass_and_size,
    pass_rows,
)

LOSS_SHARE = 1e-12


@dataclass(frozen=True)
class Model:
    """`lossless` is throttling: rows are held back at the sources, and decisions look at full source rates."""

    net: Network
    lossless: bool
    tolerance_share: float = 0.0

    @cached_property
    def below(self) -> Flags:
        """`below[i, j]`: j is a descendant of i."""
        reached = np.zeros((self.net.size, self.net.size), dtype=np.bool_)
        for child in range(self.net.size):
            for e in range(self.net.parents_from[child], self.net.parents_from[child + 1]):
                parent = self.net.parent[e]
                reached[:, child] |= reached[:, parent]
                reached[parent, child] = True
        return reached

    def none(self) -> Ints:
        return np.zeros(self.net.size, dtype=np.int64)

    def useful(self, units: int) -> int:
        """No more than all nodes together can use."""
        return min(units, int(self.net.most_extra.sum()))

    def rates(self, extra: Ints) -> tuple[Floats, Floats, float]:
        """Inputs and processed rows by node, and the throughput, as they will be."""
        inputs, processed = np.empty(self.net.size), np.empty(self.net.size)
        throughput = pass_rows(self.net, extra, self.lossless, inputs, processed)
        if not self.lossless:
            return inputs, processed, throughput
        share = accepted_share(self.net, extra, inputs)
        return inputs * share, processed * share, throughput * share

    def throughput(self, extra: Ints) -> float:
        return self.rates(extra)[2]

    def seen(self, extra: Ints) -> tuple[Floats, Floats]:
        """Inputs and processed rows that decisions go by: at full source rates where throttling hides them."""
        inputs, processed = np.empty(self.net.size), np.empty(self.net.size)
        pass_rows(self.net, extra, self.lossless, inputs, processed)
        return inputs, processed

    def capacities(self, extra: Ints) -> Floats:
        return np.array([capacity_at(self.net, i, extra[i]) for i in range(self.net.size)])

    def congested(self, extra: Ints) -> Flags:
        """More arrives than fits. Sources are not asked: see `heads`."""
        limit = self.capacities(extra) * (1 + self.tolerance_share + EPSILON)
        return (self.seen(extra)[0] > limit) & ~self.net.is_source

    def takers(self, extra: Ints) -> Flags:
        """Components that may get one unit more: the congested; where there are none, the sources."""
        congested = self.congested(extra)
        heads = congested if congested.any() else self.net.is_source
        return heads & (extra < self.net.most_extra)

    def without_idle(self, extra: Ints) -> Ints:
        """Gives back each unit that can go without loss."""
        kept, least = extra.copy(), self.throughput(extra) * (1 - LOSS_SHARE)
        for node in np.flatnonzero(extra):
            while kept[node]:
                kept[node] -= 1
                if self.throughput(kept) < least:
                    kept[node] += 1
                    break
        return kept

    def decongested(self, extra: Ints, sized: Flags) -> tuple[Ints, bool]:
        """`extra` and what the `sized` nodes need on top to take their new inputs; whether they can get it."""
        grown = extra.copy()
        enough = pass_and_size(self.net, grown, sized, self.lossless, np.empty(self.net.size))
        return grown, bool(enough)


def decision_model(question: Question, reach_units: int | None = None) -> Model:
    """The model that decisions go by: the margin is taken off every capacity."""
    reach = question.extra_units if reach_units is None else reach_units
    lossless = question.semantics is Semantics.THROTTLE
    topology = with_margin(question.topology, question.margin_share)
    return Model(network_of(topology, reach, question.sources_too, lossless), lossless, question.tolerance_share)


def with_margin(topology: MeasuredTopology, margin_share: float) -> MeasuredTopology:
    if not margin_share:
        return topology
    return MeasuredTopology(tuple(_with_margin(c, margin_share) for c in topology.components))


def _with_margin(component: Component, margin_share: float) -> Component:
    if component.is_source:
        return component
    return Component(
        component.id,
        component.units,
        _scaled(component.curve, 1 - margin_share),
        component.children,
        component.out_in_ratio,
        component.max_units,
    )


def _scaled(curve: Curve, share: float) -> Curve:
    if isinstance(curve, Linear):
        return Linear(curve.rows_per_s_per_unit * share)
    return Stepped(tuple(r * share for r in curve.rows_per_s))
