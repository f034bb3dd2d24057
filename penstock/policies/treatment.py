"""A change that was asked for is active until the engine answers; meanwhile its component is left alone.

A policy does not know the ids of its changes: the answer is the first final receipt after the change was asked for.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.changes import Status, Target
from penstock.policies.policy import View
from penstock.topology.assignment import Assignment

ANSWER_WITHIN_S = 60.0  # several of the slowest batches that anybody regulates; after that nobody will answer
FINAL = (Status.IN_FORCE, Status.FAILED, Status.REFUSED)


@dataclass(frozen=True, slots=True)
class Treatment:
    """`asked_s` is None where nothing was asked for. Before `since_s` figures are of another configuration."""

    asked_s: float | None = None
    since_s: float = 0.0
    parallelism: int = 0
    shape: int = 0

    @classmethod
    def of(cls, memory: Mapping[str, Any]) -> Treatment:
        asked_s, since_s, parallelism, shape = memory.get("treatment", (None, 0.0, 0, 0))
        return cls(asked_s, since_s, parallelism, shape)

    @property
    def json(self) -> dict[str, Any]:
        known = self != Treatment()
        return {"treatment": [self.asked_s, self.since_s, self.parallelism, self.shape]} if known else {}


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a treatment: still active, or over; `taken` says whether the configuration is what was asked."""

    treatment: Treatment
    active: bool = False
    taken: bool = False
    alert: str | None = None


def asked(now_s: float, since_s: float, parallelism: int, assignment: Assignment | None = None) -> Treatment:
    return Treatment(now_s, since_s, parallelism, _shape(assignment))


def answer(treatment: Treatment, view: View, target: Target, within_s: float = ANSWER_WITHIN_S) -> Answer:
    asked_s = treatment.asked_s
    if asked_s is None:
        return Answer(_noticed(treatment, view, target))
    later = [s for s in view.history.snapshots if s.end_s > asked_s]
    answered = [s.end_s for s in later if any(r.status in FINAL for r in s.receipts)]
    if answered and _is_as_asked(treatment, view, target):
        return Answer(Treatment(None, answered[0], treatment.parallelism, treatment.shape), taken=True)
    if answered:
        return Answer(Treatment(None, treatment.since_s, *_stands(view, target)))
    if view.now_s - asked_s < within_s:
        return Answer(treatment, active=True)
    told = f"{target}: no answer to a change within {within_s:g} s; regulation goes on"
    return Answer(Treatment(None, view.now_s, *_stands(view, target)), alert=told)


def _noticed(treatment: Treatment, view: View, target: Target) -> Treatment:
    """Somebody else changed it: what was seen before is of another configuration."""
    stands = _stands(view, target)
    if treatment == Treatment():
        return Treatment(None, 0.0, *stands)
    same = (treatment.parallelism, treatment.shape) == stands
    return treatment if same else Treatment(None, view.now_s, *stands)


def _is_as_asked(treatment: Treatment, view: View, target: Target) -> bool:
    parallelism, shape = _stands(view, target)
    return parallelism == treatment.parallelism and treatment.shape in (0, shape)


def _stands(view: View, target: Target) -> tuple[int, int]:
    return view.deployment.parallelism(target), _shape(view.deployment.assignments.get(target))


def _shape(assignment: Assignment | None) -> int:
    """0 is: any; the engine may choose."""
    return 0 if assignment is None else zlib.crc32(repr(assignment.instance_of).encode()) or 1


def answered_s(view: View, asked_s: float) -> float:
    """Until when nothing counts that was seen: the engine's answer to the change, or where none came, the asking."""
    later = [s for s in view.history.snapshots if s.end_s > asked_s and any(r.status in FINAL for r in s.receipts)]
    return later[0].end_s if later else asked_s
