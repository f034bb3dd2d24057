"""What lies before a micro-batch: rows in order of arrival. A batch takes those that are there when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numba import njit

from penstock.observe.latency import LatencyHistogram
from penstock.simulator.arrays import Counts, Floats, Ints, Rows, Span, count, folded, total
from penstock.simulator.cells import Cells, Table, arrived_by, phases, share_whole
from penstock.simulator.row_buffer import RowBuffer

POINTS = 8  # a run of evenly spread arrivals is seen as so many equal parts


@dataclass(frozen=True, slots=True)
class Taken:
    """A batch's rows per substream, the sum of their arrival times, and the arrivals themselves with their weights."""

    rows: Ints
    arrival_sum_s: Floats
    arrival_s: Floats
    weight_rows: Floats
    substream: Ints | None = None

    @property
    def total(self) -> int:
        return int(self.rows.sum())

    def folded(self, substreams: int) -> Taken:
        rows = folded(self.rows.astype(np.float64), substreams).astype(np.int64)
        places = None if self.substream is None else self.substream % substreams
        return Taken(rows, folded(self.arrival_sum_s, substreams), self.arrival_s, self.weight_rows, places)

    def latency(self, visible_s: float) -> LatencyHistogram:
        return LatencyHistogram.of_arrays(visible_s - self.arrival_s, self.weight_rows)


class Intake(Protocol):
    def put(self, arrived: Rows | Counts, span: Span) -> None: ...

    def first_s(self, not_before_s: float) -> float | None:
        """When there is a row to take, at that time or later; None where there is none yet."""
        ...

    def take(self, now_s: float, cap_rows: int | None) -> Taken: ...

    def oldest_s(self) -> float | None: ...

    def lose(self, substreams: Ints) -> Ints: ...

    def spread_over(self, substreams: int) -> None: ...


class RowIntake:
    def __init__(self, substreams: int) -> None:
        self._waiting, self._substreams = RowBuffer(), substreams

    def put(self, arrived: Rows | Counts, span: Span) -> None:
        assert isinstance(arrived, Rows)
        self._waiting.append(arrived, np.zeros(arrived.arrival_s.size))  # a batch draws the work of its rows at once

    def first_s(self, not_before_s: float) -> float | None:
        oldest_s = self._waiting.oldest_s
        return None if oldest_s is None else max(not_before_s, oldest_s)

    def take(self, now_s: float, cap_rows: int | None) -> Taken:
        waiting = self._waiting.rows
        n = int(np.searchsorted(waiting.arrival_s, now_s, side="right"))
        n = n if cap_rows is None else min(n, cap_rows)
        arrival_s, substream = waiting.arrival_s[:n].copy(), waiting.substream[:n].copy()
        self._waiting.skip(n)
        rows = count(substream, self._substreams)
        return Taken(rows, total(substream, arrival_s, self._substreams), arrival_s, np.ones(n), substream)

    def oldest_s(self) -> float | None:
        return self._waiting.oldest_s

    def lose(self, substreams: Ints) -> Ints:
        waiting = self._waiting.rows.substream
        gone = np.isin(waiting, substreams)
        lost = count(waiting[gone], self._substreams)
        self._waiting.use(gone.size, ~gone)
        return lost

    def spread_over(self, substreams: int) -> None:
        self._substreams = substreams
        self._waiting.rows.substream[:] = np.arange(len(self._waiting)) % substreams


