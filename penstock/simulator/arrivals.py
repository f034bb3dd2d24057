"""When rows reach a source: a rate over time, how irregular its gaps are, and how rows fall on substreams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from penstock.simulator.arrays import Counts, Floats, Ints, Rows, Span
from penstock.simulator.noise import noise

RateOf = Callable[[Floats], Floats]  # rows per second at these times
GOLDEN = 0.6180339887498949  # its multiples fill [0, 1) evenly: irregular-looking, without chance
_BELOW = 1e-9  # a sum of floats may end a hair below a whole number
BLOCK_CELLS = 1 << 18  # counts are drawn for many steps at once, as many as fit in 2 MiB


@dataclass(frozen=True, slots=True, eq=False)
class Offered:
    """`cv` of the gaps between rows: 0 regular, 1 Poisson, otherwise gamma. `weights` add up to 1."""

    rate: RateOf
    weights: Floats
    cv: float = 0.0

    @property
    def even(self) -> bool:
        return bool(np.ptp(self.weights) < 1e-12)


class RowArrivals:
    """Every row has its time: a renewal process of rate 1, run through the rate (constant within a step)."""

    def __init__(self, offered: Offered, rng: np.random.Generator) -> None:
        self._offered, self._rng = offered, rng
        self._cumulated = np.cumsum(offered.weights)
        self._next = 0.5 if offered.cv == 0 else float(noise(rng, offered.cv, 1)[0])  # in expected rows from now
        self._arrived = 0

    def reweigh(self, weights: Floats) -> None:
        self._offered = replace(self._offered, weights=weights)
        self._cumulated = np.cumsum(weights)

    def within(self, span: Span) -> Rows:
        rate = float(self._offered.rate(np.asarray([(span.start_s + span.end_s) / 2]))[0])
        due = self._due(rate * span.duration_s)
        arrival_s = span.start_s + due / rate if due.size else due
        return Rows(np.minimum(arrival_s, np.nextafter(span.end_s, span.start_s)), self._substreams(due.size))

    def _due(self, mass: float) -> Floats:
        """Positions within [0, mass), in expected rows."""
        parts, at = [], self._next
        while at < mass:
            n = int((mass - at) + 4 * (mass - at) ** 0.5 * max(self._offered.cv, 0.1)) + 8
            positions = at + np.concatenate(([0.0], np.cumsum(noise(self._rng, self._offered.cv, n))))
            parts.append(positions[:-1])
            at = float(positions[-1])
        due = np.concatenate(parts) if parts else np.empty(0)
        inside = int(np.searchsorted(due, mass))
        self._next = (float(due[inside]) if inside < due.size else at) - mass
        return due[:inside]

    def _substreams(self, n: int) -> Ints:
        numbers = np.arange(self._arrived, self._arrived + n)
        self._arrived += n
        if self._cumulated.size == 1:
            return np.zeros(n, dtype=np.int64)
        if self._offered.even:
            k = self._cumulated.size
            return numbers % k if self._offered.cv == 0 else self._rng.integers(0, k, n)
        position = (numbers * GOLDEN) % 1.0 if self._offered.cv == 0 else self._rng.random(n)
        return np.minimum(np.searchsorted(self._cumulated, position, side="right"), self._cumulated.size - 1)


class CountArrivals:
    """The same as rows per step and substream: what a renewal process looks like from afar."""

    def __init__(self, offered: Offered, step_s: float, rng: np.random.Generator) -> None:
        """Blocks of counts are drawn ahead, with the weights of then."""
        self._offered, self._step_s, self._rng = offered, step_s, rng
        self._carry = np.zeros(offered.weights.size)
        self._block: Counts = np.empty((0, offered.weights.size), dtype=np.int64)
        self._first, self._drawn = 0, max(1, BLOCK_CELLS // offered.weights.size)

    def reweigh(self, weights: Floats) -> None:
        """From the next block on, and that is the next span: who moves weights draws no further ahead."""
        self._offered, self._drawn = replace(self._offered, weights=weights), 1
        self._block = self._block[:0]

    def within(self, span: Span) -> Counts:
        if span.first + span.steps > self._first + self._block.shape[0]:
            self._first, self._block = span.first, self._draw(span.first, max(span.steps, self._drawn))
        return self._block[span.first - self._first : span.first - self._first + span.steps]

    def _draw(self, first: int, steps: int) -> Counts:
        middle_s = np.asarray((np.arange(first, first + steps) + 0.5) * self._step_s, dtype=np.float64)
        expected = np.multiply.outer(self._offered.rate(middle_s) * self._step_s, self._offered.weights)
        cv = self._offered.cv
        if cv == 1:
            return self._rng.poisson(expected)
        mass = expected if cv == 0 else self._rng.standard_gamma(np.asarray(expected / cv**2, np.float64)) * cv**2
        upto = np.cumsum(mass, axis=0) + self._carry + _BELOW
        whole = np.floor(upto).astype(np.int64)
        self._carry = upto[-1] - whole[-1] - _BELOW
        return np.diff(whole, axis=0, prepend=np.zeros((1, whole.shape[1]), dtype=np.int64))
