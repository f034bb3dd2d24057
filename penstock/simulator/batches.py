"""Micro-batches: a batch takes the rows that are there when it starts, its tasks work side by side, and all its rows
become visible when the last task has ended. The next batch takes what came meanwhile: that recursion, and no law,
gives latency."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.observe.latency import EMPTY, LatencyHistogram, merged
from penstock.observe.snapshot import BatchSeen
from penstock.simulator.arrays import Counts, Fleet, Floats, Ints, Progress, Rows, Span, count, folded
from penstock.simulator.component import BatchCosts, Service
from penstock.simulator.intake import Intake, Taken
from penstock.simulator.noise import noise, sums_of_noise

LATE_S = 1e-9  # rounding may put the first row's arrival a hair after its own time


@dataclass(frozen=True, slots=True)
class Batch:
    seen: BatchSeen
    taken: Taken
    useful_s: Floats
    executed: Floats

    @property
    def latency_sum_s(self) -> Floats:
        return self.taken.rows * self.seen.visible_at_s - self.taken.arrival_sum_s

    def folded(self, substreams: int, instances: int) -> Batch:
        taken = self.taken.folded(substreams) if substreams != self.taken.rows.size else self.taken
        return Batch(self.seen, taken, folded(self.useful_s, instances), folded(self.executed, instances))


class Batches:
    """`cap_rows` may be changed between spans and holds from the next batch on."""

    def __init__(self, costs: BatchCosts, service: Service, fleet: Fleet, intake: Intake) -> None:
        self._costs, self._service, self._fleet, self._intake = costs, service, fleet, intake
        self.cap_rows: int | None = None
        self.by_substream = False
        self._running: Batch | None = None
        self._published = False
        self._may_start_s, self._started = 0.0, 0
        self._pending = np.zeros(fleet.substreams, dtype=np.int64)
        self._lost = np.zeros(fleet.substreams, dtype=np.int64)
        self._rng = np.random.default_rng(0)

    def seeded(self, rng: np.random.Generator) -> Batches:
        self._rng = rng
        return self

    @property
    def pending_rows(self) -> Ints:
        return self._pending

    def advance(self, arrived: Rows | Counts, span: Span) -> Progress:
        k = self._fleet.substreams
        came = count(arrived.substream, k) if isinstance(arrived, Rows) else arrived.sum(axis=0)
        self._intake.put(arrived, span)
        visible = self._run(span.end_s)
        progress = self._progress(came, visible)
        progress.departed_rows = _departed(visible, span)
        self._pending = self._pending + came - progress.completed - self._lost
        self._lost = np.zeros_like(self._lost)
        progress.pending, oldest_s = self._pending, self._oldest_s()
        progress.oldest_pending_s = None if oldest_s is None else span.end_s - oldest_s
        return progress

    def _progress(self, came: Ints, visible: list[Batch]) -> Progress:
        completed, latency_sum_s = np.zeros(came.size, dtype=np.int64), np.zeros(came.size)
        useful_s, executed = np.zeros(self._fleet.instances), np.zeros(self._fleet.instances)
        for batch in visible:
            completed += batch.taken.rows
            latency_sum_s += batch.latency_sum_s
            useful_s += batch.useful_s
            executed += batch.executed
        return Progress(
            arrived=came,
            completed=completed,
            dropped=self._lost,
            pending=self._pending,
            useful_s=useful_s,
            executed=executed.astype(np.int64),
            latency_sum_s=latency_sum_s,
            latency=_latency(visible),
            batches=tuple(b.seen for b in visible),
            departures_s=_departures(visible),
            samples=_samples(visible),
            by_substream=self._by_substream(visible),
        )

    def _by_substream(self, visible: list[Batch]) -> tuple[LatencyHistogram, ...] | None:
        """Counts do not tell substreams apart within a batch: each has the batch's latencies, and a mean of its own."""
        if not self.by_substream or any(b.taken.substream is not None for b in visible):
            return None
        return tuple(merged(_part_of(b, k) for b in visible) for k in range(self._fleet.substreams))

    def _run(self, end_s: float) -> list[Batch]:
        """All batches whose output becomes visible by then."""
        visible: list[Batch] = []
        while True:
            if self._running is None and not self._start(end_s):
                return visible
            assert self._running is not None
            if not self._published:
                if self._running.seen.visible_at_s > end_s:
                    return visible
                visible.append(self._running)
                self._published = True
            if self._running.seen.ended_at_s > end_s:
                return visible
            self._running = None

    def _start(self, end_s: float) -> bool:
        held_s = max(self._may_start_s, float(self._fleet.suspended_until_s.max()))
        first_s = self._intake.first_s(held_s)
        if first_s is None or first_s >= end_s:
            return False
        start_s = self._on_trigger(held_s, first_s)
        if start_s >= end_s:
            return False
        taken = self._intake.take(start_s + LATE_S, self.cap_rows)
        self._running, self._published = self._timed(start_s, taken), False
        self._may_start_s = max(self._running.seen.ended_at_s, self._next_trigger_s(start_s))
        return True

    def _on_trigger(self, held_s: float, first_s: float) -> float:
        """With a trigger, who finds nothing to do looks again at the next multiple."""
        tau = self._costs.trigger_s
        return first_s if tau == 0 or first_s == held_s else math.ceil(first_s / tau) * tau

    def _next_trigger_s(self, start_s: float) -> float:
        tau = self._costs.trigger_s
        return (math.floor(start_s / tau + LATE_S) + 1) * tau if tau else 0.0

    def _timed(self, start_s: float, taken: Taken) -> Batch:
        costs, fleet = self._costs, self._fleet
        executed = fleet.per_instance(taken.rows)
        useful_s = sums_of_noise(self._rng, self._service.cv, executed) * self._service.row_s / fleet.speed
        own_s = costs.task_s * noise(self._rng, costs.task_cv, fleet.instances)
        kept_s = costs.substream_s * np.bincount(fleet.instance_of, minlength=fleet.instances)
        before_s = costs.before_s * float(noise(self._rng, costs.before_cv, 1)[0])
        after_s = costs.after_s * float(noise(self._rng, costs.after_cv, 1)[0])
        work_s = float((own_s + kept_s + useful_s).max())
        visible_s = start_s + before_s + work_s
        seen = BatchSeen(
            id=self._started,
            started_at_s=start_s,
            visible_at_s=visible_s,
            ended_at_s=visible_s + after_s,
            rows=taken.total,
            parallelism=fleet.instances,
            phases_s={"walCommit": before_s, "addBatch": work_s, "commitOffsets": after_s},
            latency=taken.latency(visible_s),
        )
        self._started += 1
        return Batch(seen, taken, useful_s, executed.astype(np.float64))

    def _oldest_s(self) -> float | None:
        if self._running is not None and not self._published:
            return float(self._running.taken.arrival_s.min())
        return self._intake.oldest_s()

    def reshape(self) -> None:
        k, p = self._fleet.substreams, self._fleet.instances
        if k != self._pending.size:
            self._intake.spread_over(k)
            self._pending = folded(self._pending.astype(np.float64), k).astype(np.int64)
            self._lost = folded(self._lost.astype(np.float64), k).astype(np.int64)
        if self._running is not None:
            self._running = self._running.folded(k, p)

    def lose(self, instance: int) -> Ints:
        gone = self._intake.lose(np.flatnonzero(self._fleet.instance_of == instance))
        self._lost += gone
        return gone


