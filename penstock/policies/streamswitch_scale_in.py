"""Which instance can be done without, and who takes its substreams: StreamSwitch's Algorithm 1, corrected (C1).

Of all ordered pairs (s, d) the one whose levels afterwards, highest first, are lexicographically smallest. Two results
differ only in what each removes, L_s and L_d, and adds, the merged level M; comparing {+M, -L_s, -L_d}, largest first,
is comparing the whole vectors. Levels rise with the load, so most pairs are ruled out by a bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.policies.streamswitch_setting import Array, Ints, Setting, Strategy, StrategyKind

FEW = 40  # instances: below, trying all pairs at once costs less than bounds (benchmarks/streamswitch_decision.py)
GROUPS = 32  # of destinations by speed: tight bounds for a thirtieth of the evaluations
NEXT_TO_NOTHING = 1e-9  # of the largest load: so little may leave a level as it is

Key = tuple[float, float, float, float, int, int]  # what differs of the vectors; then load of s, s, d


def best_scale_in(setting: Setting, sources: Ints | None = None) -> Strategy | None:
    """None where there is one instance only. `sources` bounds who may go."""
    if setting.instances < 2:
        return None
    search = _Search.of(setting)
    if sources is not None:
        for s in sources:
            search.try_source(int(s))
    elif setting.instances <= FEW:
        search.try_all(np.arange(setting.instances))
    else:
        search.try_promising()
    assert search.best is not None
    source, destination = search.best[4], search.best[5]
    substreams = np.flatnonzero(setting.instance_of == source)
    return Strategy(StrategyKind.SCALE_IN, substreams, source, destination, search.worst_s(source, destination))


@dataclass(slots=True)
class _Search:
    setting: Setting
    loads: Array
    counts: Array
    levels_s: Array
    best: Key | None = None
    _kept: Ints = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @classmethod
    def of(cls, setting: Setting) -> _Search:
        counts = setting.counts if setting.law.counts_substreams else np.zeros(setting.instances)
        return cls(setting, setting.loads, counts, setting.levels_s)

    def merged_s(self, sources: Ints, destinations: Ints) -> Array:
        return self.setting.law.level_s(
            self.loads[sources] + self.loads[destinations],
            self.setting.service_rows_per_s[destinations],
            self.counts[sources] + self.counts[destinations],
        )

    def worst_s(self, source: int, destination: int) -> float:
        return float(self.merged_s(np.array([source]), np.array([destination]))[0])

    # exact ------------------------------------------------------------------------------------------------

    def try_all(self, which: Ints) -> None:
        source, destination = (side.ravel() for side in np.meshgrid(which, which, indexing="ij"))
        apart = source != destination
        self._try(source[apart], destination[apart])

    def try_source(self, source: int) -> None:
        others = np.flatnonzero(np.arange(self.setting.instances) != source)
        self._try(np.full(others.size, source), others)

    def _try(self, source: Ints, destination: Ints) -> None:
        keys = _differences(self.merged_s(source, destination), self.levels_s[source], self.levels_s[destination])
        tied = np.arange(source.size)
        for column in (*keys, self.loads[source], source, destination):
            values = column[tied]
            tied = tied[values == values.min()]
        at = int(tied[0])
        s, d = int(source[at]), int(destination[at])
        key = (float(keys[0][at]), float(keys[1][at]), float(keys[2][at]), float(self.loads[s]), s, d)
        self.best = key if self.best is None else min(self.best, key)

    # bounds -----------------------------------------------------------------------------------------------

    def try_promising(self) -> None:
        self._kept = _without_further_twins(self.loads, self.setting.service_rows_per_s, self.counts)
        for source in self._may_lower_the_top():
            bound = (-float(self.levels_s[source]), 0.0, 0.0, float(self.loads[source]), int(source))
            if self.best is not None and bound > self.best[:5]:
                break
            others = self._kept[self._kept != source]
            self._try(np.full(others.size, source), others)
        if self.best is None or self.best[0] > 0:
            self._try_destinations()

    def _may_lower_the_top(self) -> Ints:
        """Sources that may leave every level below their own: the highest first, for no other can be better."""
        kept, levels_s = self._kept, self.levels_s[self._kept]
        idle = self.loads[kept] <= NEXT_TO_NOTHING * self.loads.max()
        may = idle | (self._least_merged_s(kept, 1) <= levels_s)
        if may.any():
            may = idle | (may & (self._least_merged_s(kept, GROUPS) <= levels_s))
        found = kept[may]
        order: Ints = np.lexsort((found, self.loads[found], -self.levels_s[found]))
        promising: Ints = found[order]
        return promising

    def _least_merged_s(self, sources: Ints, groups: int) -> Array:
        """No destination gives less: each group is as idle and as fast as its best."""
        by_speed = self._kept[np.argsort(self.setting.service_rows_per_s[self._kept], kind="stable")]
        starts = np.unique(np.linspace(0, by_speed.size, groups, endpoint=False).astype(np.intp))
        load = np.minimum.reduceat(self.loads[by_speed], starts)
        count = np.minimum.reduceat(self.counts[by_speed], starts)
        speed = np.maximum.reduceat(self.setting.service_rows_per_s[by_speed], starts)
        every_s = self.setting.law.level_s(
            self.loads[sources][:, None] + load, speed, self.counts[sources][:, None] + count
        )
        least_s: Array = every_s.min(axis=1)
        return least_s

    def _try_destinations(self) -> None:
        """Where a merge raises the top, the smallest merged level wins: the most promising destination first."""
        kept = self._kept
        front = _lightest(kept, self.loads, self.counts)
        bound_s = self.merged_s(front[:, None], kept[None, :]).min(axis=0)
        for at in np.argsort(bound_s, kind="stable"):
            if self.best is not None and bound_s[at] > self.best[0]:
                break
            others = kept[kept != kept[at]]
            self._try(others, np.full(others.size, kept[at]))


def _differences(merged_s: Array, source_s: Array, destination_s: Array) -> tuple[Array, Array, Array]:
    """{+M, -high, -low} after equal ones cancel, largest first: less is better."""
    high_s, low_s = np.maximum(source_s, destination_s), np.minimum(source_s, destination_s)
    above, same = merged_s > high_s, merged_s == high_s
    gone = same | (merged_s == low_s)
    first = np.where(above, merged_s, np.where(same, -low_s, -high_s))
    second = np.where(above, -high_s, np.where(gone, 0.0, merged_s))
    third = np.where(above | ~gone, -low_s, 0.0)
    return first, second, third


def _without_further_twins(*columns: Array) -> Ints:
    """Of instances that are alike in every respect the first two: one may go and one may stay."""
    order = np.lexsort(columns)
    same = np.ones(order.size - 1, dtype=np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    third: NDArray[np.bool_] = np.zeros(order.size, dtype=np.bool_)
    third[2:] = same[1:] & same[:-1]
    return np.sort(order[~third])


def _lightest(which: Ints, loads: Array, counts: Array) -> Ints:
    """Those than which no other has both less load and fewer substreams."""
    order = which[np.lexsort((counts[which], loads[which]))]
    fewest = np.minimum.accumulate(counts[order])
    first = np.concatenate(([True], fewest[1:] < fewest[:-1]))
    return order[first]
