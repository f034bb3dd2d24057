"""What a run came to, added up from snapshots whose figures are known."""

from __future__ import annotations

import pytest

from penstock.changes import Target
from penstock.ids import ComponentId, TopologyId
from penstock.objectives.objective import Latency
from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import BatchSeen, ComponentSeen, How, Snapshot
from penstock.observe.summary import RunTotals

COUNTS = Target(TopologyId("words"), ComponentId("counts"))


def step(at_s: float, latency_s: float | None, **seen: object) -> Snapshot:
    late = None if latency_s is None else LatencyHistogram.of([latency_s] * 10)
    batch = BatchSeen(int(at_s), at_s - 0.5, at_s - 0.1, at_s, 10, 2, latency=late)
    component = ComponentSeen(latency=late, latency_how=How.EXACT, batches=(batch,) if late else (), **seen)  # type: ignore[arg-type]
    return Snapshot(at_s - 1, at_s, {COUNTS: component})


def totals(*snapshots: Snapshot) -> RunTotals:
    run = RunTotals()
    for snapshot in snapshots:
        run.add(snapshot)
    return run


def test_rows_and_instances_add_up() -> None:
    run = totals(
        step(1.0, 0.5, rows_arrived=30.0, rows_completed=10.0, rows_emitted=5.0, rows_pending=20.0, parallelism=2),
        step(2.0, 0.5, rows_arrived=0.0, rows_completed=20.0, rows_emitted=7.0, rows_pending=0.0, parallelism=4),
    )
    counts = run.json({})["components"]["counts"]
    assert (counts["rows_in"], counts["rows_completed"], counts["rows_out"], counts["pending"]) == (30, 30, 12, 0)
    assert counts["instance_seconds"] == 6.0
    assert counts["mean_instances"] == 3.0
    assert counts["latency_s"]["mean"] == pytest.approx(0.5)
    assert counts["latency_s"]["how"] == "exact"


def test_what_is_unknown_stays_unknown() -> None:
    counts = totals(step(1.0, None)).json({})["components"]["counts"]
    assert counts["rows_in"] is None
    assert counts["pending"] is None
    assert counts["latency_s"] == {"mean": None, "p50": None, "p95": None, "p99": None, "max": None, "how": "unknown"}
    assert counts["success_share"] is None


def test_success_is_the_share_of_seconds_in_which_the_objective_held() -> None:
    run = totals(*[step(float(at), 0.5 if at <= 6 else 3.0) for at in range(1, 9)])
    summary = run.json({COUNTS: (Latency(1.0),)})
    assert summary["success_share"] == pytest.approx(6 / 8)
    assert summary["components"]["counts"]["row_weighted_share"] == pytest.approx(6 / 8)