def _latency(visible: list[Batch]) -> LatencyHistogram:
    parts = [b.seen.latency for b in visible if b.seen.latency is not None]
    if len(parts) < 2:
        return parts[0] if parts else EMPTY
    return merged(parts)


def _part_of(batch: Batch, substream: int) -> LatencyHistogram:
    rows = int(batch.taken.rows[substream])
    if rows == 0:
        return EMPTY
    whole = batch.seen.latency or EMPTY
    share = rows / batch.taken.total
    return LatencyHistogram(whole.bins, whole.rows * share, float(batch.latency_sum_s[substream]), whole.max_s)


def _departures(visible: list[Batch]) -> Floats:
    if not visible:
        return np.empty(0)
    return np.repeat([b.seen.visible_at_s for b in visible], [b.taken.total for b in visible])


def _departed(visible: list[Batch], span: Span) -> Ints:
    """Rows made visible in each step."""
    rows = np.zeros(span.steps, dtype=np.int64)
    step_s = span.duration_s / span.steps
    for b in visible:
        rows[min(span.steps - 1, max(0, int((b.seen.visible_at_s - span.start_s) / step_s)))] += b.taken.total
    return rows


def _samples(visible: list[Batch]) -> tuple[Ints, Floats] | None:
    """Where rows are single: the substream and the latency of each."""
    if not visible or visible[0].taken.substream is None:
        return None
    substream = [b.taken.substream for b in visible if b.taken.substream is not None]
    latency_s = [b.seen.visible_at_s - b.taken.arrival_s for b in visible]
    return np.concatenate(substream), np.concatenate(latency_s)
