"""Batch time against interval, as Spark's old streaming allocation has it, and SPARK-24815 proposed it for the new.

Every minute: is the mean batch longer than 0.9 of its interval, as many instances more as it is times too long; below
0.3, one less. Back to back there is no interval; the longest batch that meets the objective takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.changes import Target
from penstock.policies.componentwise import Wish, componentwise, rescale
from penstock.policies.detectors import Reading
from penstock.policies.figures import Figures
from penstock.policies.hysteresis import over_a_window
from penstock.policies.policy import Decision, Memory, View


@dataclass(frozen=True, slots=True)
class BatchRatio:
    """Names and values of spark.streaming.dynamicAllocation.*"""

    scaling_interval_s: float = 60.0
    scaling_up_ratio: float = 0.9
    scaling_down_ratio: float = 0.3

    @property
    def name(self) -> str:
        return "batch-ratio"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        def regulate(target: Target, since_s: float, own: Mapping[str, Any]) -> Wish:
            span = (since_s, self.scaling_interval_s)
            return over_a_window(view, target, span, lambda figures: self._wish(view, target, figures))

        return componentwise(view, memory, regulate)

    def _wish(self, view: View, target: Target, figures: Figures) -> Wish:
        ratio, now = batch_ratio(Reading.of(view, target, figures)), view.deployment.parallelism(target)
        if ratio is None:
            return Wish("no batch was seen")
        says = f"a batch takes {ratio:.2f} of its interval"
        if ratio >= self.scaling_up_ratio:
            return Wish(f"{says}: more instances than {now}", rescale(view, target, now + max(1, round(ratio))))
        if ratio <= self.scaling_down_ratio:
            return Wish(f"{says}: one instance less than {now}", rescale(view, target, now - 1))
        return Wish(says)


def batch_ratio(reading: Reading) -> float | None:
    """Of continuous components: how busy their instances are."""
    figures = reading.figures
    if reading.batched:
        lengths_s = [b.duration_s for b in figures.batches]
        return sum(lengths_s) / len(lengths_s) / reading.longest_batch_s if lengths_s else None
    useful_s = figures.per_instance("useful_s", reading.parallelism)
    return None if useful_s is None else float(useful_s.sum()) / (reading.parallelism * figures.seconds)
