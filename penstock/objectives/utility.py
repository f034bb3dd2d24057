"""What keeping an objective is worth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from penstock.objectives.objective import Objective


class Shape(StrEnum):
    """How the worth falls where an objective is not kept: with the distance (Henge's knee), or at once."""

    KNEE = "knee"
    STEP = "step"


@dataclass(frozen=True, slots=True)
class Utility:
    worth: float = 1.0
    shape: Shape = Shape.KNEE


@dataclass(frozen=True, slots=True)
class Promise:
    objective: Objective
    utility: Utility = Utility()
