"""A continuous operator as cumulative curves: rows per step and substream, latency read off between them."""

from __future__ import annotations

import numpy as np

from penstock.observe.latency import LatencyHistogram
from penstock.simulator.arrays import Counts, Fleet, Floats, Ints, Progress, Rows, Span, count, folded
from penstock.simulator.bins import BINS, histogram
from penstock.simulator.cells import Cells
from penstock.simulator.component import Queueing, Service
from penstock.simulator.flows import Lines, Served, serve_counts


class CountQueues:
    """Lines are the instances, or a single one where the instances share it; none is longer than `limit_rows`."""

    def __init__(
        self, service: Service, fleet: Fleet, limit_rows: int | None, step_s: float, rng: np.random.Generator
    ) -> None:
        self._service, self._fleet, self._limit_rows, self._step_s, self._rng = service, fleet, limit_rows, step_s, rng
        self.by_substream = False
        self._cells = Cells(fleet.substreams)
        self._pending = np.zeros(fleet.substreams, dtype=np.int64)
        self._lost = np.zeros(fleet.substreams, dtype=np.int64)
        self._newest = -1
        self._ready_s = np.full(1, -np.inf)
        self._head = np.zeros(1, dtype=np.int64)
        self._taken = np.zeros(1, dtype=np.int64)
        self.reshape()

    @property
    def pending_rows(self) -> Ints:
        return self._pending

    @property
    def _shared(self) -> bool:
        return self._service.queueing is Queueing.SHARED

    def reshape(self) -> None:
        k, lines = self._fleet.substreams, 1 if self._shared else self._fleet.instances
        if k != self._pending.size:
            self._cells.spread_over(k, self._newest)
            self._lost = folded(self._lost.astype(np.float64), k).astype(np.int64)
            self._pending = self._cells.table.sum(axis=0) + self._lost
        line = np.zeros(k, dtype=np.int64) if self._shared else self._fleet.instance_of
        self._member = np.argsort(line, kind="stable")
        self._first = np.concatenate(([0], np.cumsum(count(line, lines))))
        ready_s = np.full(lines, -np.inf)
        ready_s[: min(lines, self._ready_s.size)] = self._ready_s[:lines]
        self._ready_s = ready_s
        self._head = np.full(lines, self._cells.oldest)
        self._taken = np.zeros(lines, dtype=np.int64)

    def advance(self, arrived: Rows | Counts, span: Span) -> Progress:
        assert not isinstance(arrived, Rows)
        self._cells.put(span.first, arrived)
        self._newest = span.last
        served, came = self._serve(span), arrived.sum(axis=0)
        waiting = self._pending + came - served.rows - self._lost
        dropped = self._lost + self._drop_beyond_limit(waiting)
        self._pending = waiting - (dropped - self._lost)
        self._lost = np.zeros_like(dropped)
        self._cells.oldest = int(self._head.min())
        executed = self._executed(served.line_rows)
        return Progress(
            arrived=came,
            completed=served.rows,
            dropped=dropped,
            pending=self._pending,
            useful_s=executed * (self._service.row_s / self._fleet.speed),
            executed=executed,
            latency_sum_s=served.latency_sum_s,
            latency=_histogram(served),
            by_substream=_histograms(served) if self.by_substream else None,
            oldest_pending_s=self._oldest_s(span.end_s),
            departed_rows=served.departed,
        )

    def _serve(self, span: Span) -> Served:
        k, lines = self._fleet.substreams, self._head.size
        served = Served(
            np.zeros(k, dtype=np.int64),
            np.zeros(k),
            np.zeros(lines, dtype=np.int64),
            np.zeros(span.steps, dtype=np.int64),
            np.zeros(BINS),
            np.zeros((k if self.by_substream else 0, BINS)),
            np.zeros(1),
        )
        pace_s, row_s, held_s = self._paces(span.duration_s)
        queue = Lines(self._member, self._first, self._head, self._taken, self._ready_s, held_s, pace_s, row_s)
        serve_counts(self._cells.table, queue, served, (span.first, span.steps, self._step_s))
        return served

    def _paces(self, duration_s: float) -> tuple[Floats, Floats, Floats]:
        """Seconds between departures, seconds of one row, and until when the line is held."""
        row_s = self._service.row_s / self._fleet.speed
        if self._service.cv > 0:
            shape = np.maximum(1.0, duration_s / row_s) / self._service.cv**2
            row_s = row_s * self._rng.standard_gamma(shape) / shape
        held_s = self._fleet.suspended_until_s
        if not self._shared:
            return row_s, row_s, held_s
        return 1 / (1 / row_s).sum(keepdims=True), row_s.mean(keepdims=True), held_s.max(keepdims=True)

    def _executed(self, line_rows: Ints) -> Ints:
        if not self._shared:
            return line_rows
        share = self._fleet.speed / self._fleet.speed.sum()
        upto: Ints = np.floor(np.cumsum(share) * line_rows[0] + 1e-9).astype(np.int64)
        return np.diff(upto, prepend=0)

    def _oldest_s(self, end_s: float) -> float | None:
        """The age of the oldest row that waits, as far as its step tells."""
        if not self._pending.any():
            return None
        with_rows = self._per_line(self._pending) > 0
        return end_s - float(self._head[with_rows].min()) * self._step_s

    def _drop_beyond_limit(self, waiting: Ints) -> Ints:
        limit = self._limit_rows
        if limit is None:
            return np.zeros_like(waiting)
        dropped = np.zeros_like(waiting)
        for i in np.flatnonzero(self._per_line(waiting) > self._limit(limit)):
            members = self._member[self._first[i] : self._first[i + 1]]
            self._drop_newest(members, int(waiting[members].sum()) - self._limit(limit), dropped)
        return dropped

    def _per_line(self, rows: Ints) -> Ints:
        sums: Ints = np.add.reduceat(rows[self._member], self._first[:-1])
        return sums

    def _limit(self, limit: int) -> int:
        return limit * self._fleet.instances if self._shared else limit

    def _drop_newest(self, members: Ints, excess: int, dropped: Ints) -> None:
        for place in self._cells.steps_until(self._newest)[::-1]:
            rows = self._cells.table[place, members]
            gone = rows if rows.sum() <= excess else _share(rows, excess)
            self._cells.table[place, members] -= gone
            dropped[members] += gone
            excess -= int(gone.sum())
            if excess == 0:
                return

    def lose(self, instance: int) -> Ints:
        gone = np.where(self._fleet.instance_of == instance, self._pending - self._lost, 0)
        self._lost = self._lost + gone
        self._cells.table[np.ix_(self._cells.steps_until(self._newest), np.flatnonzero(gone))] = 0
        return gone


def _share(rows: Ints, wanted: int) -> Ints:
    upto: Ints = np.cumsum(rows) * wanted // rows.sum()
    return np.diff(upto, prepend=0)


def _histogram(served: Served) -> LatencyHistogram:
    return histogram(served.histogram, float(served.latency_sum_s.sum()), float(served.max_s[0]))


def _histograms(served: Served) -> tuple[LatencyHistogram, ...]:
    longest_s = float(served.max_s[0])
    return tuple(
        histogram(rows, float(sum_s), longest_s)
        for rows, sum_s in zip(served.of_substream, served.latency_sum_s, strict=True)
    )
