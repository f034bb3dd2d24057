"""What a component did over some recent steps, added up: what policies read instead of raw snapshots.

Nothing is guessed: where a step does not say, the sum is None. Time counts that was seen, not that passed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.changes import Target
from penstock.observe.latency import LatencyHistogram, merged
from penstock.observe.snapshot import BatchSeen, ComponentSeen, InstancesSeen, Snapshot, SubstreamsSeen
from penstock.policies.policy import View

Array = NDArray[np.float64]
Step = tuple[Snapshot, ComponentSeen]
CLOCK_NOISE_S = 1e-6  # steps end where others begin, but for rounding


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Steps, oldest first."""

    steps: tuple[Step, ...]

    @classmethod
    def since(cls, view: View, target: Target, start_s: float) -> Figures:
        """Of the steps that began no earlier."""
        return cls(tuple(s for s in view.history.of(target) if s[0].start_s >= start_s - CLOCK_NOISE_S))

    def without_gaps(self, longest_s: float) -> Figures:
        """The steps that say what came and what was completed, after the last time that nobody did for so long."""
        kept: list[Step] = []
        for step in (s for s in self.steps if s[1].rows_arrived is not None and s[1].rows_completed is not None):
            if kept and step[0].start_s - kept[-1][0].end_s > longest_s + CLOCK_NOISE_S:
                kept = []
            kept.append(step)
        return Figures(tuple(kept))

    def latest(self, seconds: float, batches: int = 0) -> Figures:
        """The last steps that cover so much time and hold so many batches; all of them where they do not."""
        kept, lacking_s, lacking = 0, seconds - CLOCK_NOISE_S, batches
        while kept < len(self.steps) and (kept == 0 or lacking_s > 0 or lacking > 0):
            kept += 1
            snapshot, seen = self.steps[-kept]
            lacking_s, lacking = lacking_s - snapshot.duration_s, lacking - len(seen.batches)
        return Figures(self.steps[len(self.steps) - kept :])

    def covers(self, seconds: float, batches: int = 0) -> bool:
        return self.seconds >= seconds - CLOCK_NOISE_S and len(self.batches) >= batches

    @property
    def seconds(self) -> float:
        return sum(snapshot.duration_s for snapshot, _ in self.steps)

    @property
    def batches(self) -> tuple[BatchSeen, ...]:
        return tuple(b for _, seen in self.steps for b in seen.batches)

    # rows -------------------------------------------------------------------------------------------------

    def total(self, what: str) -> float | None:
        values = [getattr(seen, what) for _, seen in self.steps]
        return None if not values or None in values else float(sum(values))

    def per_s(self, what: str) -> float | None:
        total = self.total(what)
        return None if total is None or self.seconds <= 0 else total / self.seconds

    @property
    def met_share(self) -> float | None:
        """Completed of what arrived: above 1 where a backlog is worked off."""
        arrived, completed = self.total("rows_arrived"), self.total("rows_completed")
        if arrived is None or completed is None:
            return None
        return completed / arrived if arrived > 0 else 1.0

    @property
    def pending_rows(self) -> float | None:
        return self.steps[-1][1].rows_pending if self.steps else None

    @property
    def latency(self) -> LatencyHistogram:
        return merged(seen.latency for _, seen in self.steps if seen.latency is not None)

    # instances --------------------------------------------------------------------------------------------

    def per_instance(self, what: str, instances: int) -> Array | None:
        """Summed over the steps that had so many; None where none of them says."""
        found = [_of_instances(seen.instances, what) for _, seen in self.steps]
        rows = [values for values in found if values is not None and values.size == instances]
        return np.sum(rows, axis=0) if rows else None

    def mean_queued(self, instances: int) -> Array | None:
        rows = [_of_instances(seen.instances, "rows_queued") for _, seen in self.steps]
        fitting = [values for values in rows if values is not None and values.size == instances]
        return np.mean(fitting, axis=0) if fitting else None

    def per_substream(self, what: str, substreams: int) -> Array | None:
        """Summed over all steps; None where one that completed rows does not say."""
        total = np.zeros(substreams)
        for _, seen in self.steps:
            values = _of_substreams(seen.substreams, what)
            if values is None:
                if seen.rows_completed or what == "rows_arrived":
                    return None
                continue
            total[: min(substreams, values.size)] += known(values[:substreams])
        return total if self.steps else None

    @property
    def work_s_per_row(self) -> float | None:
        """Useful seconds of an instance for one row of input."""
        useful = [_of_instances(seen.instances, "useful_s") for _, seen in self.steps]
        both = [
            (float(u.sum()), seen.rows_completed)
            for u, (_, seen) in zip(useful, self.steps, strict=True)
            if u is not None
        ]
        rows = sum(n for _, n in both if n)
        return sum(s for s, n in both if n) / rows if rows > 0 else None


def known(values: Array) -> Array:
    """Unknown counts nothing in a sum. A sum is NaN where any is: cheaper than to look at each."""
    return np.nan_to_num(values) if np.isnan(values.sum()) else values


def _of_instances(seen: InstancesSeen | None, what: str) -> Array | None:
    values: Array | None = getattr(seen, what) if seen is not None else None
    return values


def _of_substreams(seen: SubstreamsSeen | None, what: str) -> Array | None:
    values: Array | None = getattr(seen, what) if seen is not None else None
    return values
