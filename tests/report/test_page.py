"""The page says what was seen, says unknown where nothing was, and needs nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from penstock.action_log import Entry, Event
from penstock.changes import Target
from penstock.ids import ComponentId
from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import ComponentSeen, How, Snapshot
from penstock.report.page import page
from penstock.report.record import RunRecord
from tests.report.example import (
    APPLICATION,
    COUNT,
    SPLIT,
    START_S,
    assign,
    batch,
    change,
    deployment,
    in_force,
    record,
    refused,
    seen,
    snapshots,
    taken,
)

VOID = {"meta", "i", "path", "rect"}
OPTIONAL_END = {"li", "td", "th", "html"}


class _Balance(HTMLParser):
    """Which elements were closed in the wrong order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.outside += [f"{name}={value}" for name, value in attrs if _leads_outside(name, value or "")]
        if tag not in {"meta"} | OPTIONAL_END:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag in OPTIONAL_END:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def _leads_outside(name: str, value: str) -> bool:
    return name in ("src", "srcset", "data") or (name in ("href", "action") and not value.startswith("#"))


def checked(run: RunRecord) -> str:
    """The page, and every page holds this."""
    text = page(run)
    balance = _Balance()
    balance.feed(text)
    assert not balance.wrong and not balance.open
    assert not balance.outside
    assert "@import" not in text and "url(" not in text and "http" not in text.replace("http-equiv", "")
    assert not re.search(r'(d|style)="[^"]*(nan|inf|None)', text)
    return text


def text_of(html: str) -> str:
    visible = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", visible))


def test_page_shows_the_figures_and_how_each_is_known() -> None:
    text = text_of(checked(record(list(snapshots(60, COUNT)), known=deployment(["count"]))))
    for figure in (
        "rows in 6,000 exact",
        "rows completed 6,000 exact",
        "rows out 600 exact",
        "pending at the end 20 exact",
    ):
        assert figure in text
    assert "mean latency 400 ms exact" in text and "mean instances 2 exact" in text and "instance-seconds 120" in text
    assert "the job ended by itself" in text and "watched for 1 min 0 s" in text and "shop.py --fast" in text


def test_latency_from_ingress_stands_beside_that_from_arrival() -> None:
    late = LatencyHistogram.of([0.1], [100.0])
    steps = [
        replace(s, components={COUNT: replace(s.components[COUNT], arrival_latency=late)}) for s in snapshots(9, COUNT)
    ]
    text = text_of(checked(record(steps, known=deployment(["count"]))))
    assert "From when Spark could first read them: mean 100 ms, p95" in text


def test_unknown_is_said_and_never_drawn() -> None:
    nothing = ComponentSeen(rows_completed=50.0, batches=(batch(0, START_S + 1, None),))
    steps = [Snapshot(START_S + i, START_S + i + 1, {COUNT: nothing}) for i in range(20)]
    html = checked(record(steps, known=deployment(["count"])))
    text = text_of(html)
    assert "rows in – unknown" in text and "mean latency – unknown" in text and "pending at the end – unknown" in text
    assert "how late 100% of its completed rows were is unknown" in text
    assert 'class="gap"' in html
    assert not re.search(r'class="line (in|mean|p95)"', html)


def test_rows_without_a_latency_are_told_apart_from_those_with_one() -> None:
    timed, untimed = list(snapshots(30, COUNT)), list(snapshots(30, COUNT, latency_s=None))
    later = [replace(s, start_s=s.start_s + 30, end_s=s.end_s + 30) for s in untimed]
    text = text_of(checked(record([*timed, *later], objective="mean latency < 1s", known=deployment(["count"]))))
    assert "mean latency 400 ms exact, 50% of rows" in text
    assert "Of 3,000 rows nobody knows how late they were" in text


@pytest.mark.parametrize(
    ("objective", "word", "share"),
    [("p95 latency < 2s", "Always kept", "100%"), ("mean latency < 100ms", "Never kept", "0%")],
)
def test_verdict_in_words_and_numbers(objective: str, word: str, share: str) -> None:
    text = text_of(checked(record(list(snapshots(60, COUNT)), objective=objective, known=deployment(["count"]))))
    assert f"{word} : it held in" in text and f"{share} " in text


def test_an_objective_that_nothing_tells_about_is_unknown() -> None:
    steps = list(snapshots(10, COUNT))
    text = text_of(checked(record(steps, objective="juice >= 0.9", known=deployment(["count"]))))
    assert "Unknown : juice is a figure of a whole topology" in text


