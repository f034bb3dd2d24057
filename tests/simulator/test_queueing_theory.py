"""Continuous operators with every row apart, against the closed forms of queueing theory.

A figure holds when it is within 3% of theory beyond the 95% interval of twenty batch means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from penstock.simulator.arrays import Fleet, Floats, Span
from penstock.simulator.arrivals import Offered, RowArrivals
from penstock.simulator.component import Queueing, Service
from penstock.simulator.queues import Line, Servers, serve_own_queues
from penstock.simulator.row_queue import RowQueues

ROWS, PARTS, SPANS = 800_000, 20, 5
RHO = (0.3, 0.6, 0.9)


@dataclass(frozen=True)
class Measured:
    waits_s: Floats

    @property
    def mean_s(self) -> float:
        return float(self.waits_s.mean())

    @property
    def interval_s(self) -> float:
        parts = [part.mean() for part in np.array_split(self.waits_s, PARTS)]
        return 2.093 * float(np.std(parts, ddof=1)) / math.sqrt(PARTS)  # Student's t, 19 degrees of freedom

    def agrees_with(self, expected_s: float) -> bool:
        return abs(self.mean_s - expected_s) <= 0.03 * expected_s + self.interval_s


def waits(rho: float, servers: int, cv: float, rows: int = ROWS, seed: int = 1) -> Measured:
    """Rows that take 1 s each on average; how long they wait before that begins, after a tenth to warm up."""
    fleet = Fleet.of(np.arange(servers))
    own, shared = Service(1.0, cv), Service(1.0, cv, queueing=Queueing.SHARED)
    queues = RowQueues(own if servers == 1 else shared, fleet, None, np.random.default_rng(seed))
    rate = rho * servers
    offered = Offered(lambda t_s: np.full(t_s.shape, rate), np.full(servers, 1 / servers), cv=1.0)
    arrivals = RowArrivals(offered, np.random.default_rng(seed + 1000))
    span_s = rows / rate / SPANS
    found = []
    for n in range(SPANS):
        span = Span(n * span_s, (n + 1) * span_s, n)
        samples = queues.advance(arrivals.within(span), span).samples
        assert samples is not None
        found.append(samples[1])
    latency_s = np.concatenate(found)
    return Measured(latency_s[latency_s.size // 10 :] - 1.0)


def erlang_c(k: int, load: float) -> float:
    top = load**k / math.factorial(k) * k / (k - load)
    return top / (sum(load**n / math.factorial(n) for n in range(k)) + top)


@pytest.mark.parametrize("rho", RHO)
def test_waiting_in_mm1_is_as_in_theory(rho: float) -> None:
    assert waits(rho, 1, 1.0).agrees_with(rho / (1 - rho))


@pytest.mark.parametrize("rho", RHO)
def test_waiting_in_md1_is_half_of_that(rho: float) -> None:
    assert waits(rho, 1, 0.0).agrees_with(rho / (1 - rho) / 2)


@pytest.mark.parametrize("cv", [0.5, 2.0])
@pytest.mark.parametrize("rho", RHO)
def test_waiting_in_mg1_follows_pollaczek_and_khinchine(rho: float, cv: float) -> None:
    assert waits(rho, 1, cv).agrees_with(rho / (1 - rho) * (1 + cv**2) / 2)


@pytest.mark.parametrize("servers", [2, 4])
@pytest.mark.parametrize("rho", RHO)
def test_waiting_in_mmk_follows_erlang(rho: float, servers: int) -> None:
    load = rho * servers
    assert waits(rho, servers, 1.0).agrees_with(erlang_c(servers, load) / (servers - load))


@pytest.mark.parametrize("rho", RHO)
def test_quantiles_of_waiting_in_mm1_are_within_five_percent(rho: float) -> None:
    """P(wait > t) = rho exp(-(1 - rho) t); quantiles below 1 - rho are zero."""
    rng, n = np.random.default_rng(2), 3_000_000
    nobody = np.zeros(n, dtype=np.int64)
    arrival_s, work_s = rng.exponential(1 / rho, n).cumsum(), rng.exponential(1.0, n)
    line = Line(arrival_s, nobody, nobody[:1], work_s, nobody.copy(), np.empty(n))
    serve_own_queues(line, Servers(np.full(1, -np.inf), np.ones(1), np.zeros(1)), np.inf)
    waits_s = line.departure_s - line.work_s - line.arrival_s
    for q in (0.75, 0.9, 0.95, 0.99):
        expected_s = math.log(rho / (1 - q)) / (1 - rho)
        if expected_s > 0:
            assert np.quantile(waits_s, q) == pytest.approx(expected_s, rel=0.05)


def test_a_queue_of_its_own_for_each_instance_waits_as_one_server_alone() -> None:
    """Random rows over four lines: four times M/M/1, worse than one line for four."""
    fleet = Fleet.of(np.arange(4))
    queues = RowQueues(Service(1.0, 1.0), fleet, None, np.random.default_rng(5))
    offered = Offered(lambda t_s: np.full(t_s.shape, 2.4), np.full(4, 0.25), cv=1.0)
    arrivals = RowArrivals(offered, np.random.default_rng(6))
    span = Span(0.0, 300_000.0, 0)
    progress = queues.advance(arrivals.within(span), span)
    assert progress.latency.mean_s == pytest.approx(2.5, rel=0.03)


def test_shorter_spans_change_nothing() -> None:
    """What is in service, or waiting, when a span ends goes on in the next exactly as if nobody had looked."""
    rows = RowArrivals(
        Offered(lambda t_s: np.full(t_s.shape, 0.8), np.ones(1), cv=1.0), np.random.default_rng(3)
    ).within(Span(0.0, 1000.0, 0))
    whole = RowQueues(Service(1.0), Fleet.of(np.arange(1)), None, np.random.default_rng(4))
    pieces = RowQueues(Service(1.0), Fleet.of(np.arange(1)), None, np.random.default_rng(4))
    expected = whole.advance(rows, Span(0.0, 1000.0, 0)).departures_s
    found = []
    for n in range(100):
        here = (rows.arrival_s >= 10.0 * n) & (rows.arrival_s < 10.0 * (n + 1))
        part = type(rows)(rows.arrival_s[here], rows.substream[here])
        found.append(pieces.advance(part, Span(10.0 * n, 10.0 * (n + 1), n)).departures_s)
    assert np.concatenate(found).tolist() == expected.tolist()
