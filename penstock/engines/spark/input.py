"""What reached a query's input, and how well that is known, source by source.

files     the agent lists the directory: when each file became visible, its bytes, and in Parquet its rows and,
          where they carry it, their ingress times
kafka     end offsets, which Spark's own progress tells at every trigger
rate      the source is a clock: so many rows become visible at each full second
others    only that a batch's rows came between the start of the batch before and its own
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.observe.arrivals import ArrivalCurve
from penstock.observe.snapshot import How

Json = Mapping[str, Any]


class Input(Protocol):
    """`curve` is when rows became visible to Spark; `ingress` when they came into being, where they carry that time."""

    how: How
    curve: ArrivalCurve
    ingress: ArrivalCurve | None

    def batch(self, source: Json, started_at_s: float, previous_start_s: float | None) -> None:
        """Spark's account of this source in a batch that is over."""
        ...


@dataclass(slots=True)
class Files:
    """Rows of formats that do not tell are bytes times the rows a byte that batches so far had."""

    how: How = How.EXACT
    curve: ArrivalCurve = field(default_factory=lambda: ArrivalCurve(steps=True))
    ingress: ArrivalCurve | None = None
    _files: list[tuple[float, float]] = field(default_factory=list)  # visible at, bytes: rows not known yet
    _rows_taken: float = 0.0
    _rows_per_byte: float | None = None

    def arrived(self, files: Sequence[Sequence[Any]]) -> None:
        for visible_ms, size, rows, ingress_us in files:
            if rows is None:
                self.how = How.INTERPOLATED
                self._files.append((visible_ms / 1000, float(size)))
            else:
                self.curve.add(visible_ms / 1000, rows)
                self._came_into_being(rows, ingress_us)
        self._guess()

    def _came_into_being(self, rows: float, ingress_us: Sequence[float] | None) -> None:
        """Between the first and the last stamp of a file its rows came evenly."""
        if ingress_us is not None:
            self.ingress = self.ingress or ArrivalCurve(steps=False)
            self.ingress.add(ingress_us[0] / 1e6, 0)
            self.ingress.add(ingress_us[1] / 1e6, rows)

    def batch(self, source: Json, started_at_s: float, previous_start_s: float | None) -> None:
        self._rows_taken += source["numInputRows"]
        if self._files:
            self._fit(started_at_s)

    def _fit(self, started_at_s: float) -> None:
        """What was taken by now lay there by the start of the batch: that gives the rows a byte."""
        taken = sum(size for at_s, size in self._files if at_s <= started_at_s)
        if taken and self._rows_taken:
            self._rows_per_byte = self._rows_taken / taken
            self._guess()

    def _guess(self) -> None:
        if self._rows_per_byte is not None and self._files:
            self.curve = ArrivalCurve(steps=True)
            for at_s, size in self._files:
                self.curve.add(at_s, size * self._rows_per_byte)


@dataclass(slots=True)
class Kafka:
    how: How = How.INTERPOLATED
    curve: ArrivalCurve = field(default_factory=lambda: ArrivalCurve(steps=False))
    ingress: ArrivalCurve | None = None
    _first: float | None = None

    def batch(self, source: Json, started_at_s: float, previous_start_s: float | None) -> None:
        if self._first is None:
            self._first = _offsets(source["startOffset"]) or 0.0
            self.curve.reach(previous_start_s or started_at_s, 0.0)
        latest = _offsets(source.get("latestOffset")) or _offsets(source["endOffset"])
        if latest is not None:
            self.curve.reach(started_at_s, latest - self._first)


def _offsets(offset: Any) -> float | None:
    """The rows behind `{"topic": {"0": 123, ...}}`, over all partitions."""
    topics = json.loads(offset) if isinstance(offset, str) else offset
    return float(sum(sum(p.values()) for p in topics.values())) if topics else None


@dataclass(slots=True)
class Rate:
    """Offsets are full seconds since the source's own start, which lies within what all batches allow."""

    rows_per_s: float
    how: How = How.INTERPOLATED
    curve: ArrivalCurve = field(default_factory=lambda: ArrivalCurve(steps=True))
    ingress: ArrivalCurve | None = None
    _start_s: tuple[float, float] = (float("-inf"), float("inf"))
    _last: int | None = None

    def batch(self, source: Json, started_at_s: float, previous_start_s: float | None) -> None:
        end = int(source["endOffset"])
        if self._last is None:
            self._last = int(source["startOffset"] or 0)
        self._start_s = (max(self._start_s[0], started_at_s - end - 1), min(self._start_s[1], started_at_s - end))
        rows, seconds = source["numInputRows"], end - self._last
        for i in range(seconds):
            visible_s = sum(self._start_s) / 2 + self._last + i + 1
            self.curve.add(min(visible_s, started_at_s), rows / seconds)
        self._last = end


@dataclass(slots=True)
class Unwatched:
    how: How = How.BOUND
    curve: ArrivalCurve = field(default_factory=lambda: ArrivalCurve(steps=False))
    ingress: ArrivalCurve | None = None

    def batch(self, source: Json, started_at_s: float, previous_start_s: float | None) -> None:
        if not self.curve.times_s:
            self.curve.reach(previous_start_s or started_at_s, 0.0)
        self.curve.add(started_at_s, source["numInputRows"])


def input_of(description: str) -> Input:
    """
    >>> type(input_of("FileStreamSource[file:/data]")).__name__
    'Files'
    >>> input_of("RateStreamV2[rowsPerSecond=100, rampUpTimeSeconds=0, numPartitions=default]").rows_per_s
    100.0
    """
    if description.startswith("FileStreamSource["):
        return Files()
    if description.startswith("KafkaV2["):
        return Kafka()
    steady = re.match(r"RateStreamV2\[rowsPerSecond=(\d+), rampUpTimeSeconds=0,", description)
    return Rate(float(steady[1])) if steady else Unwatched()
