"""The page: heading, verdicts, figures, pictures, changes, and how everything is known."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

from penstock.action_log import Event
from penstock.changes import Target
from penstock.observe.snapshot import How
from penstock.report.change_table import Told, changes_told, table
from penstock.report.component import Component, plots
from penstock.report.drawing import drawing
from penstock.report.figures import anchor, how_mark, notes, overview, tiles
from penstock.report.instances import instance_bars
from penstock.report.record import RunRecord
from penstock.report.script import SCRIPT
from penstock.report.style import STYLE
from penstock.report.verdict import Verdict, cards, verdicts
from penstock.report.wording import MEANING, length, moment, plural

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

EXPLAINED = (
    "Latency of a row: from when it came into being, or where rows do not carry that time from its arrival, when the "
    "job could first read it; to the end of its batch’s addBatch, when its output is visible.",
    "An objective is judged over windows as long as it says, one ending each second. A window in which nothing was "
    "completed counts by the age of the oldest pending row; one with nothing pending does not count.",
    "Parallelism is how many instances the component’s work was spread over; an instance-second is one of them for "
    "one second.",
    "The cost of a change is what the first batch under it took longer than the batches before it.",
    "Times are counted from Spark’s start.",
)


def page(record: RunRecord) -> str:
    told = changes_told(record.entries)
    judged = verdicts(record)
    body = "".join(
        (
            _heading(record, told),
            _section("Objectives", cards(record, judged)) if record.targets else "",
            _notes(record),
            _pictures(record),
            "".join(_component(record, t, judged, told) for t in record.targets),
            _section("Changes", table(told, record.seen.time)) if record.targets else "",
            _explained(),
        )
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(record.name)} under Penstock</title><style>{STYLE}</style>"
        f"<body><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _heading(record: RunRecord, told: Sequence[Told]) -> str:
    started = datetime.fromtimestamp(record.started_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    took = sum(t.in_force_s is not None for t in told)
    facts = (
        started,
        f"watched for {length(record.seen.time.length_s)}" if record.targets else "",
        record.ended,
        f"{plural(len(told), 'change')}, {took} in force" if told else "no changes",
    )
    line = " · ".join(escape(f) for f in facts if f)
    nothing = "" if record.targets else '<p class="quiet">No streaming query was seen in this run.</p>'
    command = f"<pre><code>{escape(shlex.join(record.command))}</code></pre>" if record.command else ""
    return f"<header><h1>{escape(record.name)}</h1><p>{line}</p>{command}{nothing}</header>"


def _notes(record: RunRecord) -> str:
    start_s = record.seen.time.start_s
    alerts = [
        f"<b>{moment(max(0.0, e.at_s - start_s))}</b> {escape(e.why)} <span class='by'>{escape(e.by)}</span>"
        for e in record.entries
        if e.event is Event.ALERT
    ]
    found = [*map(escape, notes(record)), *alerts]
    if not found:
        return ""
    return _section("To be noted", f'<ul class="notes">{"".join(f"<li>{n}" for n in found)}</ul>')


def _pictures(record: RunRecord) -> str:
    if len(record.targets) < 2 or record.seen.deployment is None:
        return ""
    drawn = "".join(drawing(t) for t in record.seen.deployment.topologies.values())
    return _section("Topology", f"{drawn}{overview(record)}")


def _component(record: RunRecord, target: Target, judged: Sequence[Verdict], told: Sequence[Told]) -> str:
    mine = tuple(t for t in told if t.in_force_s is not None and (target in t.targets or not t.targets))
    component = Component(
        record.seen.series[target],
        tuple(v for v in judged if v.target == target),
        mine,
        record.seen.time,
    )
    return (
        f'<section id="{anchor(target)}"><h2>{escape(target.component)}</h2>'
        f"{tiles(record, target)}{plots(component)}{instance_bars(component.series)}</section>"
    )


def _explained() -> str:
    hows = "".join(f"<li>{how_mark(how)} {escape(MEANING[how])}" for how in How)
    said = "".join(f"<li>{sentence}" for sentence in EXPLAINED)
    return f"<footer><h2>How to read this</h2><ul>{hows}{said}</ul></footer>"
