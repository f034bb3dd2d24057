"""A continuous operator with every row apart: exact, what queueing theory is checked on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.simulator.arrays import Counts, Fleet, Floats, Ints, Progress, Rows, Span, count, total
from penstock.simulator.bins import histogram_of
from penstock.simulator.component import Queueing, Service
from penstock.simulator.noise import noise
from penstock.simulator.queues import Line, Servers, serve_own_queues, serve_shared_queue
from penstock.simulator.row_buffer import RowBuffer


class InService(NamedTuple):
    departure_s: Floats
    arrival_s: Floats
    substream: Ints
    instance: Ints

    def at(self, which: Chosen) -> InService:
        return InService(self.departure_s[which], self.arrival_s[which], self.substream[which], self.instance[which])

    def then(self, more: InService) -> InService:
        return InService(
            np.concatenate((self.departure_s, more.departure_s)),
            np.concatenate((self.arrival_s, more.arrival_s)),
            np.concatenate((self.substream, more.substream)),
            np.concatenate((self.instance, more.instance)),
        )


Chosen = NDArray[np.bool_] | Ints
_NONE = np.empty(0)
_NOBODY = np.empty(0, dtype=np.int64)


class RowQueues:
    """`limit_rows` is the longest line of an instance: what is beyond it when a span ends is dropped, newest first."""

    def __init__(self, service: Service, fleet: Fleet, limit_rows: int | None, rng: np.random.Generator) -> None:
        self._service, self._fleet, self._limit_rows, self._rng = service, fleet, limit_rows, rng
        self._waiting = RowBuffer()
        self._in_service = InService(_NONE, _NONE, _NOBODY, _NOBODY)
        self._ready_s = np.full(fleet.instances, -np.inf)
        self._lost = np.zeros(fleet.substreams, dtype=np.int64)
        self._pending = np.zeros(fleet.substreams, dtype=np.int64)
        self._room: tuple[Ints, Floats] = (np.empty(0, dtype=np.int64), np.empty(0))

    @property
    def pending_rows(self) -> Ints:
        return self._pending

    def advance(self, arrived: Rows | Counts, span: Span) -> Progress:
        assert isinstance(arrived, Rows)
        work_s = noise(self._rng, self._service.cv, arrived.arrival_s.size) * self._service.row_s
        self._waiting.append(arrived, work_s)
        useful_s = self._serve(span)
        dropped = self._lost + self._drop_beyond_limit()
        self._lost = np.zeros(self._fleet.substreams, dtype=np.int64)
        done, came = self._finish(span), self._count(arrived.substream)
        completed = self._count(done.substream)
        self._pending = self._pending + came - completed - dropped
        latency_s = done.departure_s - done.arrival_s
        oldest_s = min(self._in_service.arrival_s, default=self._waiting.oldest_s)
        if self._waiting.oldest_s is not None and oldest_s is not None:
            oldest_s = min(oldest_s, self._waiting.oldest_s)
        return Progress(
            arrived=came,
            completed=completed,
            dropped=dropped,
            pending=self._pending,
            useful_s=useful_s,
            executed=count(done.instance, self._fleet.instances),
            latency_sum_s=total(done.substream, latency_s, self._fleet.substreams),
            latency=histogram_of(latency_s),
            oldest_pending_s=None if oldest_s is None else span.end_s - float(oldest_s),
            departures_s=done.departure_s,
            samples=(done.substream, latency_s),
        )

    def _serve(self, span: Span) -> Floats:
        """Rows that begin before the step's end leave the line; returns the useful seconds of each instance."""
        fleet = self._fleet
        useful_s: Floats = np.clip(np.minimum(self._ready_s, span.end_s) - span.start_s, 0.0, None)
        rows = self._waiting.rows
        line = Line(rows.arrival_s, rows.substream, fleet.instance_of, rows.work_s, *self._scratch(rows.work_s.size))
        held_s = np.maximum(self._ready_s, fleet.suspended_until_s)
        servers = Servers(held_s.copy(), 1 / fleet.speed, useful_s)
        kernel = serve_shared_queue if self._service.queueing is Queueing.SHARED else serve_own_queues
        n = kernel(line, servers, span.end_s)
        self._ready_s = np.where(servers.ready_s > held_s, servers.ready_s, self._ready_s)
        begun = np.isfinite(line.departure_s[:n])
        started = InService(line.departure_s[:n], rows.arrival_s[:n], rows.substream[:n], line.instance[:n])
        self._in_service = self._in_service.then(started.at(begun))
        self._waiting.use(n, ~begun)
        return useful_s

    def _scratch(self, rows: int) -> tuple[Ints, Floats]:
        """Room for the kernel's answers, kept from step to step."""
        if self._room[0].size < rows:
            self._room = (np.empty(2 * rows, dtype=np.int64), np.empty(2 * rows))
        return self._room

    def _finish(self, span: Span) -> InService:
        done = self._in_service.departure_s <= span.end_s
        finished = self._in_service.at(done)
        self._in_service = self._in_service.at(~done)
        return finished

    def _drop_beyond_limit(self) -> Ints:
        limit = self._limit_rows
        if limit is None or len(self._waiting) <= limit:
            return np.zeros(self._fleet.substreams, dtype=np.int64)
        return self._remove(self._place_in_line() >= limit)

    def _remove(self, gone: NDArray[np.bool_]) -> Ints:
        """Waiting rows that nobody will serve; returns how many of each substream."""
        counts = self._count(self._waiting.rows.substream[gone])
        self._waiting.use(gone.size, ~gone)
        return counts

    def _place_in_line(self) -> Ints:
        """How many waiting rows stand before each one at its instance."""
        if self._service.queueing is Queueing.SHARED:
            return np.arange(len(self._waiting)) // self._fleet.instances
        instance = self._fleet.instance_of[self._waiting.rows.substream]
        order = np.argsort(instance, kind="stable")
        lengths = count(instance, self._fleet.instances)
        first = np.cumsum(lengths) - lengths
        place = np.empty(instance.size, dtype=np.int64)
        place[order] = np.arange(instance.size) - first[instance[order]]
        return place

    def reshape(self) -> None:
        k, p = self._fleet.substreams, self._fleet.instances
        ready_s = np.full(p, -np.inf)
        ready_s[: min(p, self._ready_s.size)] = self._ready_s[:p]
        self._ready_s = ready_s
        if k != self._lost.size:
            self._waiting.rows.substream[:] = np.arange(len(self._waiting)) % k
            self._lost = np.bincount(np.arange(self._lost.size) % k, weights=self._lost, minlength=k).astype(np.int64)
        serving = self._in_service
        self._in_service = serving._replace(substream=serving.substream % k, instance=serving.instance % p)
        self._pending = self._count(self._waiting.rows.substream) + self._count(serving.substream % k) + self._lost

    def lose(self, instance: int) -> Ints:
        gone = self._remove(self._fleet.instance_of[self._waiting.rows.substream] == instance)
        self._lost += gone
        return gone

    def _count(self, substreams: Ints) -> Ints:
        return count(substreams, self._fleet.substreams)
