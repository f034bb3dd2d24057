"""Rates over time, and how rows fall on substreams. Times count in seconds from the start; everything takes arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.simulator.arrays import Floats
from penstock.simulator.arrivals import RateOf


def constant(rows_per_s: float) -> RateOf:
    return lambda t_s: np.full(t_s.shape, rows_per_s)


def steps(levels: Sequence[tuple[float, float]]) -> RateOf:
    """From each time on its rate; before the first one, the first rate.

    >>> steps([(0, 10), (60, 30)])(np.array([0.0, 59.9, 60.0]))
    array([10., 10., 30.])
    """
    at_s, rows_per_s = (np.array(column, dtype=np.float64) for column in zip(*levels, strict=True))
    return lambda t_s: rows_per_s[np.maximum(np.searchsorted(at_s, t_s, side="right") - 1, 0)]


@dataclass(frozen=True, slots=True)
class Sinusoid:
    """Base plus amplitude times the sine, never below zero.

    >>> Sinusoid(30.0, 10.0, 8.0)(np.array([0.0, 2.0, 6.0]))
    array([30., 40., 20.])
    """

    base_rows_per_s: float
    amplitude_rows_per_s: float
    period_s: float

    def __call__(self, t_s: Floats) -> Floats:
        wave = np.sin(2 * np.pi * t_s / self.period_s)
        rate: Floats = np.maximum(self.base_rows_per_s + self.amplitude_rows_per_s * wave, 0.0)
        return rate


@dataclass(frozen=True, slots=True)
class Burst:
    """From `at_s` on `peak_rows_per_s` more, falling by a factor of e every `fades_s`."""

    at_s: float
    peak_rows_per_s: float
    fades_s: float

    def __call__(self, t_s: Floats) -> Floats:
        since_s = t_s - self.at_s
        rate: Floats = np.where(since_s >= 0, self.peak_rows_per_s * np.exp(-np.maximum(since_s, 0) / self.fades_s), 0)
        return rate


def added(parts: Sequence[RateOf]) -> RateOf:
    return lambda t_s: np.sum([part(t_s) for part in parts], axis=0)


def trace(rows_per_s: Sequence[float], every_s: float) -> RateOf:
    """Recorded rates, each for `every_s`; from the start again when they end.

    >>> trace([5, 7], 10)(np.array([0.0, 12.0, 25.0]))
    array([5., 7., 5.])
    """
    rates = np.array(rows_per_s, dtype=np.float64)
    return lambda t_s: rates[(t_s // every_s).astype(np.int64) % rates.size]


def even(substreams: int) -> Floats:
    return np.full(substreams, 1 / substreams)


def zipf(substreams: int, exponent: float) -> Floats:
    """The n-th heaviest is 1 / n^exponent of the heaviest.

    >>> zipf(4, 1.0).round(2)
    array([0.48, 0.24, 0.16, 0.12])
    """
    weights = np.arange(1, substreams + 1, dtype=np.float64) ** -exponent
    shares: Floats = weights / weights.sum()
    return shares


def with_hot(weights: Floats, shares: Mapping[int, float]) -> Floats:
    """These substreams have these shares of all rows, the others what is left in their proportions.

    >>> with_hot(even(3), {0: 0.5})
    array([0.5 , 0.25, 0.25])
    """
    hot = np.zeros(weights.size, dtype=np.bool_)
    hot[list(shares)] = True
    result: Floats = weights * (1 - sum(shares.values())) / weights[~hot].sum()
    result[list(shares)] = list(shares.values())
    return result
