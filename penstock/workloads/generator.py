"""The load generator: rows that are due by a shape go to a writer, one batch every so many milliseconds.

The stamp of a row, `ingress_us`, is when it became due; or, where the generator was too slow to take it then, when
the batch was begun that took it. So it is never earlier than the row was due, nor than its batch was begun, and never
later than the batch was closed. A batch is begun when the one before it was closed: a generator that keeps up stamps
every row with its due time, and one that does not cannot hide it. A row can be read some time after its stamp: the
rest of the interval, and the writing of its batch.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InvalidInput
from penstock.workloads.clock import Clock, RealClock
from penstock.workloads.content import Batch, Content
from penstock.workloads.generator_log import GeneratorLog, Summary
from penstock.workloads.shape import Shape, rows_due
from penstock.workloads.writer import Writer

LATE_S = 1.0  # beyond its interval: a hiccup of the machine is shorter, a rate that is too high is soon beyond it
END_GRACE_S = 2.0  # what is due at the end of a duration is caught up for so long, then counted as behind
MAX_BATCH_BYTES = 256_000_000  # of memory, whatever the rate
READER_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """Ends after `rows` rows or `duration_s` seconds, whichever is first; with neither, when it is stopped."""

    shape: Shape
    content: Content
    rows: int | None = None
    duration_s: float | None = None
    every_s: float = 0.2

    def __post_init__(self) -> None:
        if not 0.001 <= self.every_s < math.inf:
            raise InvalidInput(f"rows are handed over every 1 ms or more, not every {self.every_s * 1000:g} ms")
        if self.duration_s is not None and not 0 < self.duration_s < math.inf:
            raise InvalidInput(f"a duration is longer than 0 s, and {self.duration_s:g} is not")
        if self.rows is not None and self.rows < 1:
            raise InvalidInput(f"at least 1 row must be wanted, not {self.rows}")
        if self.rows is not None and not math.isfinite(float(self.shape.due_s(self.rows))):
            raise InvalidInput(f"{self.rows} rows will never be due: the rate falls to 0 before, and stays there")

    def rows_due(self, t_s: float) -> int:
        due = rows_due(self.shape, min(t_s, self.duration_s or math.inf))
        return due if self.rows is None else min(due, self.rows)

    @property
    def max_batch_rows(self) -> int:
        """Twice what the peak rate makes due in an interval: enough to catch up, and no batch grows without end."""
        by_rate = max(10_000, 2 * math.ceil(self.shape.peak_rows_per_s * self.every_s))
        return max(1, min(by_rate, MAX_BATCH_BYTES // self.content.bytes_per_row))


def generate(plan: Plan, writer: Writer, clock: Clock | None = None, log: GeneratorLog | None = None) -> Summary:
    """The whole load, in this thread; the writer is closed in the end."""
    return Generator(plan, writer, clock, log).run()


class Generator:
    """A load under way. As a context manager it runs in a thread of its own, and is stopped at the end of the block::

    with Generator(Plan(constant(1000), Records(Uniform(100))), FileWriter(directory, "json", "a")) as load:
        ...
    assert load.result().kept_its_rate
    """

    def __init__(
        self,
        plan: Plan,
        writer: Writer,
        clock: Clock | None = None,
        log: GeneratorLog | None = None,
        warn: Callable[[str], object] | None = None,
    ) -> None:
        self._plan, self._writer = plan, writer
        self._clock = clock or RealClock()
        self._log = log or GeneratorLog()
        self._warn = warn or (lambda sentence: sys.stderr.write(f"{sentence}\n"))
        self._warned = False
        self._written = self._late = self._hand_overs = 0
        self._begun_s = self._visible_after_s_max = 0.0

    def run(self) -> Summary:
        try:
            self._writer.prepare(self._sample())
            while not self._writer.ready():  # nobody reads yet: the load has not begun
                if not self._clock.wait_until_s(self._clock.now_s() + READER_POLL_S):
                    break
            self._start_s = self._clock.now_s()
            self._log.start(self._start_s, self._plan.rows_due, self._plan.every_s)
            self._follow_shape()
            return self._end()
        finally:
            self._writer.close()

    def stop(self) -> None:
        self._clock.stop()

    def __enter__(self) -> Generator:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-generator")
        self._running = self._thread.submit(self.run)
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.stop()
        self._thread.shutdown()
        if error is None:
            self.result()

    def result(self) -> Summary:
        """Waits for the end of the load; raises what it died of."""
        return self._running.result()

    def _follow_shape(self) -> None:
        now_s = 0.0
        while not self._is_over(now_s):
            next_s = self._next_s(now_s)
            if not self._clock.wait_until_s(self._start_s + next_s):
                return
            now_s = max(
                next_s, self._elapsed_s()
            )  # unix seconds in a float end at 0.2 us: what was waited for is reached
            self._log.advance(now_s)
            self._hand_over(now_s)

    def _next_s(self, now_s: float) -> float:
        """On the grid of intervals, so that no delay adds up; at once where rows are left over."""
        if self._plan.rows_due(now_s) > self._written and self._writer.ready():
            return now_s
        tick_s = (math.floor(now_s / self._plan.every_s + 1e-6) + 1) * self._plan.every_s
        end_s = self._plan.duration_s
        return tick_s if end_s is None or now_s >= end_s else min(tick_s, end_s)

    def _is_over(self, now_s: float) -> bool:
        plan = self._plan
        if plan.rows is not None and self._written >= plan.rows:
            return True
        if plan.duration_s is None or now_s < plan.duration_s:
            return False
        return self._written >= plan.rows_due(now_s) or now_s >= plan.duration_s + END_GRACE_S

    def _hand_over(self, now_s: float) -> None:
        rows = min(self._plan.rows_due(now_s) - self._written, self._plan.max_batch_rows)
        if rows <= 0:
            self._begun_s = now_s
            return
        due_s = self._plan.shape.due_s(np.arange(self._written + 1, self._written + rows + 1, dtype=np.float64))
        self._warn_when_late(now_s, float(due_s[0]))
        if not self._writer.ready():
            return
        self._writer.write(self._batch(due_s, now_s))
        readable_s = max(now_s, self._elapsed_s())
        self._written += rows
        self._hand_overs += 1
        self._visible_after_s_max = max(self._visible_after_s_max, readable_s - max(float(due_s[0]), self._begun_s))
        self._begun_s = now_s
        self._log.hand_over(readable_s, self._written)

    def _batch(self, due_s: NDArray[np.float64], now_s: float) -> Batch:
        ids = np.arange(self._written, self._written + due_s.size, dtype=np.int64)
        keys, values = self._plan.content.make(ids, due_s)
        self._late += int(np.count_nonzero(due_s < self._begun_s - 1e-6))
        stamps_s = np.clip(due_s, self._begun_s, now_s)
        return Batch(ids, keys, values, round(self._start_s * 1e6) + np.floor(stamps_s * 1e6).astype(np.int64))

    def _sample(self) -> Batch:
        ids = np.zeros(1, dtype=np.int64)
        return Batch(ids, *self._plan.content.make(ids, np.zeros(1)), ids)

    def _warn_when_late(self, now_s: float, oldest_due_s: float) -> None:
        waited_s = now_s - oldest_due_s
        if waited_s <= self._plan.every_s + LATE_S or self._warned:
            return
        self._warned = True
        behind = self._plan.rows_due(now_s) - self._written
        self._warn(
            f"penstock generate cannot keep its rate: {behind} rows are due and not written, the oldest for "
            f"{waited_s:.1f} s; they are stamped when they are taken, and the log counts them (rows_behind)"
        )

    def _end(self) -> Summary:
        elapsed_s = self._elapsed_s()
        self._log.advance(elapsed_s)
        summary = Summary(
            rows_due=self._plan.rows_due(elapsed_s),
            rows_written=self._written,
            rows_behind_max=max(self._log.rows_behind_max, self._log.rows_behind(elapsed_s)),
            rows_late=self._late,
            visible_after_s_max=round(self._visible_after_s_max, 6),
            hand_overs=self._hand_overs,
            seconds=round(elapsed_s, 6),
        )
        self._log.end(elapsed_s, summary)
        return summary

    def _elapsed_s(self) -> float:
        return self._clock.now_s() - self._start_s
