from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.observe.history import History
from penstock.observe.latency import EMPTY, GROWTH, SMALLEST_S, LatencyHistogram, merged
from penstock.observe.snapshot import Snapshot, frozen
from tests.strategies import LATENCIES_S, deployments, histories

WITHIN = math.sqrt(GROWTH)  # half a bin, either way
values_s = st.lists(st.floats(0, 1e4), min_size=1, max_size=60)
shares = st.floats(0.01, 1.0)


def same(a: LatencyHistogram, b: LatencyHistogram) -> bool:
    return (
        np.array_equal(a.bins, b.bins)
        and np.allclose(a.rows, b.rows)
        and math.isclose(a.sum_s, b.sum_s, rel_tol=1e-9, abs_tol=1e-9)
        and a.max_s == b.max_s
    )


def true_quantile_s(latencies_s: list[float], q: float) -> float:
    """The smallest latency that a share q of the rows does not exceed."""
    ordered = sorted(latencies_s)
    return ordered[max(math.ceil(q * len(ordered) * (1 - 1e-12)), 1) - 1]


@given(values_s)
def test_count_mean_and_maximum_are_exact(latencies_s: list[float]) -> None:
    histogram = LatencyHistogram.of(latencies_s)
    assert histogram.count == len(latencies_s)
    assert histogram.max_s == max(latencies_s)
    assert histogram.mean_s == pytest.approx(sum(latencies_s) / len(latencies_s))


@given(values_s, shares)
def test_a_quantile_is_at_most_one_percent_off(latencies_s: list[float], q: float) -> None:
    found, true_s = LatencyHistogram.of(latencies_s).quantile_s(q), true_quantile_s(latencies_s, q)
    assert found is not None
    if true_s <= SMALLEST_S:
        assert found == 0.0
    else:
        assert true_s / WITHIN * (1 - 1e-9) <= found <= true_s * WITHIN * (1 + 1e-9)


@given(values_s, shares, shares)
def test_quantiles_rise_and_end_at_the_maximum(latencies_s: list[float], p: float, q: float) -> None:
    histogram = LatencyHistogram.of(latencies_s)
    lower, higher, highest = (histogram.quantile_s(x) or 0.0 for x in (min(p, q), max(p, q), 1.0))
    assert lower <= higher <= highest <= histogram.max_s


@given(LATENCIES_S, LATENCIES_S, LATENCIES_S)
def test_merging_is_seeing_all_rows_at_once_in_any_order(a: list[float], b: list[float], c: list[float]) -> None:
    parts = [LatencyHistogram.of(x) for x in (a, b, c)]
    assert same(merged(parts), LatencyHistogram.of([*a, *b, *c]))
    assert same(merged([merged(parts[:2]), parts[2]]), merged(parts[::-1]))


@given(LATENCIES_S)
def test_merging_with_nothing_changes_nothing(latencies_s: list[float]) -> None:
    histogram = LatencyHistogram.of(latencies_s)
    assert same(merged([EMPTY, histogram]), histogram)


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 5)), max_size=20))
def test_weights_are_rows(weighted: list[tuple[float, int]]) -> None:
    latencies_s, rows = [w[0] for w in weighted], [w[1] for w in weighted]
    repeated = [latency for latency, n in weighted for _ in range(n)]
    assert same(LatencyHistogram.of(latencies_s, rows), LatencyHistogram.of(repeated))


@given(values_s, st.floats(1e-3, 1e4))
def test_the_share_below_a_limit_is_right_for_all_rows_outside_its_bin(
    latencies_s: list[float], limit_s: float
) -> None:
    found = LatencyHistogram.of(latencies_s).share_below(limit_s)
    surely = sum(x < limit_s / GROWTH for x in latencies_s) / len(latencies_s)
    at_most = sum(x < limit_s for x in latencies_s) / len(latencies_s)
    assert found is not None
    assert surely - 1e-9 <= found <= at_most + 1e-9


def test_without_rows_everything_is_unknown() -> None:
    assert (EMPTY.count, EMPTY.mean_s, EMPTY.quantile_s(0.5), EMPTY.share_below(1.0)) == (0.0, None, None, None)
    assert LatencyHistogram.of([1.0], [0.0]).mean_s is None


def test_clocks_that_differ_do_not_make_latency_negative() -> None:
    histogram = LatencyHistogram.of([-0.5, 1.0])
    assert (histogram.mean_s, histogram.quantile_s(0.1)) == (0.5, 0.0)


@given(st.data())
def test_a_history_holds_its_window_and_the_latest(data: st.DataObject) -> None:
    history = data.draw(histories(data.draw(deployments()), least=1))
    latest = history.latest
    assert latest is not None and latest is history.snapshots[-1]
    assert all(latest.end_s - s.end_s < history.window_s for s in history.snapshots)


@given(st.lists(st.floats(0.1, 30), min_size=1, max_size=30))
def test_what_is_within_the_window_is_never_lost(durations_s: list[float]) -> None:
    ends_s = np.cumsum(durations_s)
    history = History(60.0)
    for start_s, end_s in zip(ends_s - durations_s, ends_s, strict=True):
        history = history.appended(Snapshot(float(start_s), float(end_s), {}))
    kept = [float(e) for e in ends_s if e > ends_s[-1] - 60.0]
    assert [s.end_s for s in history.snapshots] == kept


@given(st.data(), st.floats(0, 100))
def test_since_is_a_tail_of_the_history(data: st.DataObject, before_s: float) -> None:
    history = data.draw(histories(data.draw(deployments()), least=1))
    assume(history.latest is not None)
    start_s = history.snapshots[-1].end_s - before_s
    tail = history.since(start_s)
    assert tail == history.snapshots[len(history.snapshots) - len(tail) :]
    assert all(s.start_s >= start_s for s in tail)


@given(st.data())
def test_a_component_is_told_by_the_snapshots_that_saw_it(data: st.DataObject) -> None:
    deployment = data.draw(deployments())
    history = data.draw(histories(deployment))
    for target in deployment.targets:
        seen = list(history.of(target))
        assert [s for s, _ in seen] == [s for s in history.snapshots if target in s.components]
        assert all(s.components[target] is c for s, c in seen)


def test_appending_leaves_the_old_history_as_it_was() -> None:
    empty = History(60.0)
    later = empty.appended(Snapshot(0.0, 1.0, {}))
    assert empty.latest is None
    assert later.latest is not None and later.latest.duration_s == 1.0


def test_arrays_of_a_snapshot_are_read_only() -> None:
    values = frozen(np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1.0
