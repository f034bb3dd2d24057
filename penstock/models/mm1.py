"""The law of continuous operators: each instance is an M/M/1 queue (StreamSwitch 4.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.models.latency_law import UNSTABLE_S, Array

HIGHEST_QUANTILE = 0.999  # an exponential sojourn has no maximum: one row in a thousand stands for it


@dataclass(frozen=True, slots=True)
class QueueLaw:
    """
    margin     eps of the paper
    quantile   None projects the mean; a sojourn in M/M/1 is exponential, so a quantile is a multiple of the mean

    >>> QueueLaw(margin=0.1).level_s(np.array([1799.0]), np.array([2000.0]), np.array([1.0])).tolist()
    [1.0]
    """

    margin: float = 0.0
    quantile: float | None = None

    @property
    def counts_substreams(self) -> bool:
        return False

    def level_s(self, rows_per_s: Array, service_rows_per_s: Array, substreams: Array) -> Array:
        """L = 1 / ((1 - eps) mu - lambda)."""
        mu = (1 - self.margin) * service_rows_per_s
        with np.errstate(divide="ignore", invalid="ignore"):
            level: Array = np.minimum(self._multiple / (mu - rows_per_s), UNSTABLE_S)
            overload: Array = UNSTABLE_S * rows_per_s / mu
        return np.where(mu > rows_per_s, level, np.maximum(overload, UNSTABLE_S))

    def floor_s(self, substreams: float) -> float:
        """The service time of one row, which is next to nothing where a service rate is above a few rows a second."""
        return 0.0

    @property
    def _multiple(self) -> float:
        q = self.quantile
        return 1.0 if q is None else -math.log(1 - min(q, HIGHEST_QUANTILE))