class CellIntake:
    """`_done_s` is the time up to which everything was taken; `_taken` what is gone of the cell it lies in."""

    def __init__(self, substreams: int, step_s: float) -> None:
        self._cells, self._step_s = Cells(substreams), step_s
        self._taken = np.zeros(substreams, dtype=np.int64)
        self._phase = phases(substreams)
        self._done_s, self._newest = 0.0, -1

    def put(self, arrived: Rows | Counts, span: Span) -> None:
        assert not isinstance(arrived, Rows)
        self._skip_empty()
        self._cells.put(span.first, arrived)
        self._newest = span.last

    def _skip_empty(self) -> None:
        while self._cells.oldest <= self._newest and not self._left(self._cells.oldest).any():
            self._cells.oldest += 1
            self._taken[:] = 0

    def _left(self, step: int) -> Ints:
        rows: Ints = self._cells.table[step % self._cells.table.shape[0]]
        return rows - self._taken if step == self._cells.oldest else rows

    def first_s(self, not_before_s: float) -> float | None:
        self._skip_empty()
        if self._cells.oldest > self._newest:
            return None
        return max(not_before_s, self._first_of(self._cells.oldest))

    def _first_of(self, step: int) -> float:
        left = self._left(step)
        some = left > 0
        taken = self._taken[some] if step == self._cells.oldest else 0
        whole = left[some] + taken
        return float((step + np.min((taken + self._phase[some]) / whole)) * self._step_s)

    def take(self, now_s: float, cap_rows: int | None) -> Taken:
        rows = np.zeros(self._taken.size, dtype=np.int64)
        arrival_sum_s = np.zeros(self._taken.size)
        runs = np.zeros((self._newest - self._cells.oldest + 1, 3))
        limit = np.iinfo(np.int64).max if cap_rows is None else cap_rows
        window = (self._cells.oldest, self._newest, self._step_s, self._done_s, now_s)
        found = _take(self._cells.table, (self._taken, self._phase), window, limit, (rows, arrival_sum_s, runs))
        self._cells.oldest, self._done_s, n = found
        arrival_s = runs[:n, :1] + (runs[:n, 1:2] - runs[:n, :1]) * ((np.arange(POINTS) + 0.5) / POINTS)
        return Taken(rows, arrival_sum_s, arrival_s.ravel(), np.repeat(runs[:n, 2] / POINTS, POINTS))

    def oldest_s(self) -> float | None:
        return self.first_s(-np.inf)

    def lose(self, substreams: Ints) -> Ints:
        lost = np.zeros(self._taken.size, dtype=np.int64)
        for step in range(self._cells.oldest, self._newest + 1):
            lost[substreams] += self._left(step)[substreams]
            self._cells.table[step % self._cells.table.shape[0], substreams] = 0
        self._taken[substreams] = 0
        return lost

    def spread_over(self, substreams: int) -> None:
        if self._cells.oldest <= self._newest:
            self._cells.table[self._cells.oldest % self._cells.table.shape[0]] -= self._taken
        self._cells.spread_over(substreams, self._newest)
        self._taken = np.zeros(substreams, dtype=np.int64)
        self._phase = phases(substreams)


Marks = tuple[Ints, Floats]
Window = tuple[int, int, float, float, float]
Output = tuple[Ints, Floats, Floats]


@njit(cache=True)
def _take(table: Table, marks: Marks, window: Window, limit: int, out: Output) -> tuple[int, float, int]:
    """All that is there, oldest first, up to the limit. A run in `out` is (from, until, rows) of even arrivals."""
    taken, phase = marks
    step, newest, step_s, done_s, now_s = window
    rows, arrival_sum_s, runs = out
    there, part, n = np.empty_like(taken), np.empty_like(taken), 0
    while step <= newest and limit > 0:
        begin_s, cell = step * step_s, table[step % table.shape[0]]
        share = (now_s - begin_s) / step_s
        for k in range(taken.size):
            there[k] = arrived_by(cell[k], phase[k], share) - taken[k] if share > 0 else 0
        waiting = there.sum()
        wanted = min(waiting, limit)
        if waiting > 0:
            from_s, until_s = max(begin_s, done_s), begin_s + min(share, 1.0) * step_s
            done_s = from_s + (until_s - from_s) * wanted / waiting
            share_whole(there, wanted, part)
            rows += part
            taken += part
            arrival_sum_s += part * (from_s + done_s) / 2
            runs[n, 0], runs[n, 1], runs[n, 2] = from_s, done_s, wanted
            n, limit = n + 1, limit - wanted
        if share < 1.0 or wanted < waiting:
            break
        step += 1
        taken[:] = 0
    return step, done_s, n
