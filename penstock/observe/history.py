"""A history: the recent snapshots, oldest first, within a window of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.changes import Target
from penstock.observe.snapshot import ComponentSeen, Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class History:
    window_s: float
    snapshots: tuple[Snapshot, ...] = ()

    def appended(self, snapshot: Snapshot) -> History:
        oldest_s = snapshot.end_s - self.window_s
        return History(self.window_s, (*(s for s in self.snapshots if s.end_s > oldest_s), snapshot))

    @property
    def latest(self) -> Snapshot | None:
        return self.snapshots[-1] if self.snapshots else None

    def since(self, start_s: float) -> tuple[Snapshot, ...]:
        return tuple(s for s in self.snapshots if s.start_s >= start_s)

    def of(self, target: Target) -> Iterator[tuple[Snapshot, ComponentSeen]]:
        return ((s, s.components[target]) for s in self.snapshots if target in s.components)
