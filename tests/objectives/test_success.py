from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.objectives.objective import Juice, Latency, Objective, Throughput
from penstock.objectives.success import THROUGHPUT_WINDOW_S, Success, Timeline, success_share, windows
from tests.strategies import latency_objectives


def timeline(
    *points: tuple[float, float, float], end_s: float = 10.0, pending: tuple[tuple[float, float, float], ...] = ()
) -> Timeline:
    """Points are (completed at, latency, rows), pending intervals (from, until, since)."""
    at_s, latency_s, rows = (np.array([p[i] for p in points], dtype=float) for i in range(3))
    from_s, until_s, since_s = (np.array([p[i] for p in pending], dtype=float) for i in range(3))
    return Timeline(0.0, end_s, at_s, latency_s, rows, from_s, until_s, since_s)


def test_nothing_seen_tells_nothing() -> None:
    assert success_share(Latency(1.0), [timeline()]) == Success(None, None, 0)
    assert success_share(Latency(1.0), []) == Success(None, None, 0)


def test_a_timeline_shorter_than_a_window_tells_nothing() -> None:
    assert success_share(Latency(1.0), [timeline((0.5, 0.1, 1), end_s=0.9)]).share is None


def test_windows_with_nothing_pending_are_no_sample() -> None:
    seen = timeline((0.5, 0.2, 10), (1.5, 3.0, 30))
    assert success_share(Latency(1.0), [seen]) == Success(0.5, 0.25, 2)


def test_windows_without_completions_count_by_the_age_of_the_oldest_pending_row() -> None:
    seen = timeline((5.0, 4.5, 1), pending=((0.5, 5.0, 0.5),), end_s=6.0)
    judged = windows(Latency(2.2), seen)
    assert judged.sampled.tolist() == [True] * 5 + [False]
    assert judged.held.tolist() == [True, True, False, False, False, False]  # ages .5, 1.5, 2.5, 3.5, then 4.5 late


def test_worked_case_e13_batches_of_four_seconds_are_never_in_time() -> None:
    at_s = np.arange(4.0, 400.0, 4.0)
    ones = np.ones_like(at_s)
    seen = Timeline(0, 400, at_s, 6 * ones, 100 * ones, at_s - 4, at_s, at_s - 8)
    assert success_share(Latency(1.0), [seen]).share == 0.0
    assert success_share(Latency(6.5), [seen]).share == 0.75  # ages 5 and 6 hold, 7 does not; the mean of 6 does


def test_what_completes_at_the_end_of_a_window_belongs_to_it() -> None:
    judged = windows(Latency(1.0), timeline((1.0, 0.5, 1), (2.0, 0.5, 1), end_s=3.0))
    assert judged.rows.tolist() == [1.0, 1.0, 0.0]


def test_windows_longer_than_a_second_overlap_and_end_every_second() -> None:
    judged = windows(Latency(1.0, window_s=3.0), timeline((2.5, 0.5, 7), end_s=6.0))
    assert judged.end_s.tolist() == [3.0, 4.0, 5.0, 6.0]
    assert judged.rows.tolist() == [7.0, 7.0, 7.0, 0.0]


def test_quantile_needs_its_share_of_rows_in_time() -> None:
    nearly, enough = timeline((0.5, 0.1, 94), (0.6, 9.0, 6)), timeline((0.5, 0.1, 95), (0.6, 9.0, 5))
    assert success_share(Latency(1.0, 0.95), [nearly]).share == 0.0
    assert success_share(Latency(1.0, 0.95), [enough]).share == 1.0


def test_one_late_row_breaks_a_maximum() -> None:
    assert success_share(Latency(1.0, 1.0), [timeline((0.5, 0.1, 1e6), (0.6, 1.0, 1))]).share == 0.0


def test_shares_are_averaged_over_substreams_that_tell_something() -> None:
    early, late, silent = timeline((0.5, 0.1, 1)), timeline((0.5, 9.0, 999)), timeline()
    success = success_share(Latency(1.0, per_substream=True), [early, late, silent])
    assert success == Success(0.5, 0.5, 2)


