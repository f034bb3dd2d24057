"""What has arrived, as a curve of rows over time: latency is read off between it and what was completed when."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from penstock.observe.latency import LatencyHistogram


@dataclass(slots=True)
class ArrivalCurve:
    """Cumulative rows at times that do not fall. Between two points rows arrive evenly (`steps` False: a rate that was
    sampled) or all at the second (`steps` True: files, each visible at once). Rows are taken in the order of arrival.

    >>> curve = ArrivalCurve(steps=True)
    >>> curve.add(10.0, 100.0); curve.add(12.0, 50.0)
    >>> curve.total, curve.by(11.0)
    (150.0, 100.0)
    >>> curve.latency(0.0, 150.0, visible_at_s=13.0).max_s
    3.0
    """

    steps: bool
    times_s: list[float] = field(default_factory=list)
    rows: list[float] = field(default_factory=list)

    @property
    def total(self) -> float:
        return self.rows[-1] if self.rows else 0.0

    def add(self, at_s: float, rows: float) -> None:
        self.reach(at_s, self.total + rows)

    def reach(self, at_s: float, total: float) -> None:
        """At this time so many rows had arrived in all. Clocks of hosts differ: time never runs back here."""
        self.times_s.append(max(at_s, self.times_s[-1]) if self.times_s else at_s)
        self.rows.append(max(total, self.total))

    def by(self, at_s: float) -> float:
        """Rows that had arrived by then."""
        if not self.times_s:
            return 0.0
        if self.steps:
            at = bisect_right(self.times_s, at_s)
            return self.rows[at - 1] if at else 0.0
        return float(np.interp(at_s, self.times_s, self.rows, left=0.0))

    def arrival_s(self, row: float) -> float | None:
        """When row number `row` (from 0) arrived; None where it has not."""
        at = bisect_right(self.rows, row)
        if at == len(self.rows):
            return None
        if self.steps or at == 0:
            return self.times_s[at]
        share = (row - self.rows[at - 1]) / (self.rows[at] - self.rows[at - 1])
        return self.times_s[at - 1] + share * (self.times_s[at] - self.times_s[at - 1])

    def latency(self, first: float, last: float, visible_at_s: float, pieces: int = 64) -> LatencyHistogram:
        """Of the rows from `first` up to `last`, all visible in the output at once. Even stretches are cut."""
        inside = [r for r in self.rows[bisect_right(self.rows, first) : bisect_left(self.rows, last)]]
        cuts = sorted({first, last, *inside})
        if not self.steps and last > first:
            cuts = sorted({*cuts, *np.linspace(first, last, pieces + 1).tolist()})
        spans = [(a, b) for a, b in pairwise(cuts) if b > a]
        known = [(self.arrival_s((a + b) / 2), b - a) for a, b in spans]
        late = [(visible_at_s - at_s, n) for at_s, n in known if at_s is not None]
        return LatencyHistogram.of([max(0.0, s) for s, _ in late], [n for _, n in late])

    def forget_before(self, row: float) -> None:
        """Rows before this one are completed: their times are not asked for again."""
        keep = max(0, bisect_left(self.rows, row) - 2)
        del self.times_s[:keep], self.rows[:keep]
