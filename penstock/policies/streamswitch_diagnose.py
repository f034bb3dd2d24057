"""Diagnose: how healthy is a component, and which strategy is the best (StreamSwitch 3, with C1 to C6).

severe     an instance was slow lately, and is projected to be too slow: move substreams away, scale out if that is not
           enough
good       none is either: scale in, if all is still good after it
moderate   between the two: nothing; the trend, or what is left of the latency budget, may absorb it
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from penstock.models.latency_law import UNSTABLE_S
from penstock.policies.policy import Bounds
from penstock.policies.streamswitch_moves import best_balance, best_scale_out
from penstock.policies.streamswitch_scale_in import best_scale_in
from penstock.policies.streamswitch_setting import Array, Setting, Strategy, StrategyKind


class Health(StrEnum):
    SEVERE = "severe"
    MODERATE = "moderate"
    GOOD = "good"


@dataclass(frozen=True, slots=True)
class Goals:
    """
    limit_s          the objective's L
    alert_s          l: measured latency above it is a sign
    bounds           of the number of instances
    at_once          unit strategies in one decision; 1 is the paper
    quiet_share      of the limit that a scale-in must stay below; 1 is the paper
    """

    limit_s: float
    alert_s: float
    bounds: Bounds = field(default_factory=Bounds)
    at_once: int = 1
    quiet_share: float = 1.0


def health(latency_s: Array, levels_s: Array, goals: Goals) -> Health:
    """
    >>> goals = Goals(limit_s=1.0, alert_s=0.1)
    >>> [str(health(np.array([a]), np.array([b]), goals)) for a, b in [(0.1, 1.0), (0.2, 0.5), (0.2, 3.0)]]
    ['good', 'moderate', 'severe']
    """
    slow, projected = latency_s > goals.alert_s, levels_s > goals.limit_s
    if (slow & projected).any():
        return Health.SEVERE
    return Health.MODERATE if (slow | projected).any() else Health.GOOD


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """`strategies`, one after the other, lead to `after`; `stuck` are instances that no strategy relieves."""

    health: Health
    before: Setting
    after: Setting
    strategies: tuple[Strategy, ...] = ()
    stuck: tuple[int, ...] = ()


@dataclass(slots=True)
class _Course:
    """Where the strategies chosen so far lead. A new instance is judged by the latency of the one it relieves."""

    at: Setting
    latency_s: Array
    chosen: list[Strategy] = field(default_factory=list)

    def take(self, strategy: Strategy) -> None:
        if strategy.destination == self.at.instances:
            self.latency_s = np.append(self.latency_s, self.latency_s[strategy.source])
        elif strategy.kind is StrategyKind.SCALE_IN:
            last = self.latency_s[-1]
            self.latency_s = self.latency_s[:-1].copy()
            if strategy.source < self.latency_s.size:
                self.latency_s[strategy.source] = last
        self.at = self.at.after(strategy)
        self.chosen.append(strategy)


def diagnose(setting: Setting, latency_s: Array, goals: Goals) -> Diagnosis:
    found = health(latency_s, setting.levels_s, goals)
    course, stuck = _Course(setting, latency_s), []
    if found is Health.SEVERE:
        stuck = _relieved(course, goals)
    elif found is Health.GOOD:
        _reduced(course, goals)
    return Diagnosis(found, setting, course.at, tuple(course.chosen), tuple(stuck))


def _relieved(course: _Course, goals: Goals) -> list[int]:
    """Of the severe instances the worst one first, until none is left; returns those that cannot be relieved."""
    stuck: list[int] = []
    while len(course.chosen) < goals.at_once:
        severe = (course.latency_s > goals.alert_s) & (course.at.levels_s > goals.limit_s)
        severe[stuck] = False
        if not severe.any():
            break
        source = int(np.argmax(np.where(severe, course.at.levels_s, -np.inf)))
        strategy = _relief(course, source, goals)
        if strategy is None:
            stuck.append(source)
        else:
            course.take(strategy)
    return stuck


def _relief(course: _Course, source: int, goals: Goals) -> Strategy | None:
    """Moving where that is enough; else a new instance; where there can be none, whatever moving still improves.

    Prefixes of one order do not know every set. Composed, those of the reverse are tried before paying an instance.
    """
    balance = best_balance(course.at, source)
    if balance is not None and _is_enough(course, balance, goals):
        return balance
    other = best_balance(course.at.other_way_round, source) if goals.at_once > 1 else None
    if other is not None and _is_enough(course, other, goals):
        return other
    if goals.bounds.highest is None or course.at.instances < goals.bounds.highest:
        return best_scale_out(course.at, source)
    return balance


def _is_enough(course: _Course, balance: Strategy, goals: Goals) -> bool:
    """The pair is below the limit (C6). One at a time, as printed, nobody else may be severe either."""
    if balance.worst_s > goals.limit_s:
        return False
    if goals.at_once > 1:
        return True
    after = course.at.after(balance)
    return health(course.latency_s, after.levels_s, goals) is not Health.SEVERE


def _reduced(course: _Course, goals: Goals) -> None:
    while len(course.chosen) < goals.at_once and course.at.instances > max(1, goals.bounds.lowest):
        strategy = _reduction(course.at, goals)
        if strategy is None:
            break
        course.take(strategy)


def _reduction(at: Setting, goals: Goals) -> Strategy | None:
    """The best pair by the paper. Instances are numbered without a gap, so that the last one's substreams go where the
    source was: where speeds differ, and that is not good, the last one itself goes."""
    best = best_scale_in(at)
    if best is not None and _stays_good(at, best, goals):
        return best
    last = np.array([at.instances - 1])
    other = best_scale_in(at, last) if _speeds_differ(at) else None
    return other if other is not None and _stays_good(at, other, goals) else None


def _stays_good(at: Setting, strategy: Strategy, goals: Goals) -> bool:
    limit_s = goals.limit_s * goals.quiet_share
    return strategy.worst_s <= limit_s and float(at.after(strategy).levels_s.max()) <= max(limit_s, _worst_s(at))


def _worst_s(at: Setting) -> float:
    """Who is between the quiet share and the limit already, keeps none from being merged elsewhere."""
    worst_s = float(at.levels_s.max())
    return worst_s if worst_s < UNSTABLE_S else 0.0


def _speeds_differ(at: Setting) -> bool:
    return bool(at.service_rows_per_s.min() < at.service_rows_per_s.max())
