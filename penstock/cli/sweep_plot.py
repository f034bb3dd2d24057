"""The plot of a sweep: what was kept against what it cost; a point is a run, a colour a value of one setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT, MARGIN = 720, 420, 60
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # told apart by all eyes
Row = Mapping[str, Any]


def plot(rows: Sequence[Row], settings: Sequence[str]) -> str:
    """Success over mean instances; where nothing was promised, p95 latency instead."""
    judged = all(row["success_share"] is not None for row in rows)
    upright = "success_share" if judged else "latency_p95_s"
    points = [(row["mean_instances"], row[upright], row) for row in rows if row[upright] is not None]
    told = colouring(rows, settings)
    colour = {v: COLOURS[n % len(COLOURS)] for n, v in enumerate(dict.fromkeys(str(r[told]) for r in rows))}
    across, up = _scale([p[0] for p in points]), _scale([p[1] for p in points])
    dots = "".join(
        f'<circle cx="{_x(x, across):.1f}" cy="{_y(y, up):.1f}" r="5" fill="{colour[str(row[told])]}" '
        f'fill-opacity="0.7"><title>{escape(_title(row, settings))}</title></circle>'
        for x, y, row in points
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>{_axes(across, up, upright)}{dots}'
        f"{_legend(told, colour)}</svg>\n"
    )


def colouring(rows: Sequence[Row], settings: Sequence[str]) -> str:
    """The setting that is not the seed and has the most values; the seed where there is no other."""
    others = [s for s in settings if s != "seed"] or list(settings)
    return max(others, key=lambda s: len({str(row[s]) for row in rows}))


def _scale(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.05 or max(abs(high) * 0.05, 0.05)
    return low - room, high + room


def _x(value: float, scale: tuple[float, float]) -> float:
    return MARGIN + (value - scale[0]) / (scale[1] - scale[0]) * (WIDTH - 2 * MARGIN)


def _y(value: float, scale: tuple[float, float]) -> float:
    return HEIGHT - MARGIN - (value - scale[0]) / (scale[1] - scale[0]) * (HEIGHT - 2 * MARGIN)


def _axes(across: tuple[float, float], up: tuple[float, float], upright: str) -> str:
    lines = f'<path d="M{MARGIN} {MARGIN}V{HEIGHT - MARGIN}H{WIDTH - MARGIN}" fill="none" stroke="black"/>'
    names = (
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 15}" text-anchor="middle">mean_instances</text>'
        f'<text x="{MARGIN}" y="{MARGIN - 15}" text-anchor="middle">{escape(upright)}</text>'
    )
    ticks = ""
    for n in range(5):
        x, y = (s[0] + (s[1] - s[0]) * n / 4 for s in (across, up))
        ticks += f'<text x="{_x(x, across):.0f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{x:.3g}</text>'
        ticks += f'<text x="{MARGIN - 6}" y="{_y(y, up) + 4:.0f}" text-anchor="end">{y:.3g}</text>'
    return lines + names + ticks


def _legend(setting: str, colour: Mapping[str, str]) -> str:
    head = f'<text x="{WIDTH - MARGIN}" y="20" text-anchor="end">{escape(setting)}</text>'
    return head + "".join(
        f'<text x="{WIDTH - MARGIN}" y="{36 + 15 * n}" text-anchor="end" fill="{c}">{escape(value)}</text>'
        for n, (value, c) in enumerate(colour.items())
    )


def _title(row: Row, settings: Sequence[str]) -> str:
    return ", ".join(f"{s}={row[s]}" for s in settings)
