"""How long batches took, and with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.report.plot import Key, Plot, boxes, over_label, path
from penstock.report.scale import Linear, TimeScale
from penstock.report.series import Bar
from penstock.report.wording import plural, seconds

OTHER = "other"


@dataclass(frozen=True, slots=True)
class Phase:
    """Some of Spark's phases under one name and one colour."""

    name: str
    css: str
    of: tuple[str, ...]

    def seconds(self, bar: Bar) -> float:
        return sum(bar.phases_s.get(p, 0.0) for p in self.of)


PHASES = (
    Phase("addBatch", "p1", ("addBatch",)),
    Phase("latestOffset, getBatch", "p2", ("latestOffset", "getBatch", "getOffset", "setOffsetRange", "getEndOffset")),
    Phase("queryPlanning", "p3", ("queryPlanning",)),
    Phase("walCommit", "p4", ("walCommit",)),
    Phase("commitOffsets", "p5", ("commitOffsets", "commitBatch")),
)
OUTLIER = 3.0  # a first batch loads classes: beyond so many times the 95th percentile a bar leaves the plot


def durations(bars: Sequence[Bar], time: TimeScale) -> Plot | None:
    if not bars:
        return None
    parts = {p.name: [p.seconds(b) for b in bars] for p in PHASES}
    parts[OTHER] = [max(0.0, b.duration_s - sum(p[i] for p in parts.values())) for i, b in enumerate(bars)]
    css = {p.name: p.css for p in PHASES} | {OTHER: "p6"}
    high_s = shown_to_s([b.duration_s for b in bars])
    scale = Linear.up_to(high_s, seconds)
    longest = max(bars, key=lambda b: b.duration_s)
    beyond = sum(b.duration_s > scale.high for b in bars)
    return Plot(
        "Batch duration",
        scale.ticks,
        tuple(path(d, f"phase {css[name]}") for name, d in _stacked(bars, parts, scale, time).items()),
        tuple(Key(name, css[name], parts[name]) for name in parts if sum(parts[name]) > 0),
        [(b.start_s + b.end_s) / 2 for b in bars],
        "s",
        note=_note(bars, beyond),
        over=(over_label(f"↑ {seconds(longest.duration_s)}", 1.0, "left", time.at(longest.end_s)),) if beyond else (),
        height_px=130,
    )


def shown_to_s(durations_s: Sequence[float]) -> float:
    """
    >>> shown_to_s([9.0] + [0.2] * 40), shown_to_s([0.5, 0.2, 0.3])
    (0.30000000000000004, 0.5)
    """
    longest, usual = max(durations_s), float(np.quantile(durations_s, 0.95))
    return 1.5 * usual if longest > OUTLIER * usual else longest


def _note(bars: Sequence[Bar], beyond: int) -> str:
    most = max(b.batches for b in bars)
    mean = f"each bar is the mean of up to {plural(most, 'batch')}" if most > 1 else ""
    left = f"{plural(beyond, 'batch')} longer than the plot" if beyond else ""
    return "; ".join(n for n in (mean, left) if n)


def _stacked(
    bars: Sequence[Bar], parts: Mapping[str, Sequence[float]], scale: Linear, time: TimeScale
) -> dict[str, str]:
    """What does not fit is cut at the top."""
    floor = [0.0] * len(bars)
    drawn = {}
    for name, values in parts.items():
        tops = [f + v for f, v in zip(floor, values, strict=True)]
        ups = [(b, scale.at(f), min(1.0, scale.at(t))) for b, f, t in zip(bars, floor, tops, strict=True)]
        drawn[name] = boxes(((time.at(b.start_s), time.at(b.end_s)), (f, t)) for b, f, t in ups if t > f)
        floor = tops
    return drawn
