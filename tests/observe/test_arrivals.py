"""Latency read off an arrival curve, against the same rows taken one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.observe.arrivals import ArrivalCurve

files = st.lists(st.tuples(st.floats(0.01, 10), st.integers(1, 50)), min_size=1, max_size=20)


def curve_of(steps: list[tuple[float, int]], by_steps: bool) -> tuple[ArrivalCurve, list[float]]:
    """The curve, and for each row when it arrived, where rows arrive in steps."""
    curve, arrivals, now_s = ArrivalCurve(steps=by_steps), [], 0.0
    if not by_steps:
        curve.reach(0.0, 0.0)
    for gap_s, rows in steps:
        now_s += gap_s
        curve.add(now_s, rows)
        arrivals += [now_s] * rows
    return curve, arrivals


@given(files, st.data())
def test_latency_of_any_stretch_is_that_of_its_rows(steps: list[tuple[float, int]], data: st.DataObject) -> None:
    curve, arrivals = curve_of(steps, by_steps=True)
    first = data.draw(st.integers(0, len(arrivals) - 1))
    last = data.draw(st.integers(first + 1, len(arrivals)))
    visible_at_s = arrivals[-1] + 1
    late = curve.latency(first, last, visible_at_s)
    wanted = [visible_at_s - at_s for at_s in arrivals[first:last]]
    assert late.count == pytest.approx(last - first)
    assert late.mean_s == pytest.approx(sum(wanted) / len(wanted))
    assert late.max_s == pytest.approx(max(wanted))


@given(files)
def test_forgetting_completed_rows_changes_nothing_that_follows(steps: list[tuple[float, int]]) -> None:
    curve, arrivals = curve_of(steps, by_steps=True)
    half = len(arrivals) // 2
    before = [curve.arrival_s(row) for row in range(half, len(arrivals))]
    total = curve.total
    curve.forget_before(half)
    assert [curve.arrival_s(row) for row in range(half, len(arrivals))] == before
    assert curve.total == total


@given(files)
def test_a_steady_rate_gives_the_mean_of_its_stretch(steps: list[tuple[float, int]]) -> None:
    """Rows that come evenly from 0 to T, and are visible at T, are T/2 late in the mean."""
    end_s, rows = sum(s for s, _ in steps), float(sum(n for _, n in steps))
    curve = ArrivalCurve(steps=False)
    curve.reach(0.0, 0.0)
    curve.reach(end_s, rows)
    late = curve.latency(0.0, rows, visible_at_s=end_s)
    assert late.mean_s == pytest.approx(end_s / 2)


def test_rows_that_have_not_arrived_have_no_latency() -> None:
    curve = ArrivalCurve(steps=True)
    curve.add(1.0, 10)
    assert curve.arrival_s(10) is None
    assert curve.latency(5, 20, visible_at_s=2.0).count <= 10


def test_time_never_runs_back() -> None:
    curve = ArrivalCurve(steps=True)
    curve.add(5.0, 10)
    curve.add(3.0, 10)
    assert curve.arrival_s(15) == 5.0
    assert curve.by(4.0) == 0.0
    assert curve.by(5.0) == 20.0
