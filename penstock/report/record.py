"""A run as its report needs it: everything read, nothing drawn yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.action_log import Entry
from penstock.changes import Target
from penstock.deployment import Deployment
from penstock.objectives.objective import Objective
from penstock.observe.snapshot import Snapshot
from penstock.observe.summary import RunTotals
from penstock.report.scale import TimeScale
from penstock.report.series import ComponentSeries


@dataclass(slots=True)
class Seen:
    """What the snapshots of a run came to."""

    totals: RunTotals = field(default_factory=RunTotals)
    series: dict[Target, ComponentSeries] = field(default_factory=dict)
    deployment: Deployment | None = None
    missed_facts: int = 0
    refused_why: dict[Target, str] = field(default_factory=dict)  # why a component was not regulated, at any time

    def add(self, deployment: Deployment, snapshot: Snapshot) -> None:
        self.deployment = deployment
        self.totals.add(snapshot)
        self.missed_facts += snapshot.missed_facts
        self.refused_why.update(deployment.unregulated)
        for target, seen in snapshot.components.items():
            self.series.setdefault(target, ComponentSeries()).add(snapshot, seen)

    @property
    def time(self) -> TimeScale:
        return TimeScale(self.totals.start_s or self.totals.end_s, self.totals.end_s)


def seen_in(steps: Iterable[tuple[Deployment, Snapshot]]) -> Seen:
    seen = Seen()
    for deployment, snapshot in steps:
        seen.add(deployment, snapshot)
    return seen


@dataclass(frozen=True, slots=True)
class RunRecord:
    """`ended` is a sentence; `objectives` by the name of the component, None where nobody wrote them down."""

    name: str
    command: tuple[str, ...]
    started_s: float
    ended: str
    seen: Seen
    entries: tuple[Entry, ...] = ()
    objectives: Mapping[str, tuple[Objective, ...]] | None = field(default_factory=dict)

    @property
    def targets(self) -> tuple[Target, ...]:
        """Every component after those that feed it."""
        ordered = self.seen.deployment.targets if self.seen.deployment else ()
        gone = [t for t in self.seen.series if t not in ordered]
        return (*(t for t in ordered if t in self.seen.series), *gone)

    def objectives_of(self, target: Target) -> tuple[Objective, ...]:
        return (self.objectives or {}).get(str(target.component), ())
