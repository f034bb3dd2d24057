"""A policy turns what was seen into changes, and is pure: same view, memory and random numbers in, same decision out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from penstock.changes import Part
from penstock.deployment import Deployment
from penstock.observe.history import History

Memory = Mapping[str, Any]  # serializable as JSON: what a policy knows from one decision to the next


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """`now_s` is in the time of the history; `started_s` is when regulation began."""

    deployment: Deployment
    history: History
    now_s: float
    started_s: float = 0.0


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
