"""Micro-batches against the table of the specification's section D: mean and p95 within 3%, in both fidelities.

The table was made by 23 lines of NumPy over single rows (`specs/dhalion-streamswitch.md`), not by a law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from penstock.observe.latency import LatencyHistogram, merged
from penstock.simulator.arrays import Fleet, Span
from penstock.simulator.arrivals import CountArrivals, Offered, RowArrivals
from penstock.simulator.batches import Batches
from penstock.simulator.component import BatchCosts, Service
from penstock.simulator.intake import CellIntake, RowIntake

RHO = (0.3, 0.6, 0.9)
PLAIN = BatchCosts(task_s=0.25)
COUNT_STEP_S = 0.05
MOST_ROWS = 6_000_000


@dataclass(frozen=True)
class Row:
    name: str
    instances: int
    rows_per_s: float  # of one instance
    random: bool
    means_s: tuple[float, float, float]
    p95s_s: tuple[float, float, float]
    costs: BatchCosts = PLAIN
    batches: int = 2000
    seeds: int = 1


TABLE = (
    Row("fixed, 1", 1, 2000, False, (0.536, 0.937, 3.750), (0.696, 1.219, 4.874), batches=300),
    Row("fixed, 8", 8, 2000, False, (0.536, 0.937, 3.750), (0.696, 1.219, 4.874), batches=300),
    Row("random, 1", 1, 2000, True, (0.537, 0.939, 3.759), (0.699, 1.226, 4.928)),
    Row("random, 8", 8, 2000, True, (0.569, 1.048, 4.840), (0.740, 1.363, 6.296)),
    Row("random, 8, slow rows", 8, 200, True, (0.654, 1.345, 8.568), (0.863, 1.791, 11.38), seeds=3),
    Row("random, 1, few rows", 1, 20, True, (0.599, 1.090, 4.475), (0.973, 1.897, 8.239), batches=600, seeds=60),
    Row(
        "jitter of tasks",
        *(8, 2000, False, (0.699, 1.222, 4.874), (0.934, 1.612, 6.351)),
        costs=BatchCosts(task_s=0.25, task_cv=0.2),
    ),
    Row(
        "jitter of overhead",
        *(1, 2000, False, (0.570, 0.974, 3.771), (0.949, 1.508, 5.217)),
        costs=BatchCosts(before_s=0.25, before_cv=0.5),
        batches=8000,
    ),
    Row(
        "trigger of 1 s",
        *(1, 2000, True, (1.052, 1.352, 3.748), (1.502, 1.801, 4.913)),
        costs=BatchCosts(task_s=0.25, trigger_s=1.0),
    ),
)


def world(row: Row, rho: float, seed: int, single: bool) -> tuple[Batches, RowArrivals | CountArrivals]:
    rate, cv = rho * row.rows_per_s * row.instances, float(row.random)
    offered = Offered(lambda t_s: np.full(t_s.shape, rate), np.full(row.instances, 1 / row.instances), cv)
    fleet, rng = Fleet.of(np.arange(row.instances)), np.random.default_rng((seed, 2))
    intake = RowIntake(row.instances) if single else CellIntake(row.instances, COUNT_STEP_S)
    batches = Batches(row.costs, Service(1 / row.rows_per_s, cv), fleet, intake).seeded(rng)
    draws = np.random.default_rng((seed, 1))
    return batches, RowArrivals(offered, draws) if single else CountArrivals(offered, COUNT_STEP_S, draws)


def latency(row: Row, rho: float, seed: int, single: bool) -> LatencyHistogram:
    """Of all rows after the first tenth."""
    batches, arrivals = world(row, rho, seed, single)
    rate = rho * row.rows_per_s * row.instances
    length_s = row.batches * max(rho, 0.6) * 0.25 / (1 - rho)  # a light load forgets sooner
    spans, span_s = 20, (min(length_s, MOST_ROWS / rate) if single else length_s) / 20
    steps = 1 if single else round(span_s / COUNT_STEP_S)
    span_s = span_s if single else steps * COUNT_STEP_S
    seen = []
    for n in range(spans):
        span = Span(n * span_s, (n + 1) * span_s, n * steps, steps)
        progress = batches.advance(arrivals.within(span), span)
        assert progress.arrived.sum() >= 0
        seen.append(progress.latency)
    return merged(seen[spans // 10 :])


@pytest.mark.parametrize("single", [True, False], ids=["rows", "counts"])
@pytest.mark.parametrize("place", range(3), ids=[f"rho={rho}" for rho in RHO])
@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
def test_batches_match_the_table(row: Row, place: int, single: bool) -> None:
    found = [latency(row, RHO[place], seed, single) for seed in range(7, 7 + row.seeds)]
    mean_s = np.mean([h.mean_s for h in found])
    p95_s = np.mean([h.quantile_s(0.95) for h in found])
    assert mean_s == pytest.approx(row.means_s[place], rel=0.03)
    assert p95_s == pytest.approx(row.p95s_s[place], rel=0.03)
