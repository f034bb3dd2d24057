"""Symptoms and diagnoses (Dhalion 4.1): each points to what it was made from.

symptom     what looks wrong at a component, with the values that showed it
diagnosis   why it looks wrong, with its symptoms; a diagnoser that is not sure says so
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from penstock.changes import Target

Array = NDArray[np.float64]


class SymptomKind(StrEnum):
    BACKPRESSURE = "backpressure"
    NOTHING_WAITS = "nothing waits"
    TOO_FEW_ROWS = "too few rows"


class DiagnosisKind(StrEnum):
    OVER_PROVISIONING = "over-provisioning"
    UNDER_PROVISIONING = "under-provisioning"
    SLOW_INSTANCES = "slow instances"
    DATA_SKEW = "data skew"
    UNEXPLAINED = "unexplained"
    SLO_VIOLATION = "throughput below the objective"


@dataclass(frozen=True, slots=True, eq=False)
class Symptom:
    """
    share      of the rows that were not handled; where sources stop, of the time that they were stopped
    pressed    share of the time that backpressure lasted
    rates      rows of each instance; `waiting` what waits at each, in rows, on micro-batches in seconds of work
    at_fault   the instances that caused it (B)
    says       the values, for people
    """

    kind: SymptomKind
    target: Target
    says: str
    share: float = 0.0
    pressed: float = 0.0
    rates: Array | None = None
    waiting: Array | None = None
    at_fault: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    kind: DiagnosisKind
    target: Target
    symptoms: tuple[Symptom, ...]
    confidence: float = 1.0

    @property
    def says(self) -> str:
        return "; ".join(s.says for s in self.symptoms)
