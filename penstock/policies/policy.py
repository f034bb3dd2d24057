"""A policy turns what was seen into changes. It is pure: same view, memory and random numbers in, same decision out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from penstock.changes import Part, Target
from penstock.deployment import Deployment
from penstock.observe.history import History

Memory = Mapping[str, Any]  # serializable as JSON: what a policy knows from one decision to the next


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most instances a component may have; no `highest` is no known bound."""

    lowest: int = 1
    highest: int | None = None

    def __contains__(self, parallelism: object) -> bool:
        return isinstance(parallelism, int) and self.nearest(parallelism) == parallelism

    def nearest(self, parallelism: int) -> int:
        """
        >>> Bounds(2, 8).nearest(16), Bounds(2, 8).nearest(1), Bounds().nearest(64)
        (8, 2, 64)
        """
        return max(self.lowest, parallelism if self.highest is None else min(parallelism, self.highest))


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a policy sees. It may change the `bounds`' components, and no others.

    `now_s` is in the time of the history; `started_s` is when regulation began.
    """

    deployment: Deployment
    history: History
    bounds: Mapping[Target, Bounds]
    now_s: float
    started_s: float = 0.0

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(self.bounds)

    def is_regulated(self, target: Target) -> bool:
        return target in self.bounds


@dataclass(frozen=True, slots=True)
class Decision:
    """No parts: nothing is to be done, and `why` says why not. Alerts are for people."""

    parts: tuple[Part, ...] = ()
    alerts: tuple[str, ...] = ()
    why: str = ""
    memory: Memory = field(default_factory=dict)


class Policy(Protocol):
    @property
    def name(self) -> str: ...

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision: ...
