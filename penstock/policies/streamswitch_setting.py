"""A component as it is, or as a strategy would have it: who processes what, and the latency that this projects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from penstock.models.latency_law import LatencyLaw

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """
    law                  projects an instance's latency from its load
    rows_per_s           of each substream
    pause_order          of each substream: the lowest bears the pause of a move best; ties go by number
    instance_of          of each substream
    service_rows_per_s   of each instance
    loads, counts, levels_s   rows a second, substreams and projected latency of each instance
    """

    law: LatencyLaw
    rows_per_s: Array
    pause_order: Array
    instance_of: Ints
    service_rows_per_s: Array
    loads: Array = field(init=False)
    counts: Array = field(init=False)
    levels_s: Array = field(init=False)

    def __post_init__(self) -> None:
        """Everything asks for these again and again."""
        loads: Array = np.bincount(self.instance_of, weights=self.rows_per_s, minlength=self.instances).astype(
            np.float64
        )
        counts = np.bincount(self.instance_of, minlength=self.instances).astype(np.float64)
        object.__setattr__(self, "loads", loads)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "levels_s", self.law.level_s(loads, self.service_rows_per_s, counts))

    @property
    def instances(self) -> int:
        return self.service_rows_per_s.size

    @property
    def other_way_round(self) -> Setting:
        return replace(self, pause_order=-self.pause_order)

    def after(self, strategy: Strategy) -> Setting:
        """A new instance is taken to be as fast as the one that it relieves, until it is measured."""
        where = self.instance_of.copy()
        where[strategy.substreams] = strategy.destination
        service = self.service_rows_per_s
        if strategy.destination == self.instances:
            service = np.append(service, service[strategy.source])
        if strategy.kind is not StrategyKind.SCALE_IN:
            return replace(self, instance_of=where, service_rows_per_s=service)
        return replace(self, instance_of=_renumbered(where, strategy.source), service_rows_per_s=service[:-1])

    def merged(self, strategy: Strategy) -> Setting:
        """A scale-in where the very instance goes: how it is judged; `after` is how it is numbered."""
        where = self.instance_of.copy()
        where[strategy.substreams] = strategy.destination
        where -= where > strategy.source
        return replace(self, instance_of=where, service_rows_per_s=np.delete(self.service_rows_per_s, strategy.source))


class StrategyKind(StrEnum):
    BALANCE = "balance"
    SCALE_OUT = "scale out"
    SCALE_IN = "scale in"


@dataclass(frozen=True, slots=True, eq=False)
class Strategy:
    """A unit strategy: these substreams go from one source to one destination; `worst_s` is what the pair then has."""

    kind: StrategyKind
    substreams: Ints
    source: int
    destination: int
    worst_s: float


def _renumbered(instance_of: Ints, gone: int) -> Ints:
    """Instances have no gap: the last one takes the number of the one that goes, so that no others change.

    >>> _renumbered(np.array([0, 2, 2, 0, 3]), 1).tolist()
    [0, 2, 2, 0, 1]
    """
    last = int(instance_of.max(initial=gone))
    where: Ints = np.where(instance_of == max(last, gone), gone, instance_of) if last > gone else instance_of
    return where
