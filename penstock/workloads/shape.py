"""A shape says how many rows are due by when: a rate over time, its exact integral, and the inverse of that.

Times count in seconds from the start of the load. A row is due when the integral reaches its number, so the rows due by
t are the floor of `rows(t)`. Everything here is pure and works on whole arrays of times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InvalidInput

FloatArray = NDArray[np.float64]

# A sum of floats may end a hair below a whole number: a row a millionth of a row early is better than one late.
ROUNDING_ROWS = 1e-6


class Shape(Protocol):
    @property
    def peak_rows_per_s(self) -> float: ...

    def rate(self, t_s: FloatArray | float) -> FloatArray:
        """Rows per second at t."""

    def rows(self, t_s: FloatArray | float) -> FloatArray:
        """The integral of the rate from 0 to t."""

    def due_s(self, rows: FloatArray | float) -> FloatArray:
        """When the integral first reaches `rows`; infinity where it never does."""


def rows_due(shape: Shape, t_s: float) -> int:
    """
    >>> rows_due(constant(1000), 0.3), rows_due(constant(0.5), 3)
    (300, 1)
    """
    return math.floor(float(shape.rows(t_s)) + ROUNDING_ROWS)


@dataclass(frozen=True)
class Piecewise:
    """Straight pieces: at `start_s[k]` the rate is `begin_rows_per_s[k]`, and grows by `slope_rows_per_s2[k]` a s.

    With a period the pieces repeat, without one the last of them holds for ever.
    """

    start_s: tuple[float, ...]
    begin_rows_per_s: tuple[float, ...]
    slope_rows_per_s2: tuple[float, ...]
    period_s: float | None = None

    @property
    def peak_rows_per_s(self) -> float:
        lengths = self._lengths_s
        ends = self._begins[: lengths.size] + self._slopes[: lengths.size] * lengths
        return float(max(self._begins.max(), ends.max(initial=0.0)))

    def rate(self, t_s: FloatArray | float) -> FloatArray:
        _, piece, into_s = self._locate(t_s)
        return np.asarray(self._begins[piece] + self._slopes[piece] * into_s)

    def rows(self, t_s: FloatArray | float) -> FloatArray:
        periods, piece, into_s = self._locate(t_s)
        rows_in_piece = (self._begins[piece] + self._slopes[piece] * into_s / 2) * into_s
        return np.asarray(periods * self._rows_in_period + self._rows_before[piece] + rows_in_piece)

    def due_s(self, rows: FloatArray | float) -> FloatArray:
        wanted = np.asarray(rows, dtype=np.float64)
        periods, rest = _split_periods(wanted, self._rows_in_period)
        # The piece in which the wanted row falls: the first that ends at or beyond it.
        piece = np.searchsorted(self._rows_before[1 : self._begins.size], rest - ROUNDING_ROWS, side="left")
        rows_in_piece = np.maximum(rest - self._rows_before[piece], 0.0)
        begin, slope = self._begins[piece], self._slopes[piece]
        # The root of begin x + slope x^2 / 2 = rows, in the form that loses no digits when the slope is small.
        root = np.sqrt(np.maximum(begin * begin + 2 * slope * rows_in_piece, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            into_s = np.where(rows_in_piece > 0, 2 * rows_in_piece / (begin + root), 0.0)
        whole_s = periods * self.period_s if self.period_s else 0.0
        return np.asarray(whole_s + self._starts[piece] + into_s)

    def _locate(self, t_s: FloatArray | float) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
        """Whole periods passed, the piece, and the seconds since that piece began."""
        t = np.maximum(np.asarray(t_s, dtype=np.float64), 0.0)
        periods, phase = np.divmod(t, self.period_s) if self.period_s else (np.zeros_like(t), t)
        piece = np.searchsorted(self._starts, phase, side="right") - 1
        return periods, piece, np.asarray(phase - self._starts[piece])

    @cached_property
    def _starts(self) -> FloatArray:
        return np.asarray(self.start_s, dtype=np.float64)

    @cached_property
    def _begins(self) -> FloatArray:
        return np.asarray(self.begin_rows_per_s, dtype=np.float64)

    @cached_property
    def _slopes(self) -> FloatArray:
        return np.asarray(self.slope_rows_per_s2, dtype=np.float64)

    @cached_property
    def _lengths_s(self) -> FloatArray:
        """Of the pieces that end: all of them with a period, all but the last without."""
        ends = self._starts[1:] if self.period_s is None else np.append(self._starts[1:], self.period_s)
        return np.asarray(ends - self._starts[: ends.size])

    @cached_property
    def _rows_before(self) -> FloatArray:
        """Rows before each piece begins, and with a period, last, the rows of the whole of it."""
        n = self._lengths_s.size
        rows = (self._begins[:n] + self._slopes[:n] * self._lengths_s / 2) * self._lengths_s
        return np.concatenate(([0.0], np.cumsum(rows)))

    @property
    def _rows_in_period(self) -> float:
        return float(self._rows_before[-1]) if self.period_s else 0.0


@dataclass(frozen=True)
class Sinusoid:
    """Starts at its lowest, so that a job is warm before the first peak."""

    low_rows_per_s: float
    high_rows_per_s: float
    period_s: float

    @property
    def peak_rows_per_s(self) -> float:
        return self.high_rows_per_s

    def rate(self, t_s: FloatArray | float) -> FloatArray:
        return np.asarray(self._middle - self._swing * np.cos(self._angle(t_s)))

    def rows(self, t_s: FloatArray | float) -> FloatArray:
        t = np.maximum(np.asarray(t_s, dtype=np.float64), 0.0)
        return np.asarray(self._middle * t - self._swing * self.period_s / (2 * np.pi) * np.sin(self._angle(t)))

    def due_s(self, rows: FloatArray | float) -> FloatArray:
        """By bisection from a table: Newton's method fails where the rate is 0, at the bottom of `sinusoid 0..x`."""
        wanted = np.asarray(rows, dtype=np.float64)
        rows_in_period = self._middle * self.period_s
        if rows_in_period == 0:
            return np.where(wanted > 0, np.inf, 0.0)
        periods, rest = _split_periods(wanted, rows_in_period)
        grid_s = self.period_s / (self._table.size - 1)
        late = np.clip(np.searchsorted(self._table, rest, side="left"), 1, self._table.size - 1) * grid_s
        early = late - grid_s
        for _ in range(24):  # period / 1024 / 2^24: well below a microsecond for periods of days
            middle = (early + late) / 2
            reached = self.rows(middle) >= rest
            early, late = np.where(reached, early, middle), np.where(reached, middle, late)
        return np.asarray(np.where(rest > 0, periods * self.period_s + late, 0.0))

    @cached_property
    def _table(self) -> FloatArray:
        return self.rows(np.linspace(0.0, self.period_s, 1025))

    @property
    def _middle(self) -> float:
        return (self.low_rows_per_s + self.high_rows_per_s) / 2

    @property
    def _swing(self) -> float:
        return (self.high_rows_per_s - self.low_rows_per_s) / 2

    def _angle(self, t_s: FloatArray | float) -> FloatArray:
        return np.asarray(2 * np.pi / self.period_s * np.maximum(np.asarray(t_s, dtype=np.float64), 0.0))


