"""What a person sees while a job runs: a view that repaints itself in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from penstock.action_log import ActionLog, Entry
from penstock.changes import Target
from penstock.deployment import Deployment
from penstock.objectives.objective import Objective
from penstock.objectives.parse import text_of
from penstock.observe.latency import LatencyHistogram, merged
from penstock.observe.snapshot import ComponentSeen, Snapshot

PLAIN_EVERY_S = 5.0
RATES_OVER_S = 10.0  # long enough that batches do not make it jump
COLUMNS = ("query", "rows/s in", "rows/s out", "pending", "mean", "p95", "instances", "batch")


@dataclass(slots=True)
class Live:
    """`repaint`: over the lines of before; else one line for each query every few seconds."""

    out: TextIO
    repaint: bool
    log: ActionLog
    objectives: Mapping[Target, Sequence[Objective]] = field(default_factory=dict)
    _recent: list[Snapshot] = field(default_factory=list)
    _painted: int = 0
    _last_plain_s: float = 0.0

    @classmethod
    def on_terminal(cls, log: ActionLog, quiet: bool) -> Live:
        return cls(sys.stderr, sys.stderr.isatty() and not quiet, log)

    def show(self, deployment: Deployment, snapshot: Snapshot) -> None:
        self._recent = [s for s in self._recent if s.end_s > snapshot.end_s - RATES_OVER_S] + [snapshot]
        rows = [self._row(deployment, t) for t in snapshot.components]
        if self.repaint:
            self._paint([*table([COLUMNS, *rows]), *self._promises(), *last_changes(self.log.newest(4))])
        elif snapshot.end_s - self._last_plain_s >= PLAIN_EVERY_S:
            self._last_plain_s = snapshot.end_s
            lines = [", ".join(f"{n} {v}" for n, v in zip(COLUMNS[1:], row[1:], strict=True)) for row in rows]
            self.out.writelines(f"penstock: {row[0]}: {line}\n" for row, line in zip(rows, lines, strict=True))

    def say(self, sentence: str) -> None:
        self.out.write(f"penstock: {sentence}\n")
        self.out.flush()
        self._painted = 0

    def _row(self, deployment: Deployment, target: Target) -> tuple[str, ...]:
        seen = [s.components[target] for s in self._recent if target in s.components]
        span_s = sum(s.duration_s for s in self._recent)
        late = merged([c.latency for c in seen if c.latency is not None])
        batches = [b for c in seen for b in c.batches]
        name = f"{target.component}{' (not regulated)' if target in deployment.unregulated else ''}"
        return (
            name,
            rate([c.rows_arrived for c in seen], span_s),
            rate([c.rows_completed for c in seen], span_s),
            count(seen[-1].rows_pending if seen else None),
            seconds(late.mean_s),
            seconds(_p95(late)),
            instances(seen[-1] if seen else None),
            seconds(batches[-1].duration_s) if batches else "-",
        )

    def _promises(self) -> list[str]:
        return [f"  objective of {t.component}: {text_of(o)}" for t, found in self.objectives.items() for o in found]

    def _paint(self, lines: Sequence[str]) -> None:
        up = f"\x1b[{self._painted}F\x1b[J" if self._painted else ""
        self.out.write(up + "\n".join(lines) + "\n")
        self.out.flush()
        self._painted = len(lines)


def _p95(late: LatencyHistogram) -> float | None:
    return late.quantile_s(0.95)


def rate(rows: Sequence[float | None], span_s: float) -> str:
    known = [r for r in rows if r is not None]
    return count(sum(known) / span_s) if known and span_s > 0 else "unknown"


def count(value: float | None) -> str:
    """
    >>> count(1234567), count(None), count(12)
    ('1.23M', 'unknown', '12')
    """
    if value is None:
        return "unknown"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1000 if letter == 'k' else size):.3g}{letter}"
    return f"{value:.0f}"


def seconds(value: float | None) -> str:
    """
    >>> seconds(0.0123), seconds(2.5), seconds(None)
    ('12 ms', '2.5 s', '-')
    """
    if value is None:
        return "-"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.3g} s"


def instances(seen: ComponentSeen | None) -> str:
    return str(seen.parallelism) if seen and seen.parallelism is not None else "-"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def last_changes(entries: Sequence[Entry]) -> list[str]:
    return [f"  {e.event}: {e.why}" for e in reversed(entries)]
