"""The action log: what was asked, why, and what came of it. Entries are only ever added.

change    a policy's change that the engine took, with the engine's first answer
refused   a change that the gate or the engine refused, with the reason
receipt   what became of a change, as a later snapshot told
alert     for people
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from penstock.changes import (
    Assign,
    Cap,
    Change,
    Containers,
    Part,
    PartKind,
    Place,
    Receipt,
    Rescale,
    Restart,
    Revert,
    Status,
    Target,
    kind_of,
)
from penstock.files import append_json_line, read_json_lines
from penstock.ids import ChangeId, ComponentId, TopologyId
from penstock.topology.assignment import Assignment

KEPT_IN_MEMORY = 10_000  # a change every 10 s for a day; the file keeps all


class Event(StrEnum):
    CHANGE = "change"
    REFUSED = "refused"
    RECEIPT = "receipt"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Entry:
    """`by` is a policy, or the engine; `why` one sentence for a person."""

    at_s: float
    event: Event
    by: str
    why: str
    change: Change | None = None
    receipt: Receipt | None = None


class ActionLog:
    """
    >>> log = ActionLog()
    >>> log.append(Entry(10.0, Event.ALERT, "schedule", "no such component"))
    >>> [entry.why for entry in log.newest(5)]
    ['no such component']
    """

    def __init__(self, path: Path | None = None, kept: int = KEPT_IN_MEMORY) -> None:
        self._path = path
        self._recent: deque[Entry] = deque(maxlen=kept)

    def append(self, entry: Entry) -> None:
        self._recent.append(entry)
        if self._path is not None:
            append_json_line(self._path, json_of(entry))

    def newest(self, count: int) -> tuple[Entry, ...]:
        """Newest first."""
        return tuple(islice(reversed(self._recent), count))

    def last_hours(self, hours: float, now_s: float) -> tuple[Entry, ...]:
        """Newest first."""
        return tuple(e for e in reversed(self._recent) if e.at_s >= now_s - hours * 3600)


def read_log(path: Path) -> tuple[Entry, ...]:
    """Every entry of a file, oldest first."""
    return tuple(entry_of(line) for line in read_json_lines(path)) if path.exists() else ()


def json_of(entry: Entry) -> dict[str, Any]:
    said = {"at_s": entry.at_s, "event": entry.event.value, "by": entry.by, "why": entry.why}
    change = {"change": _json_of_change(entry.change)} if entry.change else {}
    receipt = {"receipt": dataclasses.asdict(entry.receipt)} if entry.receipt else {}
    return {**said, **change, **receipt}


def entry_of(line: Mapping[str, Any]) -> Entry:
    return Entry(
        line["at_s"],
        Event(line["event"]),
        line["by"],
        line["why"],
        _change_of(line["change"]) if "change" in line else None,
        _receipt_of(line["receipt"]) if "receipt" in line else None,
    )


_PARTS: Mapping[PartKind, type[Part]] = {
    PartKind.RESCALE: Rescale,
    PartKind.ASSIGN: Assign,
    PartKind.PLACE: Place,
    PartKind.RESTART: Restart,
    PartKind.CAP: Cap,
    PartKind.CONTAINERS: Containers,
    PartKind.REVERT: Revert,
}


def _json_of_change(change: Change) -> dict[str, Any]:
    parts = [{"part": kind_of(part).value, **dataclasses.asdict(part)} for part in change.parts]
    return {"id": change.id, "why": change.why, "asked_by": change.asked_by, "parts": parts}


def _change_of(line: Mapping[str, Any]) -> Change:
    return Change(ChangeId(line["id"]), tuple(map(_part_of, line["parts"])), line["why"], line["asked_by"])


def _part_of(line: Mapping[str, Any]) -> Part:
    given = {key: value for key, value in line.items() if key != "part"}
    kind = PartKind(line["part"])
    if "target" in given:
        target = given["target"]
        given["target"] = Target(TopologyId(target["topology"]), ComponentId(target["component"]))
    if kind is PartKind.ASSIGN:
        given["assignment"] = Assignment(tuple(given["assignment"]["instance_of"]))
    if kind is PartKind.PLACE:
        given["containers"] = tuple(given["containers"])
    return _PARTS[kind](**given)


def _receipt_of(line: Mapping[str, Any]) -> Receipt:
    return Receipt(**{**line, "status": Status(line["status"])})
