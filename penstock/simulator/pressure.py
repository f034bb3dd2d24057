"""What stops sources: a line above its high mark, until none is above the low one (Heron); too many in flight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.changes import Target
from penstock.simulator.arrays import Floats, Span
from penstock.simulator.running import Running
from penstock.simulator.scenario import Pressure, PressureKind


class Valve:
    """Acts at the end of every piece of time. Operators go on working; who started it, and for how long, is counted."""

    def __init__(self, pressure: Pressure, sources: Sequence[Target]) -> None:
        self._pressure, self._sources = pressure, frozenset(sources)
        self._closed = False
        self.backpressure_s: dict[Target, Floats] = {}

    def act(self, everyone: Sequence[Running], span: Span) -> None:
        if self._pressure.kind is PressureKind.BACKPRESSURE:
            self._act_on_lines(everyone, span)
        elif self._pressure.kind is PressureKind.IN_FLIGHT:
            rows = sum(r.pending_rows for r in everyone if r.target not in self._sources)
            self._closed = rows > (self._pressure.low_rows if self._closed else self._pressure.high_rows)
        if self._closed:
            self._stop_sources(everyone, span)

    def _act_on_lines(self, everyone: Sequence[Running], span: Span) -> None:
        mark = self._pressure.low_rows if self._closed else self._pressure.high_rows
        above = {r.target: self._lines(r) > mark for r in everyone if r.target not in self._sources}
        self._closed = any(lines.any() for lines in above.values())
        for target, lines in above.items() if self._closed else ():
            self.backpressure_s[target] = self.taken_backpressure_s(target, lines.size) + lines * span.duration_s

    def _stop_sources(self, everyone: Sequence[Running], span: Span) -> None:
        for r in everyone:
            if r.target in self._sources:
                until_s = span.end_s + span.duration_s
                r.fleet.suspended_until_s = np.maximum(r.fleet.suspended_until_s, until_s)

    @staticmethod
    def _lines(running: Running) -> Floats:
        return running.fleet.per_instance(running.process.pending_rows).astype(np.float64)

    def taken_backpressure_s(self, target: Target, instances: int) -> Floats:
        """Since last asked, for each instance."""
        found = self.backpressure_s.pop(target, None)
        return found if found is not None and found.size == instances else np.zeros(instances)
