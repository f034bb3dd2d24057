"""A component over time: its plots, all on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from penstock.objectives.objective import Latency
from penstock.observe.snapshot import How
from penstock.report.batches import durations
from penstock.report.change_table import Told
from penstock.report.instances import instance_strip, substream_strip
from penstock.report.parallelism import parallelism
from penstock.report.plot import (
    Key,
    Plot,
    Point,
    Span,
    area,
    boxes,
    figure,
    line,
    over_label,
    path,
    time_axis,
    unknown,
    upright,
)
from penstock.report.scale import Linear, Scale, TimeScale, latency_scale
from penstock.report.series import ComponentSeries, Slice, coarser
from penstock.report.verdict import Verdict, across, spans
from penstock.report.wording import seconds, short

FEW_CHANGES = 16  # so many can run through all plots and not hide them


@dataclass(frozen=True, slots=True)
class Component:
    """What is drawn of one component; `changes` are those that came into force."""

    series: ComponentSeries
    verdicts: tuple[Verdict, ...]
    changes: tuple[Told, ...]
    time: TimeScale


def plots(component: Component) -> str:
    series, time = component.series, component.time
    drawn = (
        _rates(series, time),
        _pending(series, time),
        _latency(component),
        parallelism(series, component.changes, time),
        durations(series.bars, time),
        instance_strip(series, time),
        substream_strip(series, time),
    )
    found = "".join(figure(_with_changes(p, component), time) for p in drawn if p is not None)
    return f'<div class="plots">{found}{time_axis(time)}</div>'


def _with_changes(plot: Plot, component: Component) -> Plot:
    if not 0 < len(component.changes) <= FEW_CHANGES:
        return plot
    at = [component.time.at(t.in_force_s) for t in component.changes if t.in_force_s is not None]
    return replace(plot, marks=(path(upright(at), "changed"), *plot.marks))


def _rates(series: ComponentSeries, time: TimeScale) -> Plot:
    window_s = series.rate_window_s
    pieces = coarser(series.slices, window_s)
    at_s = [(p.start_s + p.end_s) / 2 for p in pieces]
    arrived = [p.per_s(p.rows_arrived) for p in pieces]
    done = [p.per_s(p.rows_completed) for p in pieces]
    scale = Linear.up_to(_highest(arrived, done), short)
    gaps = _spans(pieces, [p.rows_arrived is None for p in pieces], time)
    return Plot(
        "Rows per second",
        scale.ticks,
        (
            unknown(gaps, "arrivals"),
            path(line(_points(at_s, arrived, scale, time)), "line in"),
            path(line(_points(at_s, done, scale, time)), "line out"),
        ),
        (Key("arrived", "in", arrived), Key("completed", "out", done), *_unknown_key(gaps)),
        at_s,
        "rows/s",
        note=f"means over {window_s:.3g} s; arrivals {_known(series.arrivals_how)}",
    )


def _pending(series: ComponentSeries, time: TimeScale) -> Plot:
    slices = series.slices
    at_s, pending = [s.end_s for s in slices], [s.rows_pending for s in slices]
    scale = Linear.up_to(_highest(pending), short, least_step=1)
    points = _points(at_s, pending, scale, time)
    gaps = _spans(slices, [p is None for p in pending], time)
    return Plot(
        "Pending rows",
        scale.ticks,
        (unknown(gaps, "pending rows"), path(area(points), "area-fill in"), path(line(points), "line in")),
        (Key("pending", "in", pending), *_unknown_key(gaps)),
        at_s,
        "rows",
        note=f"at the end of each step; {_known(series.arrivals_how)}",
        height_px=90,
    )


def _latency(component: Component) -> Plot:
    slices, time = component.series.slices, component.time
    timed = [s for s in slices if s.latency is not None or s.untimed_rows]
    at_s = [s.end_s for s in timed]
    means, p95s = ([_late(s, quantile) for s in timed] for quantile in (None, 0.95))
    limits = [(v, v.objective.limit_s) for v in component.verdicts if isinstance(v.objective, Latency)]
    known = [v for v in (*means, *p95s) if v is not None]
    scale = latency_scale([*known, *(limit_s for _, limit_s in limits)], seconds)
    gaps = _untimed(slices, time)
    broken = [span for v, _ in limits for span in across(spans(v.windows, False), time)]
    return Plot(
        "Latency",
        scale.ticks,
        (
            path(boxes((s, (0.0, 1.0)) for s in broken), "broken-back", "an objective was broken"),
            unknown(gaps, "latency"),
            *(path(f"M0 {100 - 100 * scale.at(limit_s):.1f}H1000", "limit", v.text) for v, limit_s in limits),
            path(line(_points(at_s, p95s, scale, time)), "line p95"),
            path(line(_points(at_s, means, scale, time)), "line mean"),
        ),
        (
            Key("mean", "mean", means),
            Key("p95", "p95", p95s),
            *([Key("objective broken", "broken")] if broken else []),
            *_unknown_key(gaps),
        ),
        at_s,
        "s",
        note="of the rows completed in each step, until their output is visible",
        over=tuple(over_label(v.text, scale.at(limit_s), "limit") for v, limit_s in limits),
        height_px=150,
    )


def _late(piece: Slice, quantile: float | None) -> float | None:
    if piece.latency is None:
        return None
    return piece.latency.mean_s if quantile is None else piece.latency.quantile_s(quantile)


def _untimed(slices: Sequence[Slice], time: TimeScale) -> list[Span]:
    """Where rows were completed nobody knows how late; steps without completions go with those before them."""
    flags: list[bool] = []
    for piece in slices:
        idle = piece.latency is None and not piece.untimed_rows
        flags.append(bool(flags) and flags[-1] if idle else piece.latency is None)
    return _spans(slices, flags, time)


def _unknown_key(gaps: Sequence[Span]) -> tuple[Key, ...]:
    return (Key("unknown", "gap-key"),) if gaps else ()


def _points(at_s: Sequence[float], values: Sequence[float | None], scale: Scale, time: TimeScale) -> list[Point]:
    return [(time.at(t), None if v is None else scale.at(v)) for t, v in zip(at_s, values, strict=True)]


def _spans(slices: Sequence[Slice], flags: Sequence[bool], time: TimeScale) -> list[Span]:
    runs = [(flag, list(run)) for flag, run in groupby(range(len(slices)), lambda i: flags[i])]
    return [(time.at(slices[r[0]].start_s), time.at(slices[r[-1]].end_s)) for flag, r in runs if flag]


def _highest(*series: Sequence[float | None]) -> float:
    return max((v for values in series for v in values if v is not None), default=0.0)


def _known(how: How) -> str:
    return "unknown" if how is How.UNKNOWN else f"{how}"
