"""What a component can process with so many units: a line, a staircase, or substreams over instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Linear:
    """Each unit is worth the same: the thesis.

    >>> Linear(400.0).at(3)
    1200.0
    """

    rows_per_s_per_unit: float

    @property
    def units_bound(self) -> int | None:
        return None

    def at(self, units: int) -> float:
        return self.rows_per_s_per_unit * units


@dataclass(frozen=True, slots=True)
class Stepped:
    """`rows_per_s[u - 1]` is what u units process; more units than the list has are not to be had.

    >>> Stepped((100.0, 100.0, 250.0)).at(2)
    100.0
    """

    rows_per_s: tuple[float, ...]

    @property
    def units_bound(self) -> int | None:
        return len(self.rows_per_s)

    def at(self, units: int) -> float:
        return self.rows_per_s[min(units, len(self.rows_per_s)) - 1] if units else 0.0


Curve = Linear | Stepped


def heaviest_share(shares: Sequence[float], instances: int) -> float:
    """The load of the fullest instance when each substream, heaviest first, goes to the instance with least.

    >>> heaviest_share([0.25] * 4, 3)
    0.5
    >>> heaviest_share([0.7, 0.1, 0.1, 0.1], 4)
    0.7
    """
    loads = [0.0] * instances
    for share in sorted(shares, reverse=True):
        loads[loads.index(min(loads))] += share
    return max(loads)


def substream_curve(rows_per_s: float, units: int, shares: Sequence[float]) -> Stepped:
    """`rows_per_s` is the total at `units` units; the fullest instance saturates first and limits the component.

    An instance more that would not help stays empty, so the curve never falls.

    >>> [round(r, 2) for r in substream_curve(1.0, 1, [1 / 8] * 8).rows_per_s]
    [1.0, 2.0, 2.67, 4.0, 4.0, 4.0, 4.0, 8.0]
    """
    fullest = [heaviest_share(shares, p) for p in range(1, len(shares) + 1)]
    least = list(accumulate(fullest, min))
    # Sums of shares differ in their last bits: without rounding a flat stretch would seem to rise.
    return Stepped(tuple(rows_per_s * round(least[units - 1] / share, 12) for share in least))
