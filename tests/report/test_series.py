"""However long the run, few pieces; and nothing is lost in joining them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import How
from penstock.report.change_table import changes_told
from penstock.report.component import _untimed
from penstock.report.parallelism import turns
from penstock.report.scale import Linear, Log, TimeScale, latency_scale
from penstock.report.series import MOST_PIECES, ComponentSeries, Slice, Thinned, coarser, joined, sums
from penstock.report.strip import MOST_ROWS, Grid, grid_of, grouped
from tests.report.example import COUNT, START_S, change, in_force, seen, snapshots, taken


def some_slices(durations_s: list[float], known: bool = True) -> list[Slice]:
    edges = np.cumsum([0.0, *durations_s])
    return [
        Slice(float(a), float(b), 10.0 if known else None, 5.0, 1.0, i % 4 + 1, LatencyHistogram.of([0.1], [5.0]))
        for i, (a, b) in enumerate(pairwise(edges))
    ]


@given(st.integers(1, 3000), st.integers(2, 50))
def test_thinned_keeps_every_piece_in_order(count: int, most: int) -> None:
    thinned: Thinned[tuple[int, ...]] = Thinned(lambda a, b: a + b, most)
    for i in range(count):
        thinned.add((i,))
    assert len(thinned.pieces) <= most
    assert [i for piece in thinned.pieces for i in piece] == list(range(count))
    assert len({len(p) for p in thinned.pieces[:-1]}) <= 1


def test_sums_are_those_of_all_snapshots_however_many() -> None:
    series = ComponentSeries()
    for snapshot in snapshots(5000, COUNT):
        series.add(snapshot, snapshot.components[COUNT])
    total = sums(series.slices)
    assert len(series.slices) <= MOST_PIECES and len(series.bars) <= MOST_PIECES
    assert total is not None and total.latency is not None and total.useful_s is not None
    assert total.rows_arrived == total.rows_completed == total.latency.count == 500_000
    assert total.useful_s.tolist() == pytest.approx([1000.0, 2000.0])
    assert sum(b.batches for b in series.bars) == 5000
    assert all(b.duration_s == pytest.approx(0.5) for b in series.bars)


@given(st.lists(st.floats(0.01, 5.0), min_size=1, max_size=60), st.floats(0.1, 10.0))
def test_coarser_pieces_cover_the_same_time_and_rows(durations_s: list[float], least_s: float) -> None:
    slices = some_slices(durations_s)
    found = coarser(slices, least_s)
    assert found[0].start_s == slices[0].start_s and found[-1].end_s == slices[-1].end_s
    assert sum(s.rows_arrived or 0.0 for s in found) == pytest.approx(10.0 * len(slices))
    assert all(s.duration_s >= least_s * 0.99 for s in found[:-1])


def test_what_is_known_is_not_joined_with_what_is_unknown() -> None:
    unknown = some_slices([1.0, 1.0], known=False)
    known = [replace(s, start_s=s.start_s + 2, end_s=s.end_s + 2) for s in some_slices([1.0, 1.0])]
    assert [s.rows_arrived for s in coarser([*unknown, *known], 10.0)] == [None, 20.0]
    assert joined(unknown[0], known[0]).rows_arrived is None


def test_latency_that_nobody_knows_is_no_latency() -> None:
    snapshot = next(iter(snapshots(1, COUNT)))
    series = ComponentSeries()
    series.add(snapshot, replace(seen(0, START_S + 1), latency_how=How.UNKNOWN))
    assert series.slices[0].latency is None and series.slices[0].untimed_rows == 100.0


def test_a_step_without_completions_is_as_known_as_the_one_before() -> None:
    timed, idle = some_slices([1.0])[0], Slice(0.0, 1.0, rows_completed=0.0)
    lost = Slice(0.0, 1.0, rows_completed=9.0, untimed_rows=9.0)
    pieces = [replace(s, start_s=float(i), end_s=float(i + 1)) for i, s in enumerate((idle, lost, idle, timed, idle))]
    assert _untimed(pieces, TimeScale(0.0, 5.0)) == [(0.2, 0.6)]


def test_parallelism_turns_when_the_change_says_and_where_no_change_tells_with_the_step() -> None:
    slices = [Slice(START_S + i, START_S + i + 1, parallelism=p) for i, p in enumerate((2, 2, 2, 4, 4, 3, 3))]
    asked = change(1, 4)
    told = changes_told([taken(asked, 2.0), in_force(asked, 2.6)])
    found = [(at_s - START_S, p) for at_s, p in turns(slices, told)]
    assert found == [(0.0, 2), (pytest.approx(2.6), 4), (5.0, 3)]
    assert turns([Slice(0.0, 1.0)], ()) == []


@given(st.floats(1e-3, 1e9))
def test_linear_axes_hold_their_values_with_few_ticks(highest: float) -> None:
    scale = Linear.up_to(highest, str)
    assert 0 < scale.at(highest) <= 1 + 1e-9
    assert 2 <= len(scale.ticks) <= 6 and scale.ticks[-1].at == pytest.approx(1.0)


@given(st.floats(1e-4, 1.0), st.floats(60.0, 1e5))
def test_log_axes_hold_their_values(lowest: float, ratio: float) -> None:
    scale = Log.between(lowest, lowest * ratio, str)
    assert -1e-9 <= scale.at(lowest) < scale.at(lowest * ratio) <= 1 + 1e-9
    assert [t.at for t in scale.ticks] == sorted(t.at for t in scale.ticks)


@given(st.floats(0.5, 1e7))
def test_time_axes_have_few_ticks_within(length_s: float) -> None:
    ticks = TimeScale(START_S, START_S + length_s).ticks
    assert 1 <= len(ticks) <= 8 and all(0 <= t.at <= 1 + 1e-9 for t in ticks)


def test_latencies_of_several_sizes_go_by_decades() -> None:
    assert isinstance(latency_scale([0.01] * 50 + [9.0], str), Log)
    assert isinstance(latency_scale([0.5, 2.0, 0.7], str), Linear)
    assert isinstance(latency_scale([], str), Linear)


def test_strip_leaves_blank_what_is_not_known() -> None:
    pieces = [
        Slice(0.0, 2.0, useful_s=np.array([1.0])),
        Slice(2.0, 4.0, useful_s=np.array([0.0, 2.0])),
        Slice(4.0, 5.0),
    ]
    grid = grid_of(pieces, lambda s: s.useful_s, TimeScale(0.0, 5.0))
    assert np.array_equal(grid.values, [[0.5, 0.0, np.nan], [np.nan, 1.0, np.nan]], equal_nan=True)
    assert grid.highest == 1.0


def test_many_substreams_are_shown_in_groups_by_the_busiest() -> None:
    values = np.arange(200.0).reshape(200, 1)
    shown, each = grouped(Grid(values, ((0.0, 1.0),)))
    assert each == 5 and shown.values.shape[0] == 40 <= MOST_ROWS
    assert shown.values[0, 0] == 4.0 and shown.values[-1, 0] == 199.0