def constant(rows_per_s: float) -> Piecewise:
    _check_rates(rows_per_s)
    return Piecewise((0.0,), (rows_per_s,), (0.0,))


def burst(low_rows_per_s: float, high_rows_per_s: float, for_s: float, every_s: float) -> Piecewise:
    """The burst ends each period, so that calm comes first.

    >>> burst(1000, 8000, for_s=5, every_s=60).rate(np.array([0, 54, 55, 59, 60])).tolist()
    [1000.0, 1000.0, 8000.0, 8000.0, 1000.0]
    """
    _check_rates(low_rows_per_s, high_rows_per_s)
    _check_period(every_s)
    if not 0 < for_s < every_s:
        raise InvalidInput(
            f"a burst of {for_s:g} s does not fit into a period of {every_s:g} s: "
            f"did you mean `for {min(for_s, every_s):g}s every {max(for_s, every_s):g}s`?"
        )
    return Piecewise((0.0, every_s - for_s), (low_rows_per_s, high_rows_per_s), (0.0, 0.0), every_s)


def sinusoid(low_rows_per_s: float, high_rows_per_s: float, every_s: float) -> Sinusoid:
    _check_range(low_rows_per_s, high_rows_per_s)
    _check_period(every_s)
    return Sinusoid(low_rows_per_s, high_rows_per_s, every_s)