def test_throughput_is_counted_per_minute() -> None:
    every_second = [(float(s), 0.1, 100.0 if s <= 120 else 50.0) for s in range(1, 241)]
    success = success_share(Throughput(99.0), [timeline(*every_second, end_s=240.0)])
    assert THROUGHPUT_WINDOW_S == 60.0
    assert success.share == pytest.approx(62 / 181)
    assert success.samples == 181


def test_throughput_misses_while_rows_are_pending_and_none_complete() -> None:
    waiting = timeline(end_s=70.0, pending=((0.0, 70.0, 0.0),))
    assert success_share(Throughput(1.0), [waiting]) == Success(0.0, None, 11)


def test_juice_is_not_told_by_a_timeline() -> None:
    assert success_share(Juice(0.9), [timeline((0.5, 0.1, 1), end_s=90.0)]).share is None


def by_hand(objective: Latency, seen: Timeline, end_s: float) -> bool | None:
    """One window, by the definition, row by row (points have one row each)."""
    start_s = end_s - objective.window_s
    inside = sorted(
        latency for at_s, latency in zip(seen.completed_at_s, seen.latency_s, strict=True) if start_s < at_s <= end_s
    )
    if not inside:
        pending = zip(seen.pending_from_s, seen.pending_until_s, seen.pending_since_s, strict=True)
        ages_s = [end_s - since_s for from_s, until_s, since_s in pending if from_s <= end_s <= until_s]
        return max(ages_s) < objective.limit_s if ages_s else None
    if objective.quantile is None:
        return bool(np.mean(inside) < objective.limit_s)
    needed = int(np.ceil(objective.quantile * len(inside) * (1 - 1e-12)))
    return bool(inside[max(needed, 1) - 1] < objective.limit_s)


quarters = st.integers(0, 80).map(lambda n: n / 4)


@given(
    st.lists(st.tuples(quarters, quarters), max_size=30),
    st.lists(quarters, max_size=8, unique=True).map(sorted),
    st.sampled_from([None, 0.5, 0.95, 1.0]),
    st.sampled_from([1.0, 2.0, 5.0]),
)
def test_windows_are_as_by_hand(
    points: list[tuple[float, float]], edges_s: list[float], quantile: float | None, window_s: float
) -> None:
    objective = Latency(3.1, quantile, window_s)
    pending = tuple((a + 0.1, b - 0.05, a - 1) for a, b in pairwise(edges_s))
    seen = timeline(*((at_s, latency, 1.0) for at_s, latency in points), end_s=20.0, pending=pending)
    judged = windows(objective, seen)
    expected = [by_hand(objective, seen, end_s) for end_s in judged.end_s]
    found = [bool(held) if sampled else None for held, sampled in zip(judged.held, judged.sampled, strict=True)]
    assert found == expected


@given(latency_objectives(), st.lists(st.tuples(quarters, quarters, st.integers(1, 9)), max_size=20))
def test_shares_are_shares_and_the_order_of_points_does_not_matter(
    objective: Objective, points: list[tuple[float, float, float]]
) -> None:
    success = success_share(objective, [timeline(*points, end_s=20.0)])
    assert success == success_share(objective, [timeline(*sorted(points), end_s=20.0)])
    assert all(share is None or 0 <= share <= 1 for share in (success.share, success.row_weighted_share))


def test_a_late_start_in_time_changes_nothing() -> None:
    """Snapshots are stamped in seconds since 1970."""
    early = timeline((1.0, 0.5, 1), (2.0, 2.5, 3))
    epoch_s = 1.8e9
    late = Timeline(epoch_s, epoch_s + 10, early.completed_at_s + epoch_s, early.latency_s, early.rows)
    assert success_share(Latency(1.0), [late]) == success_share(Latency(1.0), [early]) == Success(0.5, 0.25, 2)
