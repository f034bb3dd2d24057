"""One query as its facts tell it: batches, substreams, instances, arrivals, latency. No clock, no connection here."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import median
from typing import Any

import numpy as np

from penstock.engines.spark.input import Files, Input, input_of
from penstock.observe.arrivals import ArrivalCurve
from penstock.observe.latency import LatencyHistogram, merged
from penstock.observe.snapshot import Array, BatchSeen, ComponentSeen, How, InstancesSeen, SubstreamsSeen, frozen
from penstock.topology.assignment import Assignment

Json = Mapping[str, Any]
RECENT_BATCHES = 20  # enough for a median, short enough to follow the load
HOLD_S = 10.0  # a batch may be told of before the arrival of its rows: it is kept back so long for that


@dataclass(frozen=True, slots=True)
class PlanSeen:
    version: int
    parallelism: int
    assignment: Assignment | None
    executors: tuple[str, ...] | None
    batch: int
    at_s: float

    @classmethod
    def of(cls, fact: Json) -> PlanSeen:
        plan = fact["plan"]
        assignment = Assignment(tuple(plan["instance_of"])) if plan["instance_of"] else None
        executors = tuple(plan["executors"]) if plan["executors"] else None
        return cls(plan["version"], plan["parallelism"], assignment, executors, fact["batch"], fact["at_ms"] / 1000)


@dataclass(frozen=True, slots=True)
class Finished:
    """A batch that is over, with what its switches counted. `taken`: of each source, from which row up to which."""

    seen: BatchSeen
    stages: tuple[Json, ...]
    taken: Mapping[str, tuple[float, float]]
    rows_dropped: float
    rows_emitted: float | None
    cost_s: float  # beyond the median of the batches before


@dataclass(slots=True)
class Query:
    id: str
    name: str
    slots: int
    shuffle_partitions: int | None = None
    checkpoint: str | None = None
    running: bool = True
    error: str | None = None
    unregulated: str | None = None
    parked: bool = False
    plan: PlanSeen | None = None
    sources: tuple[str, ...] = ()
    sink: str | None = None
    inputs: dict[str, Input] = field(default_factory=dict)
    rows_taken: dict[str, float] = field(default_factory=dict)  # by batches that are over
    rows_done: dict[str, float] = field(default_factory=dict)  # by those that were shown
    recent: deque[BatchSeen] = field(default_factory=lambda: deque(maxlen=RECENT_BATCHES))
    fresh: list[Finished] = field(default_factory=list)
    stages: tuple[Json, ...] = ()
    widths: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT_BATCHES))  # partitions of the widest stage
    arrived_before: float = 0.0
    previous_start_s: float | None = None

    # what is told ------------------------------------------------------------------------------------------

    def started(self, fact: Json) -> None:
        self.running, self.error = True, None
        self.checkpoint, self.shuffle_partitions = fact.get("checkpoint"), fact.get("shuffle_partitions")

    def ended(self, fact: Json) -> None:
        self.running, self.error = False, fact.get("error")

    def arrivals(self, fact: Json) -> None:
        source = self._input(fact["source"])
        if isinstance(source, Files):
            source.arrived(fact["files"])

    def progressed(self, fact: Json) -> None:
        progress = fact["progress"]
        started_s = _time_s(progress["timestamp"])
        self.sources = tuple(s["description"] for s in progress["sources"])
        self.sink = progress["sink"]["description"]
        taken = {source["description"]: self._take(source, started_s) for source in progress["sources"]}
        self._finish(_batch(progress, fact["stages"], started_s), taken, fact)

    def _take(self, source: Json, started_s: float) -> tuple[float, float]:
        described = source["description"]
        self._input(described).batch(source, started_s, self.previous_start_s)
        first = self.rows_taken.get(described, 0.0)
        self.rows_taken[described] = first + source["numInputRows"]
        return first, self.rows_taken[described]

    def _input(self, description: str) -> Input:
        return self.inputs.setdefault(description, input_of(description))

    def _finish(self, batch: BatchSeen, taken: Mapping[str, tuple[float, float]], fact: Json) -> None:
        progress = fact["progress"]
        dropped = sum(o["numRowsDroppedByWatermark"] for o in progress["stateOperators"])
        emitted = progress["sink"].get("numOutputRows", -1)
        usual_s = median(b.duration_s for b in self.recent) if self.recent else batch.duration_s
        self.stages = tuple(fact["stages"]) or self.stages
        self.fresh.append(
            Finished(
                batch,
                tuple(fact["stages"]),
                taken,
                float(dropped),
                float(emitted) if emitted >= 0 else None,
                max(0.0, batch.duration_s - usual_s),
            )
        )
        self.recent.append(batch)
        self.widths.extend([max(len(s["substream"]) for s in fact["stages"])] if fact["stages"] else [])
        self.previous_start_s = batch.started_at_s

    # what stands -------------------------------------------------------------------------------------------

    @property
    def state_partitions(self) -> int | None:
        """The substreams: partitions of its stateful stages."""
        return max((max(s["substream"]) + 1 for s in self.stages if s["stateful"]), default=None)

    @property
    def useful_parallelism(self) -> int:
        """One instance for each substream; without state, for each partition of the widest stage seen lately."""
        widest = max(self.widths, default=self.shuffle_partitions or self.slots)
        return max(1, min(self.slots, self.state_partitions or widest))

    @property
    def parallelism(self) -> int:
        return min(self.plan.parallelism, self.useful_parallelism) if self.plan else self.useful_parallelism

    @property
    def arrivals_how(self) -> How:
        worst = (How.EXACT, How.INTERPOLATED, How.BOUND)
        return max((i.how for i in self.inputs.values()), key=worst.index, default=How.UNKNOWN)

    # what was seen in a step -------------------------------------------------------------------------------

    def seen(self, end_s: float) -> ComponentSeen:
        batches = self._ready(end_s)
        for batch in batches:
            self.rows_done |= {source: last for source, (_, last) in batch.taken.items()}
        done = sum(self.rows_done.values())
        arrived = max(done, sum(i.curve.total for i in self.inputs.values()))
        step_arrived, self.arrived_before = arrived - self.arrived_before, arrived
        timed = [self._timed(b) for b in batches]
        dropped = sum(b.rows_dropped for b in batches)
        known = self.arrivals_how is not How.UNKNOWN
        oldest_s = self._oldest_pending_s()
        seen = ComponentSeen(
            rows_arrived=step_arrived if known else None,
            rows_completed=sum(float(b.seen.rows or 0) for b in batches) - dropped,
            rows_emitted=_known_sum([b.rows_emitted for b in batches]),
            rows_dropped=dropped,
            rows_pending=arrived - done if known else None,
            oldest_pending_s=None if oldest_s is None else max(0.0, end_s - oldest_s),
            arrivals_how=self.arrivals_how,
            latency=_merged([b.latency for b in timed]),
            latency_how=self.arrivals_how if any(b.latency for b in timed) else How.UNKNOWN,
            arrival_latency=_merged([b.arrival_latency for b in timed]),
            parallelism=self.parallelism,
            substreams=_substreams([s for b in batches for s in b.stages if s["stateful"]]),
            instances=_instances([s for b in batches for s in b.stages]),
            batches=tuple(timed),
            parked=self.parked,
        )
        self._forget()
        return seen

    def _ready(self, end_s: float) -> list[Finished]:
        """In order: nothing overtakes a batch that is kept back."""
        ready = 0
        while ready < len(self.fresh) and self._told(self.fresh[ready], end_s):
            ready += 1
        batches, self.fresh = self.fresh[:ready], self.fresh[ready:]
        return batches

    def _told(self, batch: Finished, end_s: float) -> bool:
        exact = [(i, last) for s, (_, last) in batch.taken.items() if (i := self.inputs[s]).how is How.EXACT]
        arrived = all(i.curve.total >= last for i, last in exact)
        return arrived or not self.running or end_s - batch.seen.ended_at_s > HOLD_S

    def _timed(self, batch: Finished) -> BatchSeen:
        at_s = batch.seen.visible_at_s
        spans = [(self.inputs[source], first, last) for source, (first, last) in batch.taken.items()]
        arrival = _latency([(i.curve, first, last) for i, first, last in spans], at_s)
        true = _latency([(i.ingress or i.curve, first, last) for i, first, last in spans], at_s)
        return replace(batch.seen, latency=true, arrival_latency=arrival)

    def _forget(self) -> None:
        for source, entry in self.inputs.items():
            for curve in filter(None, (entry.curve, entry.ingress)):
                curve.forget_before(self.rows_done.get(source, 0.0))

    def _oldest_pending_s(self) -> float | None:
        """Of the first row that waits; less than half a row is rounding."""
        waiting = [i.curve.arrival_s(self.rows_done.get(d, 0.0) + 0.5) for d, i in self.inputs.items()]
        return min((at_s for at_s in waiting if at_s is not None), default=None)


def _known_sum(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def _merged(histograms: Sequence[LatencyHistogram | None]) -> LatencyHistogram | None:
    known = [h for h in histograms if h is not None]
    return merged(known) if known else None


def _latency(spans: Sequence[tuple[ArrivalCurve, float, float]], visible_at_s: float) -> LatencyHistogram | None:
    """Of the rows that a batch took from each source; what is not known to have arrived has no latency."""
    known = [curve.latency(first, last, visible_at_s) for curve, first, last in spans if last > first and curve.rows]
    found = merged(known)
    return found if found.count else None


def _time_s(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


def _batch(progress: Json, stages: Sequence[Json], started_s: float) -> BatchSeen:
    """Output is visible at the end of addBatch: what follows it is Spark's own book-keeping."""
    phases = {name: ms / 1000 for name, ms in progress["durationMs"].items()}
    ended_s = started_s + phases.get("triggerExecution", progress["batchDuration"] / 1000)
    return BatchSeen(
        id=progress["batchId"],
        started_at_s=started_s,
        visible_at_s=ended_s - phases.get("commitOffsets", 0.0) - phases.get("commitBatch", 0.0),
        ended_at_s=ended_s,
        rows=progress["numInputRows"],
        parallelism=max((len(set(s["instance"])) for s in stages), default=None),
        phases_s={name: s for name, s in phases.items() if name != "triggerExecution"},
    )


