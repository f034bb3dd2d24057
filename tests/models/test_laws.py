"""The worked cases of E1, E2, E12 and of the table of section D, and what every law must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.models.barrier import Feed, Load, Overheads, Steady, steady
from penstock.models.latency_law import UNSTABLE_S, LatencyLaw, is_stable
from penstock.models.microbatch import BatchLaw, largest_load
from penstock.models.mm1 import QueueLaw

LAWS: tuple[LatencyLaw, ...] = (
    QueueLaw(0.2),
    QueueLaw(quantile=0.95),
    BatchLaw(0.2, 0.02, margin=0.2),
    BatchLaw(0.25, 0.0, trigger_s=1.0, after_s=0.1, quantile=1.0),
    BatchLaw(0.0, before_share=0.3),
)
rates = st.floats(0, 5000)


def level(law: LatencyLaw, rate: float, service: float, substreams: float = 1.0) -> float:
    return float(law.level_s(np.array([rate]), np.array([service]), np.array([substreams]))[0])


@pytest.mark.parametrize(
    ("law", "rate", "substreams", "mean_s"),
    [
        (BatchLaw(0.15, 0.0125), 600, 8, 0.9375),
        (BatchLaw(0.15, 0.0125), 300, 4, 1.5 * 0.285714),
        (BatchLaw(0.15, 0.0125, margin=0.2), 600, 8, 1.5),
        (BatchLaw(0.25, trigger_s=1.0), 600, 1, 1.35),
        (BatchLaw(0.15, 0.0125, quantile=0.95), 600, 8, 1.21875),
        (BatchLaw(0.25, trigger_s=1.0, quantile=0.95), 600, 1, 1.80),
    ],
)
def test_worked_cases_of_micro_batches(law: BatchLaw, rate: float, substreams: float, mean_s: float) -> None:
    assert level(law, rate, 1000, substreams) == pytest.approx(mean_s, rel=1e-5)


def test_the_largest_load_that_keeps_a_limit() -> None:
    assert largest_load(BatchLaw(0.25), 1.0) == pytest.approx(0.625)
    assert largest_load(BatchLaw(0.25, quantile=0.95), 1.0) == pytest.approx(0.5125)
    assert largest_load(BatchLaw(0.25), 0.375) is None


def test_a_queue_is_unstable_from_its_capacity_on() -> None:
    law = QueueLaw(0.2)
    assert level(law, 799, 1000) == pytest.approx(1.0)
    assert UNSTABLE_S <= level(law, 800, 1000) < level(law, 900, 1000)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@given(a=rates, b=rates, service=st.floats(1, 5000), few=st.integers(1, 50), more=st.integers(0, 50))
def test_levels_rise_with_load_and_fall_with_service(
    law: LatencyLaw, a: float, b: float, service: float, few: int, more: int
) -> None:
    low, high = min(a, b), max(a, b)
    assert level(law, low, service, few) <= level(law, high, service, few)
    assert level(law, low, service, few) <= level(law, low, service, few + more)
    assert level(law, low, service * 2, few) <= level(law, low, service, few)
    assert law.floor_s(few) <= level(law, 0, service, few) * (1 + 1e-9)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_what_is_stable_is_better_than_what_is_not(law: LatencyLaw) -> None:
    levels = law.level_s(np.linspace(0, 3000, 3001), np.full(3001, 1000.0), np.ones(3001))
    stable = is_stable(levels)
    assert stable.any() and not stable.all()
    assert np.all(np.diff(levels) >= 0)
    assert not np.any(np.diff(stable.astype(int)) > 0)


# the table of section D: a = .25 s, arrivals and service as named, what a simulation of 12 million rows found

STEADY, POISSON = Feed(), Feed(arrival_cv2=1.0, service_cv2=1.0)
QUARTER = Overheads(0.25)


def evenly(rho: float, instances: int, service: float) -> Load:
    ones = np.ones(instances)
    return Load(rho * service * ones, service * ones, ones)


def settled(load: Load, overheads: Overheads = QUARTER, feed: Feed = STEADY) -> Steady:
    found = steady(load, overheads, feed)
    assert found is not None
    return found


@pytest.mark.parametrize("instances", [1, 8])
@pytest.mark.parametrize(("rho", "mean_s", "p95_s"), [(0.3, 0.536, 0.696), (0.6, 0.937, 1.219), (0.9, 3.750, 4.874)])
def test_the_fluid_limit_is_exact(instances: int, rho: float, mean_s: float, p95_s: float) -> None:
    found = settled(evenly(rho, instances, 2000))
    assert found.mean_s == pytest.approx(mean_s, rel=1e-3)
    assert found.quantile_s(0.95) == pytest.approx(p95_s, rel=1e-3)


@pytest.mark.parametrize(
    ("instances", "service", "rho", "simulated_s", "within"),
    [
        (1, 2000, 0.3, 0.537, 0.005),
        (1, 2000, 0.6, 0.939, 0.005),
        (1, 2000, 0.9, 3.759, 0.005),
        (8, 2000, 0.3, 0.569, 0.01),
        (8, 2000, 0.6, 1.048, 0.01),
        (8, 2000, 0.9, 4.840, 0.02),
        (8, 200, 0.3, 0.654, 0.02),
        (8, 200, 0.6, 1.345, 0.02),
        (8, 200, 0.9, 8.568, 0.02),
        (1, 20, 0.3, 0.599, 0.065),
        (1, 20, 0.6, 1.090, 0.05),
        (1, 20, 0.9, 4.475, 0.02),
    ],
)
def test_barrier_noise_explains_random_arrivals(
    instances: int, service: float, rho: float, simulated_s: float, within: float
) -> None:
    assert settled(evenly(rho, instances, service), feed=POISSON).mean_s == pytest.approx(simulated_s, rel=within)


@pytest.mark.parametrize(("rho", "simulated_s"), [(0.3, 0.699), (0.6, 1.222), (0.9, 4.874)])
def test_barrier_noise_explains_tasks_that_vary(rho: float, simulated_s: float) -> None:
    jitter = Overheads(0.25, task_variance_s2=(0.2 * 0.25) ** 2)
    assert settled(evenly(rho, 8, 2000), jitter).mean_s == pytest.approx(simulated_s, rel=0.02)


@pytest.mark.parametrize(("rho", "simulated_s"), [(0.3, 0.570), (0.6, 0.974), (0.9, 3.771)])
def test_an_overhead_that_varies_makes_rows_wait(rho: float, simulated_s: float) -> None:
    varying = Overheads(0.25, variance_s2=(0.5 * 0.25) ** 2)
    found = settled(evenly(rho, 1, 2000), varying)
    assert found.mean_s == pytest.approx(simulated_s, rel=0.01)
    assert found.quantile_s(0.95, measured_ratio=1.7) == pytest.approx(1.7 * found.mean_s)


@pytest.mark.parametrize(("rho", "mean_s", "p95_s"), [(0.3, 1.052, 1.502), (0.6, 1.352, 1.801), (0.9, 3.748, 4.913)])
def test_a_trigger_sets_the_interval_until_batches_are_longer(rho: float, mean_s: float, p95_s: float) -> None:
    found = settled(evenly(rho, 1, 2000), Overheads(0.25, trigger_s=1.0), POISSON)
    assert found.mean_s == pytest.approx(mean_s, rel=0.01)
    assert found.quantile_s(0.95) == pytest.approx(p95_s, rel=0.01)


def test_what_follows_publication_counts_in_the_interval_only() -> None:
    """Stock: 117 of 285 ms come after the output is visible."""
    all_before, split = Overheads(0.285), Overheads(0.168, after_s=0.117)
    load = evenly(0.6, 4, 1000)
    assert settled(load, all_before).mean_s - settled(load, split).mean_s == pytest.approx(0.117)


def test_stages_before_the_shuffle_add_up() -> None:
    alone, before = evenly(0.3, 1, 1000), Feed(before_s_per_row=0.3 / 300)
    assert settled(alone, feed=before).mean_s == pytest.approx(1.5 * 0.25 / 0.4)


def test_partial_aggregation_keeps_a_stage_stable() -> None:
    load = Load(np.array([20_000.0]), np.array([25_000.0]), np.ones(1))
    partial = Feed(distinct_rows=20_000)
    assert settled(load, feed=partial).duration_s == pytest.approx(0.619, abs=1e-3)
    twice = Load(2 * load.rows_per_s, load.service_rows_per_s, load.substreams)
    assert steady(twice, Overheads(0.25)) is None
    assert settled(twice, feed=partial).duration_s == pytest.approx(0.924, abs=1e-3)


def test_a_cap_bounds_throughput() -> None:
    capped = Feed(cap_rows=1000)
    assert steady(Load(np.array([1340.0]), np.array([2000.0]), np.ones(1)), Overheads(0.25), capped) is None
    assert steady(Load(np.array([1320.0]), np.array([2000.0]), np.ones(1)), Overheads(0.25), capped) is not None


def test_a_stage_that_waits_for_its_upstream_has_no_wait_of_its_own() -> None:
    fed = Feed(fed_every_s=0.5)
    found = settled(evenly(0.3, 1, 1000), feed=fed)
    assert found.interval_s == 0.5
    assert found.mean_s == pytest.approx(0.25 + 0.3 * 0.5)


def test_rows_published_in_bulk_wait_half_an_interval() -> None:
    load = evenly(0.6, 1, 1000)
    bulk = settled(load, feed=Feed(published_every_s=0.2))
    assert bulk.mean_s - settled(load).mean_s == pytest.approx(0.1)


def test_rare_rows_find_the_engine_idle() -> None:
    rare = settled(Load(np.array([0.01]), np.array([1000.0]), np.ones(1)), feed=POISSON)
    assert rare.mean_s == pytest.approx(0.25, rel=0.02)


def test_too_much_load_has_no_steady_state() -> None:
    assert steady(evenly(1.01, 4, 1000), Overheads(0.25)) is None
    assert steady(evenly(1.01, 4, 1000), Overheads(0.25), POISSON) is None


def test_how_fast_a_change_comes_through() -> None:
    assert settled(evenly(0.6, 1, 2000)).time_constant_batches == pytest.approx(1 / -np.log(0.6), rel=1e-3)
    assert Steady(1, 1, 1, 0, 0).time_constant_batches == 0
