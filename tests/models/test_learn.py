"""E1, E6 and the estimates of overheads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.models.learn import BatchTimes, Work, learnt_overheads, service_rates
from penstock.models.tracing import filled, traced


def step(*work: tuple[float, float], slots: float = 1.0) -> Work:
    rows, useful_s = zip(*work, strict=True)
    return Work(np.array(rows, dtype=float), np.array(useful_s, dtype=float), slots)


def test_service_rate_is_smoothed_and_idle_time_tells_nothing() -> None:
    before = step((40, 0.04))
    assert service_rates([before, step((50, 0.04))], 1) == pytest.approx([1031.25])
    assert service_rates([before, step((50, 0.04)), step((0, 0.0))], 1) == pytest.approx([1031.25])
    assert service_rates([before, step((50, 0.04)), step((0, 0.0)), step((30, 0.05))], 1) == pytest.approx([977.34375])


def test_long_steps_weigh_as_many_slots() -> None:
    one_by_one = service_rates([step((40, 0.04)), step((50, 0.04)), step((50, 0.04))], 1)
    assert service_rates([step((40, 0.04)), step((100, 0.08), slots=2.0)], 1) == pytest.approx(one_by_one)


def test_an_instance_that_was_gone_starts_afresh() -> None:
    two, one = step((100, 0.1), (50, 0.1)), step((100, 0.1))
    assert np.isnan(service_rates([two, one], 2)[1])
    assert service_rates([two, one, two], 2) == pytest.approx([1000, 500])
    assert service_rates([two], 1) == pytest.approx([1000])


def test_overheads_of_one_width_are_all_overhead() -> None:
    ones = np.ones(5)
    found = learnt_overheads(BatchTimes(0.5 * ones, 0.1 * ones, 0.2 * ones, 4 * ones))
    assert found is not None
    assert (found.overhead_s, found.substream_s, found.after_s) == pytest.approx((0.3, 0.0, 0.1))


@given(st.floats(0, 1), st.floats(0, 0.1), st.lists(st.integers(1, 64), min_size=2, max_size=20))
def test_overheads_are_found_where_widths_differ(overhead_s: float, substream_s: float, widths: list[int]) -> None:
    k = np.array(widths, dtype=float)
    found = learnt_overheads(BatchTimes(overhead_s + substream_s * k + 0.5, 0 * k, 0 * k + 0.5, k))
    assert found is not None
    assert found.overhead_s + found.substream_s * k.mean() == pytest.approx(overhead_s + substream_s * k.mean())
    if np.unique(k).size > 1:
        assert found.substream_s == pytest.approx(substream_s, abs=1e-6)


def test_nothing_is_learnt_from_nothing() -> None:
    assert learnt_overheads(BatchTimes(*[np.empty(0)] * 4)) is None
    assert np.isnan(service_rates([], 2)).all()


TENTHS_S = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
A = np.array([[0, 0], [10, 2], [20, 4], [30, 6], [40, 8], [40, 10]], dtype=float)
C = np.array([[0, 0], [5, 2], [10, 4], [20, 6], [35, 8], [40, 10]], dtype=float)


def test_latency_is_traced_from_cumulative_counts() -> None:
    rows = np.diff(C, axis=0)
    slots = traced(np.arange(6.0), A, C)
    assert slots[:, 0] / rows[:, 0] == pytest.approx([0, 1, 1, 2 / 3, 1])
    per_slot = slots.sum(axis=1)[2:] / rows.sum(axis=1)[2:]
    assert per_slot == pytest.approx([0.8333, 0.5882, 0.7143], abs=1e-4)
    assert rows.sum(axis=1)[2:].tolist() == [12, 17, 7]
    assert 0.1 * slots[2:].sum() / rows[2:].sum() == pytest.approx(0.06944, abs=1e-5)


def test_gaps_are_filled_by_straight_lines() -> None:
    gaps = np.array([0, 10, np.nan, np.nan, 40.0])
    assert filled(TENTHS_S, gaps, 0.3001) == pytest.approx([0, 10, 20, 30, 40])
    assert filled(TENTHS_S, gaps, 0.25) is None
    assert filled(np.arange(3.0), np.array([0, 1, np.nan]), 9.0) is None


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.floats(0.01, 2)), min_size=1, max_size=30),
    st.booleans(),
)
def test_tracing_agrees_with_following_every_row(slots: list[tuple[int, int, float]], midpoint: bool) -> None:
    arrived, completed, times_s = [0], [0], [0.0]
    for came, served, length_s in slots:
        arrived.append(arrived[-1] + came)
        completed.append(min(arrived[-1], completed[-1] + served))
        times_s.append(times_s[-1] + length_s)
    t = np.array(times_s)
    found = traced(t, np.array(arrived, dtype=float)[:, None], np.array(completed, dtype=float)[:, None], midpoint)
    for m in range(1, len(t)):
        since = [int(np.searchsorted(arrived, r)) for r in range(completed[m - 1] + 1, completed[m] + 1)]
        came_s = [(t[a - 1] + t[a]) / 2 if midpoint else t[a] for a in since]
        assert found[m - 1, 0] == pytest.approx(sum(t[m] - s for s in came_s))
