"""Who did the work: instances and substreams."""

from __future__ import annotations

from html import escape

import numpy as np

from penstock.observe.snapshot import Array
from penstock.report.plot import Key, Plot
from penstock.report.scale import TimeScale
from penstock.report.series import ComponentSeries, Slice, coarser, sums
from penstock.report.strip import MOST_COLUMNS, grid_of, strip
from penstock.report.wording import plural, seconds, short

MOST_BARS = 32


def _pieces(series: ComponentSeries, time: TimeScale) -> list[Slice]:
    return coarser(series.slices, max(series.rate_window_s, time.length_s / MOST_COLUMNS))


def instance_strip(series: ComponentSeries, time: TimeScale) -> Plot | None:
    grid = grid_of(_pieces(series, time), lambda s: s.useful_s, time)
    if not grid.values.size:
        return None
    full = max(1.0, grid.highest)
    legend = Key(f"none to {'all of the time' if full == 1.0 else f'{full:.2g} s a second'}", "useful")
    return strip("Busy instances", grid, full, legend, "useful seconds per second, by instance")


def substream_strip(series: ComponentSeries, time: TimeScale) -> Plot | None:
    grid = grid_of(_pieces(series, time), lambda s: s.substream_rows, time)
    if not grid.values.size:
        return None
    legend = Key(f"none to {short(grid.highest)} rows/s", "load")
    note = f"rows at the stateful stages, after partial aggregation{_skew(sums(series.slices))}"
    return strip("Load per substream", grid, grid.highest, legend, note)


def _skew(total: Slice | None) -> str:
    rows = total.substream_rows if total else None
    if rows is None or not rows.sum() or rows.size < 2:
        return ""
    return f"; the busiest had {rows.max() / rows.mean():.1f} times the mean"


def instance_bars(series: ComponentSeries) -> str:
    """What each instance's time went to, over the whole run."""
    total = sums(series.slices)
    if total is None or total.useful_s is None:
        return ""
    useful, nothing = total.useful_s, np.zeros(total.useful_s.size)
    cpu = total.cpu_s if total.cpu_s is not None else nothing
    wait = total.fetch_wait_s if total.fetch_wait_s is not None else nothing
    longest = float((useful + wait).max()) or 1.0
    rows = "".join(_bar(i, useful, cpu, wait, longest) for i in range(min(useful.size, MOST_BARS)))
    left = useful.size - MOST_BARS
    more = f'<p class="quiet">and {plural(left, "instance")} more</p>' if left > 0 else ""
    return (
        '<h4>Where the instances’ time went <span class="key cpu"><i></i>CPU</span>'
        '<span class="key blocked"><i></i>useful, but not on a CPU</span>'
        f'<span class="key wait"><i></i>waiting for other tasks’ output</span></h4><div class="bars">{rows}</div>{more}'
    )


def _bar(i: int, useful: Array, cpu: Array, wait: Array, longest: float) -> str:
    on_cpu = min(float(cpu[i]), float(useful[i]))
    parts = (("cpu", on_cpu), ("blocked", float(useful[i]) - on_cpu), ("wait", float(wait[i])))
    drawn = "".join(f'<i class="{css}" style="width:{v / longest:.2%}"></i>' for css, v in parts)
    told = f"useful {seconds(float(useful[i]))}, of it CPU {seconds(on_cpu)}; waiting {seconds(float(wait[i]))}"
    return f'<div title="{escape(told)}"><span>{i}</span><b>{drawn}</b><span>{seconds(float(useful[i]))}</span></div>'
