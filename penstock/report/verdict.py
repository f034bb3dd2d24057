"""Was each objective kept? In numbers, in words, and when it was not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import groupby

from penstock.changes import Target
from penstock.objectives.objective import Juice, Latency, Objective, Throughput
from penstock.objectives.parse import text_of
from penstock.objectives.success import Success, Windows, success_share, windows
from penstock.report.plot import Span, boxes, path
from penstock.report.record import RunRecord
from penstock.report.scale import TimeScale
from penstock.report.wording import percent, plural, whole

EVERY_S = 1.0  # windows end every second, as the definition of the share has it
MOST_SPANS = 600
WORDS = ((1.0, "always kept"), (0.99, "nearly always kept"), (0.9, "mostly kept"), (0.5, "often broken"))


@dataclass(frozen=True, slots=True)
class Verdict:
    target: Target
    objective: Objective
    success: Success
    windows: Windows
    untimed_rows: float  # completed, and nobody knows how late

    @property
    def text(self) -> str:
        return text_of(self.objective)

    @property
    def word(self) -> str:
        return word_of(self.success.share)


def word_of(share: float | None) -> str:
    """
    >>> word_of(1.0), word_of(0.93), word_of(0.2), word_of(0.0), word_of(None)
    ('always kept', 'mostly kept', 'mostly broken', 'never kept', 'unknown')
    """
    if share is None:
        return "unknown"
    return next((word for least, word in WORDS if share >= least), "mostly broken" if share > 0 else "never kept")


def verdicts(record: RunRecord) -> tuple[Verdict, ...]:
    return tuple(_verdict(record, t, o) for t in record.targets for o in record.objectives_of(t))


def _verdict(record: RunRecord, target: Target, objective: Objective) -> Verdict:
    totals = record.seen.totals.components[target]
    timeline = totals.timeline(record.seen.time.start_s, record.seen.time.end_s)
    untimed = sum(s.untimed_rows for s in record.seen.series[target].slices)
    judged = success_share(objective, [timeline], EVERY_S)
    return Verdict(target, objective, judged, windows(objective, timeline, EVERY_S), untimed)


def spans(found: Windows, held: bool) -> list[tuple[float, float]]:
    """Stretches of seconds in which the objective was kept, or broken. Of a long run several seconds are one, and
    broken where one of them was."""
    each = max(1, -(-len(found.end_s) // MOST_SPANS))
    groups = [slice(i, i + each) for i in range(0, len(found.end_s), each)]
    state = [bool(found.held[g].sum() == found.sampled[g].sum()) if found.sampled[g].any() else None for g in groups]
    runs = [list(run) for _, run in groupby(range(len(groups)), lambda i: state[i])]
    edges = [(found.end_s[groups[r[0]]][0] - EVERY_S, found.end_s[groups[r[-1]]][-1], state[r[0]]) for r in runs]
    return [(float(a), float(b)) for a, b, s in edges if s is held]


def across(found: Iterable[tuple[float, float]], time: TimeScale) -> list[Span]:
    return [(time.at(a), time.at(b)) for a, b in found]


def cards(record: RunRecord, found: tuple[Verdict, ...]) -> str:
    if record.objectives is None:
        return (
            '<p class="quiet">Which objectives were set is unknown: the run was cut off before it wrote them down.</p>'
        )
    if not found:
        return (
            '<p class="quiet">No objective was set: nothing to keep, nothing to break. '
            "<code>penstock run --objective &quot;p95 latency &lt; 2s&quot;</code> sets one.</p>"
        )
    return "".join(_card(v, record.seen.time, len(record.targets) > 1) for v in found)


def _card(verdict: Verdict, time: TimeScale, named: bool) -> str:
    of = f'<span class="of">{escape(verdict.target.component)}</span> ' if named else ""
    drawn = "".join(
        path(boxes((s, (0.0, 1.0)) for s in across(spans(verdict.windows, held), time)), css)
        for held, css in ((True, "held"), (False, "broken"))
    )
    return (
        f'<section class="verdict"><div class="share">{percent(verdict.success.share)}</div>'
        f"<div><h3>{of}{escape(verdict.text)}</h3><p>{_sentence(verdict)}</p>"
        f'<svg class="kept" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" '
        f'aria-label="when it was kept">{drawn}</svg></div></section>'
    )


def _sentence(verdict: Verdict) -> str:
    if isinstance(verdict.objective, Juice):
        return "<b>Unknown</b>: juice is a figure of a whole topology, which this page does not judge."
    if verdict.success.share is None:
        return f"<b>Unknown</b>: no window tells. {_untimed(verdict)}"
    samples = verdict.success.samples
    kept = round(verdict.success.share * samples)
    by_rows = verdict.success.row_weighted_share
    rows = f" Weighed by rows: {percent(by_rows)} of them were completed in a window that kept it." if by_rows else ""
    per = " Judged over the component as a whole." if _per_substream(verdict.objective) else ""
    return (
        f"<b>{verdict.word.capitalize()}</b>: it held in {kept:,} of {plural(samples, 'window')}, "
        f"one ending each second.{rows}{per} {_untimed(verdict)}"
    )


def _per_substream(objective: Objective) -> bool:
    return isinstance(objective, Latency) and objective.per_substream


def _untimed(verdict: Verdict) -> str:
    if not verdict.untimed_rows:
        return ""
    rows = whole(verdict.untimed_rows)
    if isinstance(verdict.objective, Throughput):
        return f"It leaves out {rows} rows of unknown latency: that many may be missing."
    return f"Of {rows} rows nobody knows how late they were."