def _substreams(stages: Sequence[Json]) -> SubstreamsSeen | None:
    """Rows at the stateful stages: after partial aggregation, so the instance's true load, not source rows."""
    if not stages:
        return None
    size = max(max(s["substream"]) for s in stages) + 1
    sums = {key: _by(stages, "substream", key, size) for key in ("rows_in", "rows_out", "wall_ns", "fetch_wait_ns")}
    return SubstreamsSeen(
        rows_completed=sums["rows_in"],
        rows_emitted=sums["rows_out"],
        useful_s=frozen((sums["wall_ns"] - sums["fetch_wait_ns"]) / 1e9),
    )


def _instances(stages: Sequence[Json]) -> InstancesSeen | None:
    if not stages:
        return None
    size = max(max(s["instance"]) for s in stages) + 1
    sums = {key: _by(stages, "instance", key, size) for key in ("rows_in", "wall_ns", "cpu_ns", "fetch_wait_ns")}
    return InstancesSeen(
        rows_executed=sums["rows_in"],
        useful_s=frozen((sums["wall_ns"] - sums["fetch_wait_ns"]) / 1e9),
        cpu_s=frozen(sums["cpu_ns"] / 1e9),
        fetch_wait_s=frozen(sums["fetch_wait_ns"] / 1e9),
    )


def _by(stages: Sequence[Json], owner: str, column: str, size: int) -> Array:
    total = np.zeros(size)
    for stage in stages:
        owners = np.asarray(stage[owner])
        inside = owners >= 0
        np.add.at(total, owners[inside], np.asarray(stage[column], dtype=np.float64)[inside])
    return frozen(total)
