"""Which key a row gets: uniform, Zipf, or one hot key that moves.

A key is drawn from one number in [0, 1) that belongs to the row, and from when the row is due by its shape: never
from a clock or from the rows before, so that row i has the same key in every run with the same seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InvalidInput

MAX_KEYS = 10_000_000  # their names are held in memory, and this many take about 100 MB


class Keys(Protocol):
    @property
    def count(self) -> int: ...

    def draw(self, uniform: NDArray[np.float64], due_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """Key numbers below `count`, from numbers in [0, 1) and the seconds from the start to when the rows are due."""


@dataclass(frozen=True)
class Uniform:
    count: int

    def __post_init__(self) -> None:
        _check_count(self.count)

    def draw(self, uniform: NDArray[np.float64], due_s: NDArray[np.float64]) -> NDArray[np.int64]:
        return (uniform * self.count).astype(np.int64)


@dataclass(frozen=True)
class Zipf:
    """Key k has a share proportional to 1 / (k + 1)^exponent; 0 is uniform.

    >>> Zipf(count=3, exponent=1.0).shares.round(3).tolist()
    [0.545, 0.273, 0.182]
    """

    count: int
    exponent: float

    def __post_init__(self) -> None:
        _check_count(self.count)
        if not 0 <= self.exponent < math.inf:
            raise InvalidInput(f"a Zipf exponent is 0 or more, and {self.exponent:g} is not: 1.1 is usual")

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        weights = np.arange(1, self.count + 1, dtype=np.float64) ** -self.exponent
        return np.asarray(weights / weights.sum())

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        return np.cumsum(self.shares)

    def draw(self, uniform: NDArray[np.float64], due_s: NDArray[np.float64]) -> NDArray[np.int64]:
        # The sum of all shares may end a hair below 1: no draw may fall beyond the last key.
        return np.minimum(np.searchsorted(self._cumulative, uniform, side="right"), self.count - 1).astype(np.int64)


@dataclass(frozen=True)
class HotKey:
    """One key has `hot_share` of the rows, the others share the rest; every `move_s` seconds another key is hot."""

    count: int
    hot_share: float
    move_s: float

    def __post_init__(self) -> None:
        _check_count(self.count)
        if self.count < 2:
            raise InvalidInput("a hot key needs colder ones beside it: at least 2 keys, for instance `over 1000`")
        if not 0 <= self.hot_share <= 1:
            raise InvalidInput(f"the hot key's share is between 0 and 1, and {self.hot_share:g} is not: 0.5 is half")
        if not 0 < self.move_s < math.inf:
            raise InvalidInput(f"the hot key moves after more than 0 s, and {self.move_s:g} is not: `every 30s`, say")

    def draw(self, uniform: NDArray[np.float64], due_s: NDArray[np.float64]) -> NDArray[np.int64]:
        hot = self.hot_at(due_s)
        is_hot = uniform < self.hot_share
        cold_share = 1 - self.hot_share
        among_cold = (uniform - self.hot_share) / cold_share if cold_share else uniform
        cold = np.clip((among_cold * (self.count - 1)).astype(np.int64), 0, self.count - 2)
        return np.where(is_hot, hot, cold + (cold >= hot))

    def hot_at(self, due_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """
        >>> HotKey(count=10, hot_share=0.5, move_s=30.0).hot_at(np.array([0.0, 29.0, 30.0, 60.0])).tolist()
        [0, 0, 7, 4]
        """
        moves = np.floor(due_s / self.move_s).astype(np.int64) % self.count
        return moves * self._stride % self.count

    @cached_property
    def _stride(self) -> int:
        """Golden, so that it leaps far; prime to the count, so that each key has its turn."""
        stride = max(1, round(self.count * 0.618))
        while math.gcd(stride, self.count) != 1:
            stride += 1
        return stride


def _check_count(count: int) -> None:
    if not 1 <= count <= MAX_KEYS:
        raise InvalidInput(f"there are 1 to {MAX_KEYS} keys, and {count} is not among these: 1000 is usual")
