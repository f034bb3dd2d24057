"""What did not help is not tried again (Dhalion 4.3, with C12 and C13).

ratio      of the times that an action was taken for a diagnosis, those that did not help: listed above a threshold
similar    the same diagnosis at the same component, with arrivals within 20%: an action that failed at full load may
           still help at half of it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

SIMILAR = 0.2  # of the arrivals
MOST_ENTRIES = 64  # the newest; a component has few diagnoses and few loads


class Outcome(StrEnum):
    HELPED = "helped"
    FRUITLESS = "fruitless"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Health:
    """What an action is judged by.

    handled_share   what the component completed per row that arrived from outside: where it is the bottleneck, its
                    throughput; above its usual while a backlog is worked off
    pressed_share   of the time that backpressure lasted
    own_share       completed of what arrived at the component itself: below 1 while its queues fill
    """

    handled_share: float
    pressed_share: float
    arrived_per_s: float
    own_share: float = 1.0

    @property
    def json(self) -> list[float]:
        return [
            round(self.handled_share, 4),
            round(self.pressed_share, 4),
            round(self.arrived_per_s, 2),
            self.own_share,
        ]

    @property
    def kept_up_share(self) -> float:
        """To have caught up is no merit of a configuration."""
        return min(1.0, self.own_share)


def judged(before: Health, after: Health, was_scale_down: bool) -> Outcome:
    """A scale-down is to do no harm, anything else is to help; where the load has moved nobody can tell (C12).

    >>> str(judged(Health(0.8, 0.2, 100.0), Health(0.99, 0.0, 105.0), was_scale_down=False))
    'helped'
    """
    if not is_similar(before.arrived_per_s, after.arrived_per_s):
        return Outcome.UNCLEAR
    if was_scale_down:
        well = after.pressed_share == 0 and after.kept_up_share >= before.kept_up_share - 0.01
    else:
        halved = before.pressed_share > 0 and after.pressed_share <= before.pressed_share / 2
        well = halved or after.handled_share > before.handled_share * 1.02
    return Outcome.HELPED if well else Outcome.FRUITLESS


def is_similar(a_per_s: float, b_per_s: float) -> bool:
    return abs(a_per_s - b_per_s) <= SIMILAR * max(a_per_s, 1e-12)


@dataclass(frozen=True, slots=True)
class Entry:
    what: str  # the diagnosis, its component and the action
    arrived_per_s: float
    tries: int = 0
    fruitless: int = 0

    @property
    def json(self) -> list[Any]:
        return [self.what, round(self.arrived_per_s, 2), self.tries, self.fruitless]


@dataclass(frozen=True, slots=True)
class Blacklist:
    """
    >>> slow = "slow instances|words/count|restart"
    >>> after = Blacklist().counted(slow, 100.0, Outcome.FRUITLESS)
    >>> after.lists(slow, 110.0, 0.5), after.lists(slow, 200.0, 0.5), after.lists(slow, 110.0, 1.0)
    (True, False, False)
    """

    entries: tuple[Entry, ...] = ()

    @classmethod
    def of(cls, json: Sequence[Sequence[Any]]) -> Blacklist:
        return cls(tuple(Entry(*fields) for fields in json))

    @property
    def json(self) -> list[list[Any]]:
        return [entry.json for entry in self.entries]

    def counted(self, what: str, arrived_per_s: float, outcome: Outcome) -> Blacklist:
        if outcome is Outcome.UNCLEAR:
            return self
        found = self._similar(what, arrived_per_s) or Entry(what, arrived_per_s)
        after = replace(found, tries=found.tries + 1, fruitless=found.fruitless + (outcome is Outcome.FRUITLESS))
        return Blacklist((*(e for e in self.entries if e is not found), after)[-MOST_ENTRIES:])

    def lists(self, what: str, arrived_per_s: float, threshold: float) -> bool:
        found = self._similar(what, arrived_per_s)
        return found is not None and found.fruitless / found.tries > threshold

    def _similar(self, what: str, arrived_per_s: float) -> Entry | None:
        return next((e for e in self.entries if e.what == what and is_similar(e.arrived_per_s, arrived_per_s)), None)
