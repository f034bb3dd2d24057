"""DS2 (Kalavri et al.): true rates, and the whole topology at once.

True rate: rows per useful second, what an instance could do if it never waited. Optimal parallelism is the rate that
the inputs would send, over the true rate of one instance. Converged within three steps, or it stops.
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
from penstock.policies.hysteresis import over_a_window
from penstock.policies.policy import Decision, Memory, View

MOST_STEPS = 3  # the claim of its title; more than three means that the model does not fit, and goes in circles
SAME_LOAD = 0.1  # of the rate: with more the load has changed, and steps count anew


@dataclass(frozen=True, slots=True)
class Ds2:
    """
    window_s               of figures after a change, before the next decision: two of its sample's intervals of 10 s
    over_provision_share   instances beyond the optimum: DEBS'24 ran it with 1.0 and 1.2; on micro-batches an instance
                           that is busy all the time has no time left for what a batch costs beside its rows
    """

    window_s: float = 20.0
    over_provision_share: float = 0.2

    @property
    def name(self) -> str:
        return "ds2"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        def regulate(target: Target, since_s: float, own: Mapping[str, Any]) -> Wish:
            span = (since_s, self.window_s)
            found = over_a_window(view, target, span, lambda figures: self._wish(view, target, figures, own))
            return found if found.memory else replace(found, memory=own)

        return componentwise(view, memory, regulate)

    def _wish(self, view: View, target: Target, figures: Figures, own: Mapping[str, Any]) -> Wish:
        rows_per_s, work_s = target_rows_per_s(view, figures, target), figures.work_s_per_row
        if rows_per_s is None or not work_s:
            return Wish("its true rate is not known yet", memory=own)
        now = view.deployment.parallelism(target)
        busy = rows_per_s * work_s
        wanted = max(1, math.ceil(busy * (1 + self.over_provision_share) - 1e-9))
        steps = _steps(own, rows_per_s)
        kept = {"rows_per_s": round(rows_per_s, 3), "steps": steps}
        if wanted == now:
            return Wish(f"{rows_per_s:.0f} rows/s keep {busy:.1f} instances busy: {now} are right", memory=kept)
        if steps >= MOST_STEPS:
            return Wish(f"{steps} steps have not found the number for {rows_per_s:.0f} rows/s: it stays", memory=kept)
        why = f"{rows_per_s:.0f} rows/s keep {busy:.1f} instances busy: {wanted} instead of {now}"
        return Wish(why, rescale(view, target, wanted), memory={**kept, "steps": steps + 1})


def _steps(own: Mapping[str, Any], rows_per_s: float) -> int:
    before = own.get("rows_per_s", 0.0)
    same = abs(rows_per_s - before) <= SAME_LOAD * max(before, 1e-9)
    return int(own.get("steps", 0)) if same else 0
