"""What a run came to: the figures of its whole length, for people and for scripts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.changes import Target
from penstock.objectives.objective import Objective
from penstock.objectives.success import Success, Timeline, success_share
from penstock.observe.latency import EMPTY, LatencyHistogram, merged
from penstock.observe.snapshot import ComponentSeen, How, Snapshot

WORST_LAST = (How.EXACT, How.INTERPOLATED, How.BOUND, How.UNKNOWN)


@dataclass(slots=True)
class ComponentTotals:
    """One component, added up from snapshot to snapshot."""

    rows_in: float | None = None
    rows_out: float | None = None
    rows_completed: float = 0.0
    rows_dropped: float = 0.0
    pending: float | None = None
    latency: LatencyHistogram = EMPTY
    arrival_latency: LatencyHistogram = EMPTY
    how: How = How.EXACT
    instance_seconds: float = 0.0
    seconds: float = 0.0
    batches: int = 0
    parked: bool = False
    completed: list[tuple[float, float, float]] = field(default_factory=list)  # at, latency, rows
    pending_spans: list[tuple[float, float, float]] = field(default_factory=list)  # from, until, since

    def add(self, seen: ComponentSeen, snapshot: Snapshot) -> None:
        self.rows_in = _plus(self.rows_in, seen.rows_arrived)
        self.rows_out = _plus(self.rows_out, seen.rows_emitted)
        self.rows_completed += seen.rows_completed or 0.0
        self.rows_dropped += seen.rows_dropped or 0.0
        self.pending = seen.rows_pending
        self.instance_seconds += (seen.parallelism or 0) * snapshot.duration_s
        self.seconds += snapshot.duration_s
        self.batches += len(seen.batches)
        self.parked |= seen.parked
        if seen.latency is not None:
            self.latency = merged([self.latency, seen.latency])
            self.how = max(self.how, seen.latency_how, key=WORST_LAST.index)
        if seen.arrival_latency is not None:
            self.arrival_latency = merged([self.arrival_latency, seen.arrival_latency])
        self._keep_times(seen, snapshot)

    def _keep_times(self, seen: ComponentSeen, snapshot: Snapshot) -> None:
        for batch in seen.batches:
            if batch.latency is not None:
                late = batch.latency.values_s.tolist(), batch.latency.rows.tolist()
                self.completed += [(batch.visible_at_s, s, n) for s, n in zip(*late, strict=True)]
        if not seen.batches and seen.latency is not None:
            late = seen.latency.values_s.tolist(), seen.latency.rows.tolist()
            self.completed += [(snapshot.end_s, s, n) for s, n in zip(*late, strict=True)]
        if seen.oldest_pending_s is not None and snapshot.duration_s > 0:
            self.pending_spans.append((snapshot.start_s, snapshot.end_s, snapshot.end_s - seen.oldest_pending_s))

    def timeline(self, start_s: float, end_s: float) -> Timeline:
        at_s, late_s, rows = np.asarray(self.completed, dtype=np.float64).reshape(-1, 3).T
        since = np.asarray(self.pending_spans, dtype=np.float64).reshape(-1, 3).T
        return Timeline(start_s, end_s, at_s, late_s, rows, *since)

    def json(self, success: Success | None) -> dict[str, Any]:
        return {
            "rows_in": _whole(self.rows_in),
            "rows_out": _whole(self.rows_out),
            "rows_completed": _whole(self.rows_completed),
            "rows_dropped": _whole(self.rows_dropped),
            "pending": _whole(self.pending),
            "latency_s": latency_json(self.latency, self.how),
            "arrival_latency_s": latency_json(self.arrival_latency, self.how),
            "success_share": success.share if success else None,
            "row_weighted_share": success.row_weighted_share if success else None,
            "mean_instances": self.instance_seconds / self.seconds if self.seconds else None,
            "instance_seconds": self.instance_seconds,
            "batches": self.batches,
            "parked": self.parked,
        }


@dataclass(slots=True)
class RunTotals:
    """Everything that a run's snapshots came to."""

    components: dict[Target, ComponentTotals] = field(default_factory=dict)
    start_s: float | None = None
    end_s: float = 0.0

    def add(self, snapshot: Snapshot) -> None:
        self.start_s = snapshot.start_s if self.start_s is None else self.start_s
        self.end_s = snapshot.end_s
        for target, seen in snapshot.components.items():
            self.components.setdefault(target, ComponentTotals()).add(seen, snapshot)

    def json(
        self, objectives: Mapping[Target, Sequence[Objective]], streams: Collection[tuple[Target, Target]] = ()
    ) -> dict[str, Any]:
        """Rows come in at the components that no other feeds, and go out at those that feed no other."""
        parts = {t: c.json(self._success(t, c, objectives)) for t, c in self.components.items()}
        shares = [p["success_share"] for p in parts.values() if p["success_share"] is not None]
        fed, feeding = {target for _, target in streams}, {source for source, _ in streams}
        sources = [c for t, c in self.components.items() if t not in fed]
        sinks = [c for t, c in self.components.items() if t not in feeding]
        totals = list(self.components.values())
        return {
            "rows_in": _whole(_sum([c.rows_in for c in sources])),
            "rows_out": _whole(_sum([c.rows_out for c in sinks])),
            "pending": _whole(_sum([c.pending for c in totals])),
            "latency_s": latency_json(merged([c.latency for c in sinks]), _worst([c.how for c in sinks])),
            "success_share": min(shares, default=None),
            "mean_instances": _sum([p["mean_instances"] for p in parts.values()]),
            "instance_seconds": sum(c.instance_seconds for c in totals),
            "batches": sum(c.batches for c in totals),
            "components": {str(t.component): p for t, p in parts.items()},
        }

    def _success(
        self, target: Target, totals: ComponentTotals, objectives: Mapping[Target, Sequence[Objective]]
    ) -> Success | None:
        """The worst of what was promised for it: every promise is to be kept."""
        timeline = totals.timeline(self.start_s or 0.0, self.end_s)
        kept = [success_share(o, [timeline]) for o in objectives.get(target, ())]
        return min((k for k in kept if k.share is not None), key=lambda k: k.share or 0.0, default=None)


def latency_json(latency: LatencyHistogram, how: How) -> dict[str, Any]:
    quantiles = {f"p{q}": latency.quantile_s(q / 100) for q in (50, 95, 99)}
    known = latency.count > 0
    return {
        "mean": latency.mean_s,
        **quantiles,
        "max": latency.max_s if known else None,
        "how": str(how if known else How.UNKNOWN),
    }


def _plus(total: float | None, more: float | None) -> float | None:
    return total if more is None else (total or 0.0) + more


def _sum(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def _whole(rows: float | None) -> int | None:
    return None if rows is None else round(rows)


def _worst(hows: Sequence[How]) -> How:
    return max(hows, key=WORST_LAST.index, default=How.UNKNOWN)
