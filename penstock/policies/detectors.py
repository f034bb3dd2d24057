"""What was seen to symptoms (Dhalion 4.1, 5.1), over a window that is long enough for noise to even out.

sources stop     backpressure is what instances say of themselves: how long a full queue of theirs stopped the sources
durable streams  nothing stops: backlog grows. Its marks are seconds of work, its size the share of rows not handled
micro-batches    a batch that takes longer than its interval is late work; what a cap leaves behind is backlog
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.changes import Execution, Target
from penstock.objectives.objective import Latency
from penstock.policies.batch_costs import trigger_s
from penstock.policies.figures import Array, Figures
from penstock.policies.policy import View
from penstock.policies.symptoms import Symptom, SymptomKind

NOISE_S = 0.02  # Heron's noise filter: less backpressure than this in a window is none
LATE_SHARE = 0.5  # of a window: what is late for less of it is a spike
HIGH_MARK_S = 5.0  # seconds of work that wait: an instance with more can be felt by everybody
ALMOST_NOTHING_S = 0.5  # seconds of work: a tenth of the high mark; queues are seen at the end of steps of a second
AT_FAULT = 0.9  # of the longest work in a batch: these instances keep the others waiting
WAIT_OF_MEAN = 1.5  # the mean latency back to back is 1.5 batches
PATIENCE_S = 10.0  # the longest batch of those who ask for no latency and set no trigger


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One component over the window."""

    target: Target
    figures: Figures
    parallelism: int
    sources_stop: bool
    batched: bool
    longest_batch_s: float

    @classmethod
    def of(cls, view: View, target: Target, figures: Figures) -> Reading:
        capabilities = view.deployment.capabilities
        return cls(
            target,
            figures,
            view.deployment.parallelism(target),
            capabilities.sources_stop,
            capabilities.execution is Execution.MICRO_BATCH,
            trigger_s(figures) or _longest_s(view, target),
        )

    @property
    def rates(self) -> Array | None:
        return self.figures.per_instance("rows_executed", self.parallelism)

    @property
    def arrival_rates(self) -> Array | None:
        """What an instance was given: on durable streams the queue shows in what was not executed."""
        first, last = (s[1].instances for s in (self.figures.steps[0], self.figures.steps[-1]))
        rates = self.rates
        if rates is None or first is None or last is None or first.rows_queued is None or last.rows_queued is None:
            return rates
        if first.rows_queued.size != rates.size or last.rows_queued.size != rates.size:
            return rates
        return np.maximum(rates + last.rows_queued - first.rows_queued, 0.0)

    @property
    def backlog_s(self) -> float | None:
        """Of all its instances, working side by side."""
        pending, work_s = self.figures.pending_rows, self.figures.work_s_per_row
        return None if pending is None or work_s is None else pending * work_s / self.parallelism


def _longest_s(view: View, target: Target) -> float:
    """Without a trigger the largest interval that meets the objective (D-map 1)."""
    latencies = [o for o in view.deployment.objectives.get(target, ()) if isinstance(o, Latency)]
    limits_s = [o.limit_s / (WAIT_OF_MEAN if o.quantile is None else 1 + o.quantile) for o in latencies]
    return min(limits_s, default=PATIENCE_S)


def backpressure(reading: Reading) -> Symptom | None:
    if reading.batched:
        return _late_batches(reading)
    return _stopped_sources(reading) if reading.sources_stop else _growing_backlog(reading)


def _stopped_sources(reading: Reading) -> Symptom | None:
    held_s = reading.figures.per_instance("backpressure_s", reading.parallelism)
    if held_s is None or float(held_s.max()) <= NOISE_S:
        return None
    share = min(1.0, (reading.figures.total("backpressure_s") or float(held_s.max())) / reading.figures.seconds)
    says = f"its full queues stopped the sources for {share:.0%} of {reading.figures.seconds:.0f} s"
    waiting = reading.figures.mean_queued(reading.parallelism)
    return Symptom(
        SymptomKind.BACKPRESSURE, reading.target, says, share, share, reading.rates, waiting, held_s > NOISE_S
    )


def _growing_backlog(reading: Reading) -> Symptom | None:
    backlog_s, met = reading.backlog_s, reading.figures.met_share
    waiting = reading.figures.mean_queued(reading.parallelism)
    if backlog_s is None or met is None or waiting is None or met >= 1 or backlog_s <= 0:
        return None
    per_row_s = reading.figures.work_s_per_row or 0.0
    if float(waiting.max()) * per_row_s <= HIGH_MARK_S:
        return None
    says = f"{1 - met:.1%} of the rows were not handled, and {backlog_s:.1f} s of work wait"
    at_fault = waiting * per_row_s > HIGH_MARK_S
    return Symptom(
        SymptomKind.BACKPRESSURE, reading.target, says, 1 - met, 1.0, reading.arrival_rates, waiting, at_fault
    )


def _late_batches(reading: Reading) -> Symptom | None:
    share = _late_share(reading)
    if share is None or share < LATE_SHARE:
        return None
    met = reading.figures.met_share
    unmet = 0.0 if met is None else max(0.0, 1 - met)
    durations_s = [b.duration_s for b in reading.figures.batches]
    mean_s = sum(durations_s) / len(durations_s) if durations_s else 0.0
    says = f"{share:.0%} of its batches were late (mean {mean_s:.1f} s, {reading.longest_batch_s:.1f} s is on time)"
    useful_s = reading.figures.per_instance("useful_s", reading.parallelism)
    at_fault = None if useful_s is None else useful_s >= AT_FAULT * useful_s.max()
    return Symptom(SymptomKind.BACKPRESSURE, reading.target, says, unmet, share, reading.rates, useful_s, at_fault)


def _late_share(reading: Reading) -> float | None:
    """Of the time: long batches are few. A batch that has not ended counts by what waits for it."""
    batches, on_time_s = reading.figures.batches, reading.longest_batch_s
    late_s = sum(b.duration_s for b in batches if b.duration_s > on_time_s)
    spent_s = sum(b.duration_s for b in batches)
    oldest_s = reading.figures.steps[-1][1].oldest_pending_s or 0.0
    if oldest_s > 2 * on_time_s:
        late_s, spent_s = late_s + oldest_s, spent_s + oldest_s
    return late_s / spent_s if spent_s > 0 else None


def nothing_waits(reading: Reading) -> Symptom | None:
    """Every instance's queue almost empty; on micro-batches no batch late, and nothing left behind by a cap."""
    if reading.batched:
        if not reading.figures.batches or _late_share(reading) != 0.0:
            return None
        return Symptom(
            SymptomKind.NOTHING_WAITS, reading.target, f"none of {len(reading.figures.batches)} batches late"
        )
    waiting, work_s = reading.figures.mean_queued(reading.parallelism), reading.figures.work_s_per_row
    if waiting is None or work_s is None or float(waiting.max()) * work_s > ALMOST_NOTHING_S:
        return None
    says = f"its longest queue held {waiting.max():.0f} rows on average"
    return Symptom(SymptomKind.NOTHING_WAITS, reading.target, says, waiting=waiting)