def test_changes_stand_in_the_table_with_what_came_of_them() -> None:
    wide, wider, third = change(1, 4), change(2, 9), change(3, 3)
    entries = (
        taken(wide, 5.0),
        in_force(wide, 6.0),
        refused(wider, 8.0, "1 to 4 are possible"),
        taken(third, 9.0),
        Entry(START_S + 10, Event.ALERT, "schedule", "no such component"),
    )
    html = checked(record(list(snapshots(20, COUNT)), entries, known=deployment(["count"])))
    text = text_of(html)
    assert "5.0 s count: 4 instances the load rose schedule in force from batch 7 250 ms" in text
    assert "8.0 s count: 9 instances the load rose schedule refused: 1 to 4 are possible" in text
    assert "9.0 s count: 3 instances the load rose schedule taken; whether it came into force is unknown" not in text
    assert "10.0 s no such component" in text and "3 changes, 1 in force" in text
    assert "6.0 s: count: 4 instances\nthe load rose (schedule)\nin force from batch 7" in html


def test_moved_substreams_are_counted_from_one_assignment_to_the_next() -> None:
    entries = (taken(assign(1, 0, 1, 0, 1), 1.0), taken(assign(2, 0, 1, 2, 1), 2.0))
    text = text_of(checked(record(list(snapshots(5, COUNT)), entries, known=deployment(["count"]))))
    assert "count: 2 instances by chance" in text and "count: 3 instances, 1 substream moved" in text


def test_many_changes_are_a_click_away() -> None:
    asked = [change(i, 1 + i % 4) for i in range(40)]
    entries = [e for i, c in enumerate(asked) for e in (taken(c, i), in_force(c, i + 0.5))]
    html = checked(record(list(snapshots(50, COUNT)), entries, known=deployment(["count"])))
    assert "<summary>28 more changes</summary>" in html


def test_several_components_get_a_drawing_and_a_table() -> None:
    html = checked(record(list(snapshots(20, SPLIT, COUNT))))
    assert 'class="topology"' in html and html.count('class="plots"') == 2
    assert html.index('id="shop-split"') < html.index('id="shop-count"')


def test_what_a_reader_must_know_is_noted() -> None:
    parked = replace(seen(0, START_S + 1), parked=True, rows_dropped=7.0)
    known = deployment(["count"], unregulated="continuous processing")
    steps = [Snapshot(START_S, START_S + 1, {COUNT: parked}, missed_facts=3)]
    text = text_of(checked(record(steps, known=known)))
    assert "some of its work is parked" in text
    assert "not regulated: continuous processing" in text
    assert "7 rows came behind the watermark" in text
    assert "3 facts of the driver were missed" in text


def test_a_run_without_queries_says_so() -> None:
    assert "No streaming query was seen" in text_of(checked(record([])))


def test_names_and_reasons_cannot_inject_anything() -> None:
    nasty = Target(APPLICATION, ComponentId("<script>alert(1)</script>"))
    asked = replace(change(1, 2, nasty), why='"><img src=x>')
    run = record(
        list(snapshots(5, nasty)), (taken(asked, 1.0), in_force(asked, 2.0)), known=deployment([nasty.component])
    )
    html = checked(replace(run, name="</title><b>", command=("a b", "<i>")))
    assert "<script>alert" not in html and "<img" not in html and "</title><b>" not in html


def test_a_long_run_makes_no_long_page() -> None:
    asked = [change(i, 1 + i % 4) for i in range(1000)]
    entries = [e for i, c in enumerate(asked) for e in (taken(c, i), in_force(c, i + 0.5))]
    html = checked(record(list(snapshots(5000, COUNT)), entries, "p95 latency < 300ms", deployment(["count"])))
    assert len(html) < 600_000
    assert "too many to mark" in html
    assert "500 more are in actions.jsonl" in html


def test_arrivals_say_how_they_are_known() -> None:
    steps = [
        replace(s, components={COUNT: replace(s.components[COUNT], arrivals_how=How.BOUND, latency_how=How.BOUND)})
        for s in snapshots(10, COUNT)
    ]
    text = text_of(checked(record(steps, known=deployment(["count"]))))
    assert "arrivals bound" in text and "rows in 1,000 bound" in text and re.search(r"p95 \d+ ms bound", text)
