"""Of every shape: the integral is that of the rate, never falls, and the inverse undoes it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.workloads.shape import (
    Shape,
    burst,
    constant,
    reverse_sawtooth,
    rows_due,
    sawtooth,
    sinusoid,
    steps,
)

SPAN_S = 100.0
RATES = st.one_of(st.just(0.0), st.floats(0.1, 1e5))
PERIODS = st.floats(5.0, 60.0)
RANGES = st.tuples(RATES, RATES).map(lambda pair: (min(pair), max(pair)))


def make_steps(rates: list[float], gaps_s: list[float]) -> Shape:
    times_s = np.concatenate(([0.0], np.cumsum(gaps_s)))
    return steps(list(zip(times_s.tolist(), rates, strict=False)))


SHAPES: st.SearchStrategy[Shape] = st.one_of(
    st.builds(constant, RATES),
    st.builds(
        lambda low, high, share, period: burst(low, high, share * period, period),
        RATES,
        RATES,
        st.floats(0.05, 0.95),
        PERIODS,
    ),
    st.builds(lambda ends, period: sinusoid(ends[0], ends[1], period), RANGES, PERIODS),
    st.builds(lambda ends, period: sawtooth(ends[0], ends[1], period), RANGES, PERIODS),
    st.builds(lambda ends, period: reverse_sawtooth(ends[0], ends[1], period), RANGES, PERIODS),
    st.builds(
        make_steps, st.lists(RATES, min_size=1, max_size=6), st.lists(st.floats(0.5, 40.0), min_size=5, max_size=5)
    ),
)


@settings(max_examples=150, deadline=None)
@given(SHAPES)
def test_rows_are_the_integral_of_the_rate(shape: Shape) -> None:
    edges_s = np.linspace(0.0, SPAN_S, 20_001)
    width_s = edges_s[1]
    by_sum = np.cumsum(shape.rate((edges_s[1:] + edges_s[:-1]) / 2)) * width_s
    jumps = 45  # two in each period of 5 s, and the five of the steps: each costs the sum at most one width of the peak
    tolerance = jumps * width_s * shape.peak_rows_per_s + 1e-6
    assert np.abs(shape.rows(edges_s[1:]) - by_sum).max() <= tolerance


@given(SHAPES, st.lists(st.floats(0, 1e5), min_size=2, max_size=50))
@settings(deadline=None)
def test_rows_never_fall_and_start_at_none(shape: Shape, times_s: list[float]) -> None:
    rows = shape.rows(np.sort(np.array(times_s)))
    assert shape.rows(0.0) == 0
    assert (np.diff(rows) >= -1e-6).all()


@given(SHAPES)
@settings(deadline=None)
def test_rate_is_between_none_and_the_peak(shape: Shape) -> None:
    rates = shape.rate(np.linspace(0, SPAN_S, 5001))
    assert rates.min() >= -1e-6
    assert rates.max() <= shape.peak_rows_per_s * (1 + 1e-9)


@settings(max_examples=150, deadline=None)
@given(SHAPES, st.integers(1, 1_000_000))
def test_a_row_is_due_when_the_integral_first_reaches_it(shape: Shape, row: int) -> None:
    due_s = float(shape.due_s(float(row)))
    if due_s > 1e6:  # never, or so late that a float of seconds has no microseconds left
        assert rows_due(shape, 1e5) < row
        return
    assert rows_due(shape, due_s + 1e-5) >= row
    assert float(shape.rows(due_s - 1e-5)) <= row + 1e-4


@given(SHAPES)
@settings(deadline=None)
def test_rows_become_due_in_their_order(shape: Shape) -> None:
    due_s = shape.due_s(np.arange(1.0, 20_001.0))
    reached = due_s[np.isfinite(due_s)]
    assert (np.diff(reached) >= -1e-6).all()


@pytest.mark.parametrize(
    ("shape", "t_s", "rows"),
    [
        (constant(1000), 7.5, 7500),
        (burst(1000, 8000, for_s=5, every_s=60), 60, 55_000 + 40_000),
        (sinusoid(1000, 4000, every_s=60), 60, 150_000),
        (sinusoid(1000, 4000, every_s=60), 15, round(37_500 - 1500 * 60 / (2 * np.pi) - 0.5)),
        (sawtooth(0, 5000, every_s=30), 15, 18_750),
        (reverse_sawtooth(0, 5000, every_s=30), 15, 56_250),
        (steps([(0, 1000), (60, 4000), (120, 1000)]), 130, 310_000),
        (sawtooth(0, 5000, every_s=30), 3000, 7_500_000),
    ],
)
def test_rows_due_are_as_worked_out_by_hand(shape: Shape, t_s: float, rows: int) -> None:
    assert rows_due(shape, t_s) == rows


def test_a_dip_to_nothing_keeps_the_last_row_before_it() -> None:
    dips = burst(10, 0, for_s=5, every_s=10)
    assert dips.due_s(np.array([50.0, 51.0, 100.0])).tolist() == pytest.approx([5.0, 10.1, 15.0])


def test_rows_beyond_the_end_of_a_load_are_never_due() -> None:
    assert steps([(0, 10), (5, 0)]).due_s(np.array([50.0, 51.0])).tolist() == [5.0, np.inf]
    assert sinusoid(0, 0, every_s=9).due_s(1.0) == np.inf


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: constant(-5), "did you mean 5?"),
        (lambda: burst(1, 9, for_s=60, every_s=5), "did you mean `for 5s every 60s`?"),
        (lambda: sinusoid(4000, 1000, every_s=60), "did you mean 1000..4000?"),
        (lambda: sawtooth(0, 10, every_s=0), "a period is longer than 0 s"),
        (lambda: steps([(1, 10)]), "must hold from second 0 on"),
        (lambda: steps([(0, 10), (9, 1), (3, 1)]), "3 comes after 9"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_in_one_sentence(make: object, sentence: str) -> None:
    assert callable(make)
    with pytest.raises(InvalidInput) as refused:
        make()
    assert sentence in str(refused.value)
    assert len(refused.value.problems) == 1
