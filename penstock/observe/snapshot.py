"""A snapshot: what was seen of a deployment in one step.

A field that is None is unknown, never zero; inside arrays unknown is NaN. Arrays have one entry per substream
or per instance, and are read-only. Of every component: arrived = completed + pending + dropped, where `pending` and the
others count since the component was first seen, and the `step_` fields count within the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from penstock.changes import Receipt, Target
from penstock.ids import ContainerId, HostId
from penstock.observe.latency import LatencyHistogram

Array = NDArray[np.float64]


class How(StrEnum):
    """How a figure is known."""

    EXACT = "exact"
    INTERPOLATED = "interpolated"
    BOUND = "bound"
    UNKNOWN = "unknown"


def frozen(values: Array) -> Array:
    values.flags.writeable = False
    return values


@dataclass(frozen=True, slots=True, eq=False)
class SubstreamsSeen:
    """Rows of each substream in this step; `rows_pending` at its end. Latency per substream where it is measured."""

    rows_arrived: Array | None = None
    rows_completed: Array | None = None
    rows_emitted: Array | None = None
    rows_pending: Array | None = None
    rows_dropped: Array | None = None
    useful_s: Array | None = None
    latency: tuple[LatencyHistogram, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class InstancesSeen:
    """Each instance in this step. `useful_s` is time spent on rows, `cpu_s` the processor's part of it, `fetch_wait_s`
    waiting for other tasks' output, `suspended_s` time it was not allowed to work (a change, backpressure)."""

    rows_executed: Array | None = None
    rows_queued: Array | None = None
    useful_s: Array | None = None
    cpu_s: Array | None = None
    fetch_wait_s: Array | None = None
    suspended_s: Array | None = None
    backpressure_s: Array | None = None
    containers: tuple[ContainerId | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class BatchSeen:
    """One micro-batch. Phases are Spark's own (addBatch, walCommit, ...); overhead is all but addBatch."""

    id: int
    started_at_s: float
    visible_at_s: float
    ended_at_s: float
    rows: int | None
    parallelism: int | None
    phases_s: Mapping[str, float] = field(default_factory=dict)
    latency: LatencyHistogram | None = None
    arrival_latency: LatencyHistogram | None = None

    @property
    def duration_s(self) -> float:
        return self.ended_at_s - self.started_at_s


@dataclass(frozen=True, slots=True, eq=False)
class ComponentSeen:
    """Totals of the step, then its parts. `rows_pending` and `oldest_pending_s` are as at the step's end.

    `latency` is from when rows came into being, where they carry that time, else from when they became visible to the
    engine; `arrival_latency` is always the latter.
    """

    rows_arrived: float | None = None
    rows_completed: float | None = None
    rows_emitted: float | None = None
    rows_dropped: float | None = None
    rows_pending: float | None = None
    oldest_pending_s: float | None = None
    arrivals_how: How = How.UNKNOWN
    latency: LatencyHistogram | None = None
    latency_how: How = How.UNKNOWN
    arrival_latency: LatencyHistogram | None = None
    parallelism: int | None = None
    substreams: SubstreamsSeen | None = None
    instances: InstancesSeen | None = None
    batches: tuple[BatchSeen, ...] = ()
    backpressure_s: float | None = None
    suspended_s: float | None = None
    parked: bool = False  # some of its work is sleep, asked for by the job


@dataclass(frozen=True, slots=True, eq=False)
class StreamSeen:
    """Rows sent into a stream, and executed by each receiving instance, in this step."""

    rows_sent: float | None = None
    rows_executed: Array | None = None


@dataclass(frozen=True, slots=True)
class ContainerSeen:
    cpu_s: float | None = None
    memory_bytes: float | None = None
    rows_in: float | None = None
    rows_out: float | None = None


@dataclass(frozen=True, slots=True)
class HostSeen:
    cores: float | None = None
    load: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    start_s: float
    end_s: float
    components: Mapping[Target, ComponentSeen]
    streams: Mapping[tuple[Target, Target], StreamSeen] = field(default_factory=dict)
    containers: Mapping[ContainerId, ContainerSeen] = field(default_factory=dict)
    hosts: Mapping[HostId, HostSeen] = field(default_factory=dict)
    receipts: tuple[Receipt, ...] = ()
    missed_facts: int = 0

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s
