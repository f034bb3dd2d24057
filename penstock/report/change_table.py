"""What was changed, why, and what came of it: the action log as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape

from penstock.action_log import Entry, Event
from penstock.changes import (
    Assign,
    Cap,
    Change,
    Containers,
    Part,
    Place,
    Receipt,
    Rescale,
    Restart,
    Revert,
    Status,
    Target,
)
from penstock.report.scale import TimeScale
from penstock.report.wording import moment, plural, seconds
from penstock.topology.assignment import Assignment, moved

SHOWN = 12  # the rest is a click away
MOST = 500  # what nobody reads to the end need not make the page heavy


@dataclass(frozen=True, slots=True)
class Told:
    """A change with the last that is known of it."""

    at_s: float
    by: str
    what: str
    why: str
    targets: tuple[Target, ...] = ()
    change: Change | None = None
    receipt: Receipt | None = None
    refused: str | None = None

    @property
    def in_force_s(self) -> float | None:
        return self.receipt.at_s if self.receipt and self.receipt.status is Status.IN_FORCE else None


def changes_told(entries: Iterable[Entry]) -> tuple[Told, ...]:
    told: dict[str, Told] = {}
    assigned: dict[Target, Assignment] = {}
    for i, entry in enumerate(entries):
        change = entry.change
        if entry.event is Event.CHANGE and change is not None:
            told[change.id] = _asked(entry, change, assigned)
        elif entry.event is Event.REFUSED and change is not None:
            refused = replace(_asked(entry, change, {}), why=change.why, refused=entry.why)
            told[f"{change.id} refused {i}"] = refused
        elif entry.event is Event.RECEIPT and entry.receipt is not None:
            before = told.get(entry.receipt.change)
            known = before or Told(entry.at_s, entry.by, str(entry.receipt.change), entry.why)
            told[entry.receipt.change] = replace(known, receipt=entry.receipt)
    return tuple(told.values())


def _asked(entry: Entry, change: Change, assigned: dict[Target, Assignment]) -> Told:
    """`assigned` is kept up to date."""
    what = "; ".join(_what(part, assigned) for part in change.parts) or "nothing"
    targets = tuple(part.target for part in change.parts if not isinstance(part, Containers | Revert))
    for part in change.parts:
        if isinstance(part, Assign):
            assigned[part.target] = part.assignment
        elif isinstance(part, Rescale):
            assigned.pop(part.target, None)
    return Told(entry.at_s, change.asked_by, what, change.why, targets, change, entry.receipt)


def _what(part: Part, assigned: dict[Target, Assignment]) -> str:
    match part:
        case Rescale(target, parallelism):
            return f"{target.component}: {plural(parallelism, 'instance')}"
        case Assign(target, assignment):
            return _what_assigned(target, assignment, assigned.get(target))
        case Place(target, containers):
            return f"{target.component}: placed on {', '.join(containers)}"
        case Restart(target, instance):
            return f"{target.component}: restart {'all' if instance is None else f'instance {instance}'}"
        case Cap(target, rows):
            return f"{target.component}: {'no cap' if rows is None else f'at most {rows:,} rows a batch'}"
        case Containers(count, kind):
            return plural(count, f"{kind} container" if kind else "container")
        case Revert(to_before):
            return f"back to before {to_before}"


def _what_assigned(target: Target, after: Assignment, before: Assignment | None) -> str:
    over = plural(after.parallelism, "instance")
    if before is None or before.substreams != after.substreams:
        return f"{target.component}: {over}"
    return f"{target.component}: {over}, {plural(len(moved(before, after)), 'substream')} moved"


def outcome(told: Told) -> str:
    if told.refused is not None:
        return f"refused: {told.refused}"
    receipt = told.receipt
    if receipt is None:
        return "unknown"
    if receipt.status is Status.TAKEN:
        return "taken; whether it came into force is unknown"
    if receipt.status is not Status.IN_FORCE:
        return f"{receipt.status}: {receipt.reason or 'no reason given'}"
    batch = "in force" if receipt.batch is None else f"in force from batch {receipt.batch}"
    return f"{batch}{_moved(receipt)}"


def _moved(receipt: Receipt) -> str:
    count = receipt.moved_substreams
    return f", {plural(count, 'substream')} moved" if count is not None else ""


def cost(told: Told) -> str:
    receipt = told.receipt
    if receipt is None or receipt.status is not Status.IN_FORCE:
        return "–"
    return "none" if receipt.cost_s == 0 else seconds(receipt.cost_s)


def table(told: Sequence[Told], time: TimeScale) -> str:
    if not told:
        return '<p class="quiet">Nothing was changed.</p>'
    head = "<thead><tr><th>When<th>What<th>Why<th>What came of it<th>Cost</tr></thead>"
    first, rest, left = told[:SHOWN], told[SHOWN:MOST], len(told) - MOST
    beyond = f'<p class="quiet">{left} more are in actions.jsonl</p>' if left > 0 else ""
    listed = f"{_rows(rest, time, head)}{beyond}"
    more = f"<details><summary>{plural(len(told) - SHOWN, 'more change')}</summary>{listed}</details>"
    return f"{_rows(first, time, head)}{more if rest else ''}"


def _rows(told: Sequence[Told], time: TimeScale, head: str) -> str:
    rows = "".join(_row(t, time) for t in told)
    return f'<div class="wide"><table class="changes">{head}<tbody>{rows}</tbody></table></div>'


def _row(told: Told, time: TimeScale) -> str:
    why = f'{escape(told.why)} <span class="by">{escape(told.by)}</span>'
    cells = (moment(max(0.0, told.at_s - time.start_s)), escape(told.what), why, escape(outcome(told)), cost(told))
    css = ' class="refused"' if told.refused is not None else ""
    return f"<tr{css}>{''.join(f'<td>{c}' for c in cells)}</tr>"
