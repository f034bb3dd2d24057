"""What one simulated component is like: constants of the world, not what a policy may change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from penstock.simulator.arrays import Counts, Ints, Progress, Rows, Span


class Queueing(StrEnum):
    """One line per instance, or one line for all of them."""

    OWN = "own"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Service:
    """`row_s` is the time one row takes at speed 1, `cv` its coefficient of variation, `emits` rows out per row in."""

    row_s: float
    cv: float = 0.0
    emits: float = 1.0
    queueing: Queueing = Queueing.OWN


@dataclass(frozen=True, slots=True)
class BatchCosts:
    """Seconds of a micro-batch beside its rows.

    `before_s` and `task_s` pass before its output is visible, `after_s` only delays the next batch. Every task pays
    `task_s`, and `substream_s` for each of its substreams. With a trigger batches start at its multiples.
    """

    before_s: float = 0.0
    before_cv: float = 0.0
    task_s: float = 0.0
    task_cv: float = 0.0
    substream_s: float = 0.0
    after_s: float = 0.0
    after_cv: float = 0.0
    trigger_s: float = 0.0


class Process(Protocol):
    """How a component works off its rows. There are four: single rows or counts, continuous or in micro-batches."""

    def advance(self, arrived: Rows | Counts, span: Span) -> Progress:
        """One span; `arrived` came within it, as rows or as counts per step and substream."""
        ...

    def reshape(self) -> None:
        """The fleet has another assignment, other instances or substreams: waiting rows go where they belong now."""
        ...

    def lose(self, instance: int) -> Ints:
        """What waits at an instance is gone: so many rows per substream, counted as dropped in the next span."""
        ...

    @property
    def pending_rows(self) -> Ints:
        """Per substream, now."""
        ...