def sawtooth(low_rows_per_s: float, high_rows_per_s: float, every_s: float) -> Piecewise:
    """Climbs, then drops at once.

    >>> rows_due(sawtooth(0, 5000, every_s=30), 30)
    75000
    """
    _check_range(low_rows_per_s, high_rows_per_s)
    _check_period(every_s)
    return Piecewise((0.0,), (low_rows_per_s,), ((high_rows_per_s - low_rows_per_s) / every_s,), every_s)


def reverse_sawtooth(low_rows_per_s: float, high_rows_per_s: float, every_s: float) -> Piecewise:
    """Jumps up, then falls slowly."""
    _check_range(low_rows_per_s, high_rows_per_s)
    _check_period(every_s)
    return Piecewise((0.0,), (high_rows_per_s,), ((low_rows_per_s - high_rows_per_s) / every_s,), every_s)


def steps(points: Sequence[tuple[float, float]]) -> Piecewise:
    """Pairs (t_s, rows_per_s): each rate holds until the next one, the last for ever.

    >>> steps([(0, 1000), (60, 4000)]).rows(61.0).item()
    64000.0
    """
    if not points or points[0][0] != 0:
        raise InvalidInput("the first rate must hold from second 0 on: put one at 0, be it a rate of 0")
    times_s = [t for t, _ in points]
    for before, after in pairwise(times_s):
        if not before < after < math.inf:
            raise InvalidInput(f"the times must grow, but {after:g} comes after {before:g}: sort them, each time once")
    _check_rates(*(rate for _, rate in points))
    return Piecewise(tuple(times_s), tuple(rate for _, rate in points), (0.0,) * len(points))


def _split_periods(rows: FloatArray, rows_in_period: float) -> tuple[FloatArray, FloatArray]:
    """Whole periods before the row, and what is left: above 0, so that a period's last row stays in its period."""
    if rows_in_period <= 0:
        return np.zeros_like(rows), rows
    periods = np.maximum(np.ceil((rows - ROUNDING_ROWS) / rows_in_period) - 1, 0.0)
    return periods, rows - periods * rows_in_period


def _check_rates(*rates_rows_per_s: float) -> None:
    for rate in rates_rows_per_s:
        if not 0 <= rate < math.inf:
            raise InvalidInput(f"a rate is 0 rows/s or more, and {rate:g} is not: did you mean {abs(rate):g}?")


def _check_range(low_rows_per_s: float, high_rows_per_s: float) -> None:
    _check_rates(low_rows_per_s, high_rows_per_s)
    if low_rows_per_s > high_rows_per_s:
        raise InvalidInput(
            f"the lower rate comes first, but {low_rows_per_s:g} is above {high_rows_per_s:g}: "
            f"did you mean {high_rows_per_s:g}..{low_rows_per_s:g}?"
        )


def _check_period(every_s: float) -> None:
    if not 0 < every_s < math.inf:
        raise InvalidInput(f"a period is longer than 0 s, and {every_s:g} is not: did you mean `every 60s`?")
