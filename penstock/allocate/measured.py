"""A topology as it was measured, and what is asked of it.

unit        a slot: what runs one instance at a time; a unit serves one component only
extra       units on top of those a component has
congested   more rows arrive than the component can process
sink        a component without children; the throughput of a topology is what its sinks emit
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from penstock.allocate.capacity import Curve
from penstock.ids import ComponentId


class Semantics(StrEnum):
    """What becomes of rows that a component has no capacity for."""

    DROP = "drop"
    THROTTLE = "throttle"
    BACKLOG = "backlog"


@dataclass(frozen=True, slots=True)
class Component:
    """`curve` is what an operator can process, and what a source emits. A source has no input."""

    id: ComponentId
    units: int
    curve: Curve
    children: tuple[tuple[ComponentId, float], ...] = ()
    out_in_ratio: float = 1.0
    max_units: int | None = None
    is_source: bool = False

    @property
    def units_bound(self) -> int | None:
        bounds = [b for b in (self.max_units, self.curve.units_bound) if b is not None]
        return min(bounds) if bounds else None

    @property
    def units_left(self) -> int | None:
        return None if self.units_bound is None else self.units_bound - self.units


@dataclass(frozen=True, slots=True)
class MeasuredTopology:
    """Components in topological order: every one after those that feed it. `read.py` puts them so."""

    components: tuple[Component, ...]

    @property
    def units(self) -> int:
        return sum(c.units for c in self.components)


@dataclass(frozen=True, slots=True)
class Question:
    """Where do `extra_units` go? `margin_share` of every capacity is left free by decisions, never by reported rates.

    `tolerance_share` is how far above its capacity an input may be before the component counts as congested: 0 on
    exact figures, 0.01 or more on measured ones.
    """

    topology: MeasuredTopology
    extra_units: int
    semantics: Semantics = Semantics.DROP
    sources_too: bool = False
    margin_share: float = 0.0
    tolerance_share: float = 0.0
