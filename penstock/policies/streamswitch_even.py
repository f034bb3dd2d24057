"""StreamSwitch for a component whose rows go to any instance: there is nothing to move, only how many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.models.latency_law import UNSTABLE_S, LatencyLaw
from penstock.models.mm1 import QueueLaw
from penstock.policies.batch_costs import batch_law, learnt_from
from penstock.policies.figures import Figures
from penstock.policies.policy import View
from penstock.policies.streamswitch_diagnose import Goals, Health, health
from penstock.policies.streamswitch_examine import Asked, Invalid, is_batched, window
from penstock.policies.streamswitch_latency import statistic_s

MOST = 10_000  # instances: nobody has more


@dataclass(frozen=True, slots=True)
class Even:
    """Rows spread evenly over equal instances; `latency_s` is what was measured, `law` projects the rest."""

    law: LatencyLaw
    rows_per_s: float
    service_rows_per_s: float
    latency_s: float
    parallelism: int

    def level_s(self, parallelism: int) -> float:
        one = np.ones(1)
        found = self.law.level_s(one * self.rows_per_s / parallelism, one * self.service_rows_per_s, one)
        return float(found[0])

    def health(self, goals: Goals) -> Health:
        return health(np.array([self.latency_s]), np.array([self.level_s(self.parallelism)]), goals)

    def wanted(self, goals: Goals) -> int:
        """The present number where nothing has to change, or nothing helps."""
        match self.health(goals):
            case Health.SEVERE:
                highest = goals.bounds.highest or MOST
                return self._least(self.parallelism, min(highest, self.parallelism + goals.at_once), goals.limit_s)
            case Health.GOOD:
                lowest = max(goals.bounds.lowest, 1, self.parallelism - goals.at_once)
                return min(self.parallelism, self._least(lowest, self.parallelism, goals.limit_s * goals.quiet_share))
            case _:
                return self.parallelism

    def _least(self, lowest: int, highest: int, limit_s: float) -> int:
        """The least number that keeps the limit, else the highest; levels fall with the number."""
        while lowest < highest:
            middle = (lowest + highest) // 2
            lowest, highest = (lowest, middle) if self.level_s(middle) <= limit_s else (middle + 1, highest)
        return highest


def examine_even(view: View, figures: Figures, parallelism: int, asked: Asked) -> Even | Invalid:
    recent = window(view, figures, asked)
    if isinstance(recent, Invalid):
        return recent
    work_s, rows_per_s = figures.work_s_per_row, recent.per_s("rows_arrived")
    if not work_s or rows_per_s is None:
        return Invalid("no instance has worked since the last change: its speed is not known yet")
    found_s = statistic_s(recent.latency, asked.quantile)
    latency_s = (recent.steps[-1][1].oldest_pending_s or 0.0) if found_s is None else found_s
    law: LatencyLaw = QueueLaw(asked.margin, asked.quantile)
    if is_batched(view):
        where = np.arange(parallelism, dtype=np.intp)
        law = batch_law(figures, learnt_from(figures, where), asked.margin, asked.quantile)
    return Even(law, rows_per_s, 1 / work_s, latency_s, parallelism)


def why_even(even: Even, wanted: int, goals: Goals) -> str:
    now, then = (_seconds(even.level_s(p)) for p in (even.parallelism, wanted))
    if wanted != even.parallelism:
        return f"{wanted} instances instead of {even.parallelism} take the projected latency from {now} to {then}"
    match even.health(goals):
        case Health.SEVERE:
            return f"{now} is projected, and its bound of {even.parallelism} instances is reached"
        case Health.MODERATE:
            return f"either latency was above {goals.alert_s:.2g} s or {now} is projected, not both: it may pass"
        case Health.GOOD:
            return f"the projected latency is {now}, and with one instance fewer it would not stay low"


def _seconds(level_s: float) -> str:
    return "endless" if level_s >= UNSTABLE_S else f"{level_s:.3g} s"
