"""Which substreams leave an overloaded instance, and for where: StreamSwitch's Algorithm 2, corrected (C2 to C6).

Of a source's substreams, in the order in which they bear the pause, some first ones move. The source's level falls
along these prefixes and the destination's rises, so the best prefix is at the crossing, found by halving, for all
destinations at once: O(K log K + N log K) instead of O(N K).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.policies.streamswitch_setting import Array, Ints, Setting, Strategy, StrategyKind

FEW = 20_000  # candidates: so many are tried faster than halved (benchmarks/streamswitch_decision.py)


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """`moved[n]` rows a second leave with the first n + 1 substreams of `order`, and `left_s[n]` is what remains."""

    order: Ints
    moved: Array
    left_s: Array
    level_s: float

    @classmethod
    def of(cls, setting: Setting, source: int) -> _Source:
        """Idle substreams change nothing, and all of the load is never moved: that would only replace the source."""
        mine = np.flatnonzero(setting.instance_of == source)
        loaded = mine[setting.rows_per_s[mine] > 0]
        order = loaded[np.argsort(setting.pause_order[loaded], kind="stable")]
        moved = np.cumsum(setting.rows_per_s[order])
        total = moved[-1:] if moved.size else np.zeros(1)
        kept = np.maximum(total - moved[:-1], 0.0)
        counts = mine.size - np.arange(1.0, order.size)
        service = setting.service_rows_per_s[source : source + 1]
        left_s = np.minimum.accumulate(setting.law.level_s(kept, service, counts))
        whole_s = setting.law.level_s(total, service, np.array([float(mine.size)]))
        return cls(order, moved[:-1], left_s, float(whole_s[0]))


@dataclass(frozen=True, slots=True, eq=False)
class _Destinations:
    rows_per_s: Array
    service_rows_per_s: Array
    substreams: Array
    levels_s: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """For each destination the best prefix (its index, or -1) and the levels of the pair after it."""

    prefix: Ints
    left_s: Array
    right_s: Array

    @property
    def worst_s(self) -> Array:
        return np.where(self.prefix >= 0, np.maximum(self.left_s, self.right_s), np.inf)


def best_balance(setting: Setting, source: int) -> Strategy | None:
    """To the destination with the smallest worst level of the pair; then the smallest levels over all (C5)."""
    others = np.flatnonzero(np.arange(setting.instances) != source)
    levels_s = setting.levels_s
    to = _Destinations(
        setting.loads[others], setting.service_rows_per_s[others], setting.counts[others], levels_s[others]
    )
    found = _Source.of(setting, source)
    best = _best(setting, found, to)
    if not np.isfinite(best.worst_s).any():
        return None
    at = _smallest(best, levels_s[others])
    return _strategy(StrategyKind.BALANCE, found, best, at, (source, int(others[at])))


def best_scale_out(setting: Setting, source: int) -> Strategy | None:
    service = setting.service_rows_per_s[source : source + 1]
    nothing = np.zeros(1)
    empty = _Destinations(nothing, service, nothing, setting.law.level_s(nothing, service, nothing))
    found = _Source.of(setting, source)
    best = _best(setting, found, empty)
    if best.prefix[0] < 0:
        return None
    return _strategy(StrategyKind.SCALE_OUT, found, best, 0, (source, setting.instances))


def _strategy(kind: StrategyKind, found: _Source, best: _Best, at: int, ends: tuple[int, int]) -> Strategy:
    moved = found.order[: int(best.prefix[at]) + 1]
    return Strategy(kind, moved, *ends, float(best.worst_s[at]))


def _best(setting: Setting, found: _Source, to: _Destinations) -> _Best:
    prefixes = found.moved.size
    if prefixes == 0 or to.rows_per_s.size == 0:
        return _Best(np.full(to.rows_per_s.size, -1), to.levels_s, to.levels_s)
    tried = _all if prefixes * to.rows_per_s.size <= FEW else _halved
    prefix, right_s = tried(setting, found, to)
    left_s = found.left_s[prefix]
    better = np.maximum(left_s, right_s) < np.maximum(found.level_s, to.levels_s)
    return _Best(np.where(better, prefix, -1), left_s, right_s)


def _all(setting: Setting, found: _Source, to: _Destinations) -> tuple[Ints, Array]:
    n = np.arange(1.0, found.moved.size + 1)
    right_s = setting.law.level_s(
        to.rows_per_s[:, None] + found.moved, to.service_rows_per_s[:, None], to.substreams[:, None] + n
    )
    prefix = np.argmin(np.maximum(found.left_s, right_s), axis=1)
    return prefix, right_s[np.arange(prefix.size), prefix]


def _halved(setting: Setting, found: _Source, to: _Destinations) -> tuple[Ints, Array]:
    """The best is the last prefix before the destination's level reaches the source's, or the first after that."""

    def right_s(prefix: Ints) -> Array:
        return setting.law.level_s(
            to.rows_per_s + found.moved[prefix], to.service_rows_per_s, to.substreams + (prefix + 1.0)
        )

    last = found.moved.size - 1
    low = np.zeros(to.rows_per_s.size, dtype=np.intp)
    high = np.full(to.rows_per_s.size, last + 1, dtype=np.intp)
    for _ in range(int(last + 1).bit_length()):
        middle = np.minimum((low + high) >> 1, last)
        crossed = (right_s(middle) >= found.left_s[middle]) | (low >= high)
        high = np.where(crossed, np.minimum(high, middle), high)
        low = np.where(crossed, low, middle + 1)
    after = np.minimum(high, last)
    before = _first_of_equals(found.left_s, np.maximum(high - 1, 0))
    after_s, before_s = right_s(after), right_s(before)
    worse = np.maximum(found.left_s[before], before_s) <= np.maximum(found.left_s[after], after_s)
    return np.where(worse, before, after), np.where(worse, before_s, after_s)


def _first_of_equals(falling: Array, at: Ints) -> Ints:
    """Where the source's level stays the same over several prefixes the shortest does."""
    first: NDArray[np.intp] = np.searchsorted(-falling, -falling[at], side="left")
    return first


def _smallest(best: _Best, levels_s: Array) -> int:
    """Of equal worst levels the one whose other levels are smaller: of all levels only {+ lower, - before} differ."""
    tied = np.flatnonzero(best.worst_s == best.worst_s.min())
    lower_s, before_s = np.minimum(best.left_s, best.right_s)[tied], levels_s[tied]
    larger = np.select([lower_s > before_s, lower_s < before_s], [lower_s, -before_s], 0.0)
    smaller = np.select([lower_s > before_s, lower_s < before_s], [-before_s, lower_s], 0.0)
    return int(tied[np.lexsort((tied, smaller, larger))[0]])
