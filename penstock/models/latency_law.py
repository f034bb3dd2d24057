"""A latency law projects the steady latency of instances from their load.

level      the latency that an instance settles at, in seconds; decisions compare levels with an objective's limit
unstable   no steady latency: the level is `UNSTABLE_S` times how far the load exceeds the capacity, so that of two
           overloads the smaller one is better (a bare infinity would make every first step look useless)
margin     the share of the service rate that a decision leaves unused; 0 where a law is compared with measurement
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UNSTABLE_S = 1e9  # thirty years: above every latency that anybody waits for


class LatencyLaw(Protocol):
    """Levels rise, or stay, with the rate and the number of substreams, and fall with the service rate."""

    @property
    def counts_substreams(self) -> bool:
        """Whether the number of substreams matters."""
        ...

    def level_s(self, rows_per_s: Array, service_rows_per_s: Array, substreams: Array) -> Array:
        """Of each instance; all three broadcast."""
        ...

    def floor_s(self, substreams: float) -> float:
        """The level of an instance without load: no objective below it can be kept."""
        ...


def is_stable(level_s: Array) -> NDArray[np.bool_]:
    return level_s < UNSTABLE_S
