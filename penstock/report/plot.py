"""One plot: a stretched SVG for what is drawn, HTML for what is read, so that text keeps its size on any screen.

Everything inside the SVG is in thousandths of its width and hundredths of its height.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from penstock.report.scale import Tick, TimeScale

Point = tuple[float, float | None]  # 0..1 from the left, 0..1 from the bottom; None: unknown
Span = tuple[float, float]


def _x(at: float) -> str:
    return f"{at * 1000:.1f}".removesuffix(".0")


def _y(at: float) -> str:
    return f"{100 - min(max(at, -0.05), 1.05) * 100:.1f}".removesuffix(".0")


def line(points: Iterable[Point]) -> str:
    """Broken where a value is unknown; what stands alone is a dot.

    >>> line([(0.0, 0.0), (0.5, 1.0), (0.6, None), (1.0, 0.5)])
    'M0 100L500 0M1000 50h0'
    """
    parts = []
    for run in _known_runs(points):
        first, rest = run[0], run[1:]
        parts.append(f"M{_x(first[0])} {_y(first[1])}" + ("".join(f"L{_x(x)} {_y(y)}" for x, y in rest) or "h0"))
    return "".join(parts)


def area(points: Iterable[Point]) -> str:
    """What lies under the line.

    >>> area([(0.0, 0.5), (0.5, 1.0)])
    'M0 100L0 50L500 0L500 100Z'
    """
    return "".join(
        f"M{_x(run[0][0])} 100" + "".join(f"L{_x(x)} {_y(y)}" for x, y in run) + f"L{_x(run[-1][0])} 100Z"
        for run in _known_runs(points)
    )


def _known_runs(points: Iterable[Point]) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if y is None:
            runs.append([])
        else:
            runs[-1].append((x, y))
    return [run for run in runs if run]


def steps(pieces: Iterable[tuple[float, float, float | None]]) -> str:
    """Each piece level from its start to its end.

    >>> steps([(0.0, 0.5, 0.25), (0.5, 1.0, 0.75)])
    'M0 75H500V25H1000'
    """
    out, before = [], None
    for start, end, y in pieces:
        if y is not None:
            out.append(f"M{_x(start)} {_y(y)}" if before is None else "" if before == y else f"V{_y(y)}")
            out.append(f"H{_x(end)}")
        before = y
    return "".join(out)


def boxes(found: Iterable[tuple[Span, Span]]) -> str:
    """Rectangles, each by its span across and its span up.

    >>> boxes([((0.1, 0.2), (0.0, 0.5))])
    'M100 100H200V50H100Z'
    """
    return "".join(f"M{_x(a)} {_y(low)}H{_x(b)}V{_y(high)}H{_x(a)}Z" for (a, b), (low, high) in found)


def upright(at: Iterable[float]) -> str:
    """Lines from bottom to top.

    >>> upright([0.25])
    'M250 0V100'
    """
    return "".join(f"M{_x(x)} 0V100" for x in at)


def path(d: str, css: str, title: str = "") -> str:
    if not d:
        return ""
    told = f"<title>{escape(title)}</title>" if title else ""
    return f'<path class="{css}" d="{d}">{told}</path>' if told else f'<path class="{css}" d="{d}"/>'


def dot(at: float, up: float, css: str, title: str) -> str:
    """Round however far the SVG is stretched: the cap of a line without length."""
    return path(f"M{_x(at)} {_y(up)}h0", f"dot {css}", title)


def unknown(spans: Iterable[Span], what: str) -> str:
    return path(boxes((span, (0.0, 1.0)) for span in spans), "gap", f"{what}: unknown here")


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the legend, which also shows the value under the pointer."""

    name: str
    css: str
    values: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """`at_s` are the times of the keys' values, `form` how they are written: rows, s, n or share."""

    title: str
    ticks: tuple[Tick, ...]
    marks: tuple[str, ...]
    keys: tuple[Key, ...] = ()
    at_s: Sequence[float] = ()
    form: str = "n"
    note: str = ""
    over: tuple[str, ...] = ()
    height_px: int = 116
    grid: bool = True


def figure(plot: Plot, time: TimeScale) -> str:
    grid = path("".join(f"M0 {_y(t.at)}H1000" for t in plot.ticks), "grid") if plot.grid else ""
    lines = path(upright(t.at for t in time.ticks), "grid")
    labels = "".join(f'<span class="ty" style="bottom:{t.at:.1%}">{escape(t.label)}</span>' for t in plot.ticks)
    drawn = f"{lines}{grid}{''.join(plot.marks)}"
    about = escape(f"{plot.title}: {', '.join(k.name for k in plot.keys)}", quote=True)
    return (
        f'<figure class="plot"><figcaption>{_caption(plot)}</figcaption>'
        f'<div class="area" style="height:{plot.height_px}px">{labels}'
        f'<svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="{about}">{drawn}</svg>'
        f"{''.join(plot.over)}</div>{_readings(plot, time)}</figure>"
    )


def _caption(plot: Plot) -> str:
    keys = "".join(f'<span class="key {k.css}"><i></i>{escape(k.name)} <output></output></span>' for k in plot.keys)
    note = f"<small>{escape(plot.note)}</small>" if plot.note else ""
    return f"<b>{escape(plot.title)}</b>{keys}{note}"


def _readings(plot: Plot, time: TimeScale) -> str:
    if not plot.at_s:
        return ""
    values = [[None if v is None else float(f"{v:.4g}") for v in k.values] for k in plot.keys]
    told = {"form": plot.form, "x": [round(time.at(t), 4) for t in plot.at_s], "y": values}
    return f'<script type="application/json">{json.dumps(told, separators=(",", ":"))}</script>'


def over_label(text: str, up: float, css: str, at: float | None = None) -> str:
    """Over the plot, at its right side or after `at`."""
    left = "" if at is None else f";right:auto;left:{at:.1%}"
    return f'<span class="over {css}" style="bottom:{min(max(up, 0.0), 1.0):.1%}{left}">{escape(text)}</span>'


def time_axis(time: TimeScale) -> str:
    marks = "".join(f'<span style="left:{t.at:.2%}">{escape(t.label)}</span>' for t in time.ticks)
    return f'<div class="axis" data-seconds="{time.length_s:.3f}"><div>{marks}<output></output></div></div>'
