"""How many instances a component had, and which changes made it so."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.changes import Assign, Change, Rescale
from penstock.report.change_table import Told, outcome
from penstock.report.plot import Key, Plot, dot, path, steps
from penstock.report.scale import Linear, TimeScale
from penstock.report.series import ComponentSeries, Slice
from penstock.report.wording import moment, plural

MOST_DOTS = 300

Turn = tuple[float, int]  # from this time on, so many instances


def parallelism(series: ComponentSeries, changes: Sequence[Told], time: TimeScale) -> Plot | None:
    few = changes if len(changes) <= MOST_DOTS else ()
    found = turns(series.slices, few)
    if not found:
        return None
    scale = Linear.up_to(max((p for _, p in found), default=1), lambda v: f"{v:.0f}", least_step=1)
    ends_s = [*(at_s for at_s, _ in found[1:]), time.end_s]
    pieces = [(time.at(a), time.at(b), scale.at(p)) for (a, p), b in zip(found, ends_s, strict=True)]
    dots = [
        dot(time.at(t.in_force_s), scale.at(_at(found, t.in_force_s)), "took", title(t, time))
        for t in few
        if t.in_force_s is not None
    ]
    values = [s.parallelism for s in series.slices]
    took = (Key("a change took effect", "took"),) if dots else ()
    return Plot(
        "Parallelism",
        scale.ticks,
        (path(steps(pieces), "line par"), *dots),
        (Key("instances", "par", values), *took),
        [s.end_s for s in series.slices],
        "n",
        note="" if few or not changes else f"{plural(len(changes), 'change')}: too many to mark",
        height_px=100,
    )


def turns(slices: Sequence[Slice], changes: Sequence[Told]) -> list[Turn]:
    """Changes tell to the batch when the number turned, steps only to the step: what a change asked for holds from then
    on, and a step is believed against it when the next one says so too."""
    asked = [(t.in_force_s, _asked(t)) for t in changes]
    known = [(at_s, p) for at_s, p in asked if at_s is not None and p is not None]
    out: list[Turn] = []
    for i, piece in enumerate(slices):
        out += [(at_s, p) for at_s, p in known if piece.start_s < at_s <= piece.end_s]
        seen, then = piece.parallelism, slices[min(i + 1, len(slices) - 1)].parallelism
        if seen is not None and (not out or (out[-1][1] != seen and (then == seen or not known))):
            out.append((max(piece.start_s, out[-1][0] if out else piece.start_s), seen))
    return out


def _asked(told: Told) -> int | None:
    return parallelism_asked(told.change) if told.change else None


def parallelism_asked(change: Change) -> int | None:
    for part in change.parts:
        if isinstance(part, Rescale):
            return part.parallelism
        if isinstance(part, Assign):
            return part.assignment.parallelism
    return None


def _at(found: Sequence[Turn], at_s: float) -> float:
    return float(next((p for from_s, p in reversed(found) if from_s <= at_s), found[0][1] if found else 0))


def title(told: Told, time: TimeScale) -> str:
    at = moment(max(0.0, (told.in_force_s or told.at_s) - time.start_s))
    return f"{at}: {told.what}\n{told.why} ({told.by})\n{outcome(told)}"
