"""Axes: where a value lies between 0 (left, bottom) and 1 (right, top), and which values are worth a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from penstock.report.wording import length

_MINUTE, _HOUR = 60.0, 3600.0
TIME_STEPS_S = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 4, 6, 12, 24)),
)
TIME_TICKS = 7  # what a phone has room for
MOST_STEPS = 4
LOG_FROM_RATIO = 50.0  # below it a straight axis shows the small values well enough


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


class Scale(Protocol):
    def at(self, value: float) -> float: ...

    @property
    def ticks(self) -> tuple[Tick, ...]: ...


@dataclass(frozen=True, slots=True)
class Linear:
    """From 0 to a round number.

    >>> [(t.at, t.label) for t in Linear.up_to(36.0, str).ticks]
    [(0.0, '0'), (0.25, '10.0'), (0.5, '20.0'), (0.75, '30.0'), (1.0, '40.0')]
    """

    high: float
    step: float
    label: Callable[[float], str]

    @classmethod
    def up_to(cls, highest: float, label: Callable[[float], str], least_step: float = 0.0) -> Linear:
        high = highest if highest > 0 else max(1.0, least_step)
        step = max(_round_step(high / MOST_STEPS), least_step)
        return cls(math.ceil(high / step - 1e-9) * step, step, label)

    def at(self, value: float) -> float:
        return value / self.high

    @property
    def ticks(self) -> tuple[Tick, ...]:
        values = [i * self.step for i in range(round(self.high / self.step) + 1)]
        return tuple(Tick(self.at(v), self.label(v) if v else "0") for v in values)


@dataclass(frozen=True, slots=True)
class Log:
    """Between two round numbers; what is below the lowest lies on it.

    >>> [t.label for t in Log.between(0.03, 4.0, str).ticks]
    ['0.02', '0.1', '1.0', '5.0']
    """

    low: float
    high: float
    label: Callable[[float], str]

    @classmethod
    def between(cls, lowest: float, highest: float, label: Callable[[float], str]) -> Log:
        return cls(_round_down(lowest), _round_up(highest), label)

    def at(self, value: float) -> float:
        return max(0.0, math.log(max(value, self.low) / self.low) / math.log(self.high / self.low))

    @property
    def ticks(self) -> tuple[Tick, ...]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        decades = [float(f"1e{e}") for e in range(first, last + 1)]
        return tuple(Tick(self.at(v), self.label(v)) for v in sorted({self.low, *decades, self.high}))


def latency_scale(values_s: Iterable[float], label: Callable[[float], str]) -> Scale:
    """Straight from 0 where the values are of one size; by decades where they span several."""
    known = sorted(v for v in values_s if v > 0)
    if not known or known[-1] / known[len(known) // 20] < LOG_FROM_RATIO:
        return Linear.up_to(known[-1] if known else 1.0, label)
    return Log.between(known[0], known[-1], label)


@dataclass(frozen=True, slots=True)
class TimeScale:
    """From the run's first snapshot to its last.

    >>> [t.label for t in TimeScale(1000.0, 1090.0).ticks]
    ['0', '15 s', '30 s', '45 s', '60 s', '75 s', '90 s']
    >>> TimeScale(1000.0, 1090.0).at(1045.0)
    0.5
    """

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return max(self.end_s - self.start_s, 1e-3)

    def at(self, time_s: float) -> float:
        return min(1.0, max(0.0, (time_s - self.start_s) / self.length_s))

    @property
    def ticks(self) -> tuple[Tick, ...]:
        fitting = (s for s in TIME_STEPS_S if self.length_s / s <= TIME_TICKS)
        step_s = next(fitting, TIME_STEPS_S[-1] * math.ceil(self.length_s / TIME_STEPS_S[-1] / TIME_TICKS))
        values_s = [i * step_s for i in range(int(self.length_s / step_s + 1e-9) + 1)]
        return tuple(Tick(v / self.length_s, _clock(v, self.length_s)) for v in values_s)


def _clock(value_s: float, whole_s: float) -> str:
    if value_s == 0:
        return "0"
    if whole_s <= 120:
        return f"{value_s:g} s"
    if whole_s < 7200:
        return f"{int(value_s) // 60}:{int(value_s) % 60:02d}"
    return length(value_s).removesuffix(" 0 min")


def _round_step(value: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{m * power:.12g}") for m in (1, 2, 5, 10) if m * power >= value * (1 - 1e-9))


_round_up = _round_step


def _round_down(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{m * power:.12g}") for m in (5, 2, 1) if m * power <= value * (1 + 1e-9))
