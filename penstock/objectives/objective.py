"""What a user asks of a component. The text form, as a person types it, is in `parse.py`."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_WINDOW_S = 1.0  # design: windows of their length end every second


@dataclass(frozen=True, slots=True)
class Latency:
    """`quantile` None is the mean, 1.0 the maximum. A window holds rows completed within `window_s`."""

    limit_s: float
    quantile: float | None = None
    window_s: float = DEFAULT_WINDOW_S
    per_substream: bool = False


@dataclass(frozen=True, slots=True)
class Throughput:
    at_least_rows_per_s: float


@dataclass(frozen=True, slots=True)
class Juice:
    """The share of the input that is processed in time (Henge)."""

    at_least_share: float


Objective = Latency | Throughput | Juice
