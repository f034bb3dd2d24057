"""The rules of the Flink Kubernetes operator's autoscaler, with its formulas and defaults.

target rate   lag / catch-up + input x restart / catch-up + input / target utilization, propagated from the sources
utilization   input / true processing rate; nothing is done between target - boundary and target + boundary, and while a
              backlog is worked off not below it either
scale down    to the most that was recommended within an hour, and at most by 60% at once
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.changes import Target
from penstock.policies.componentwise import Wish, componentwise, rescale
from penstock.policies.figures import Figures
from penstock.policies.flow import target_rows_per_s
from penstock.policies.hysteresis import largest_lately, over_a_window
from penstock.policies.policy import Decision, Memory, View


@dataclass(frozen=True, slots=True)
class FlinkLike:
    """Defaults are those of version 1.16 (job.autoscaler.*); times are long because a restart there takes minutes."""

    window_s: float = 900.0  # metrics.window
    utilization_target: float = 0.7  # utilization.target
    boundary: float = 0.3  # target.utilization.boundary
    catch_up_s: float = 1800.0  # catch-up.duration
    restart_s: float = 300.0  # restart.time
    scale_down_after_s: float = 3600.0  # scale-down.interval
    scale_down_most: float = 0.6  # scale-down.max-factor
    backlog_from_s: float = 300.0  # backlog-processing.lag-threshold

    @property
    def name(self) -> str:
        return "flink-like"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        def regulate(target: Target, since_s: float, own: Mapping[str, Any]) -> Wish:
            span = (since_s, self.window_s)
            found = over_a_window(view, target, span, lambda figures: self._wish(view, target, figures, own))
            return found if found.memory else replace(found, memory=own)

        return componentwise(view, memory, regulate)

    def _wish(self, view: View, target: Target, figures: Figures, own: Mapping[str, Any]) -> Wish:
        now = view.deployment.parallelism(target)
        rows_per_s, capacity = target_rows_per_s(view, figures, target), capacity_rows_per_s(figures, now)
        if rows_per_s is None or capacity is None:
            return Wish("its true rate is not known yet", memory=own)
        utilization = rows_per_s / capacity
        lag = figures.pending_rows or 0.0
        behind = rows_per_s > 0 and lag / rows_per_s > self.backlog_from_s
        lowest = 0.0 if behind else self.utilization_target - self.boundary
        recommended = self._recommended(rows_per_s, lag, capacity / now)
        if lowest <= utilization <= self.utilization_target + self.boundary:
            recommended = now
        wanted, kept = largest_lately(own.get("wanted", ()), view.now_s, recommended, self.scale_down_after_s)
        if recommended < now:
            wanted = min(now, max(wanted, math.ceil(now * (1 - self.scale_down_most))))
        else:
            wanted = recommended
        says = f"{utilization:.0%} of what it can do arrives"
        why = f"{says}: {wanted} instances instead of {now}" if wanted != now else f"{says}: {now} instances are kept"
        return Wish(why, rescale(view, target, wanted), memory={"wanted": [list(k) for k in kept]})

    def _recommended(self, rows_per_s: float, lag: float, capacity_of_one: float) -> int:
        needed = lag / self.catch_up_s + rows_per_s * self.restart_s / self.catch_up_s
        return max(1, math.ceil((needed + rows_per_s / self.utilization_target) / capacity_of_one - 1e-9))


def capacity_rows_per_s(figures: Figures, instances: int) -> float | None:
    """True processing rate of all instances, as the busiest one has it (busy-time aggregator MAX: robust to skew)."""
    useful_s, completed = figures.per_instance("useful_s", instances), figures.total("rows_completed")
    if useful_s is None or completed is None or float(np.nanmax(useful_s)) <= 0 or completed <= 0:
        return None
    return completed / float(np.nanmax(useful_s))
