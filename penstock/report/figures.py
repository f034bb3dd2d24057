"""Key figures of a run, each with how it is known."""

from __future__ import annotations

from html import escape

from penstock.changes import Target
from penstock.observe.snapshot import How
from penstock.observe.summary import ComponentTotals
from penstock.report.record import RunRecord
from penstock.report.wording import MEANING, percent, plural, seconds, short, whole

ALIKE_SHARE = 0.01
QUANTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


def how_mark(how: How, of: str = "") -> str:
    return f'<span class="how {how}" title="{escape(MEANING[how])}">{how}{of}</span>'


def tiles(record: RunRecord, target: Target) -> str:
    """The figures of one component, as large as they matter."""
    totals, arrivals = record.seen.totals.components[target], record.seen.series[target].arrivals_how
    mean_instances = totals.instance_seconds / totals.seconds if totals.seconds else None
    found = [
        ("rows in", whole(totals.rows_in), _known(totals.rows_in, arrivals)),
        ("rows completed", whole(totals.rows_completed), How.EXACT),
        ("rows out", whole(totals.rows_out), _known(totals.rows_out, How.EXACT)),
        ("pending at the end", whole(totals.pending), _known(totals.pending, arrivals)),
        ("batches", whole(totals.batches), How.EXACT),
        ("mean instances", short(mean_instances), _known(mean_instances, How.EXACT)),
        ("instance-seconds", whole(totals.instance_seconds), How.EXACT),
    ]
    if totals.rows_dropped:
        found.append(("dropped, too late", whole(totals.rows_dropped), How.EXACT))
    late = latency_tiles(totals, untimed_rows(record, target))
    return f'<dl class="tiles">{"".join(_tile(*f) for f in found)}</dl>{late}'


def latency_tiles(totals: ComponentTotals, untimed_rows: float) -> str:
    how, of = latency_how(totals), _share_timed(totals, untimed_rows)
    found = [("mean latency", totals.latency.mean_s), *((n, totals.latency.quantile_s(q)) for n, q in QUANTILES)]
    found.append(("max", totals.latency.max_s if totals.latency.count else None))
    shown = "".join(_tile(name, seconds(v), how, of) for name, v in found)
    return f'<dl class="tiles late">{shown}</dl>{_from_arrival(totals)}'


def _from_arrival(totals: ComponentTotals) -> str:
    """Rows that carry the time they came into being have waited before they arrived."""
    whole_s, since_s = totals.latency.mean_s, totals.arrival_latency.mean_s
    if whole_s is None or since_s is None or abs(whole_s - since_s) <= ALIKE_SHARE * whole_s:
        return ""
    p95 = seconds(totals.arrival_latency.quantile_s(0.95))
    return (
        '<p class="quiet">These count from when the rows came into being. From when Spark could first read them: '
        f"mean {seconds(since_s)}, p95 {p95}.</p>"
    )


def _share_timed(totals: ComponentTotals, untimed_rows: float) -> str:
    timed = totals.latency.count
    return f", {percent(timed / (timed + untimed_rows))} of rows" if timed and untimed_rows else ""


def latency_how(totals: ComponentTotals) -> How:
    return totals.how if totals.latency.count else How.UNKNOWN


def _known(value: float | None, how: How) -> How:
    return How.UNKNOWN if value is None else how


def untimed_rows(record: RunRecord, target: Target) -> float:
    return sum(s.untimed_rows for s in record.seen.series[target].slices)


def _tile(name: str, value: str, how: How, of: str = "") -> str:
    shown = "–" if how is How.UNKNOWN else value
    return f"<div><dt>{escape(name)}</dt><dd>{escape(shown)}{how_mark(how, of)}</dd></div>"


def overview(record: RunRecord) -> str:
    """All components of a run, a line each."""
    head = "".join(f"<th>{h}" for h in ("Component", *_COLUMNS))
    rows = "".join(_overview_row(record, t) for t in record.targets)
    table = f'<table class="numbers"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="wide">{table}</div>'


_COLUMNS = ("rows in", "rows out", "pending", "mean", "p95", "p99", "max", "known", "mean instances", "batches")


def _overview_row(record: RunRecord, target: Target) -> str:
    totals = record.seen.totals.components[target]
    late = totals.latency
    values = (
        whole(totals.rows_in),
        whole(totals.rows_out),
        whole(totals.pending),
        *(seconds(v) for v in (late.mean_s, late.quantile_s(0.95), late.quantile_s(0.99))),
        seconds(late.max_s if late.count else None),
        how_mark(latency_how(totals)),
        short(totals.instance_seconds / totals.seconds if totals.seconds else None),
        whole(totals.batches),
    )
    name = f'<a href="#{anchor(target)}">{escape(target.component)}</a>'
    return f"<tr><td>{name}{''.join(f'<td>{v}' for v in values)}</tr>"


def anchor(target: Target) -> str:
    """
    >>> from penstock.ids import ComponentId, TopologyId
    >>> anchor(Target(TopologyId("my app"), ComponentId("a/b")))
    'my-app-a-b'
    """
    return "".join(c if c.isalnum() else "-" for c in f"{target.topology}-{target.component}")


def notes(record: RunRecord) -> list[str]:
    """What a reader must know to judge the figures, one sentence each."""
    seen, found = record.seen, []
    for target in record.targets:
        totals, untimed, name = seen.totals.components[target], untimed_rows(record, target), target.component
        if totals.parked:
            found.append(f"{name}: some of its work is parked: it is sleep that the job asked for, and burns no CPU.")
        if target in seen.refused_why:
            found.append(f"{name} was measured, and not regulated: {seen.refused_why[target]}.")
        if untimed:
            share = percent(untimed / (totals.latency.count + untimed))
            found.append(f"{name}: how late {share} of its completed rows were is unknown; latency is of the others.")
        if totals.rows_dropped:
            found.append(
                f"{name}: {whole(totals.rows_dropped)} rows came behind the watermark, and Spark dropped them."
            )
    if seen.missed_facts:
        found.append(f"{plural(seen.missed_facts, 'fact')} of the driver were missed: sums may be too low.")
    return found
