"""What keeps a scaler from going back and forth: it waits for a window after each change, and gives back late."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.changes import Target
from penstock.policies.componentwise import Wish
from penstock.policies.figures import Figures
from penstock.policies.policy import View

Recommended = list[tuple[float, int]]  # when, and how many; later ones are fewer


def largest_lately(
    earlier: Sequence[Sequence[float]], now_s: float, wanted: int, within_s: float
) -> tuple[int, Recommended]:
    """The most instances that were wanted within a time, and what has to be remembered to tell again later.

    >>> largest_lately([(0.0, 8), (50.0, 4)], 90.0, 3, within_s=60.0)
    (4, [(50.0, 4), (90.0, 3)])
    """
    recent = [(float(at_s), int(n)) for at_s, n in earlier if at_s > now_s - within_s and n > wanted]
    kept = [*recent, (now_s, wanted)]
    return kept[0][1], kept


def over_a_window(view: View, target: Target, span: tuple[float, float], wish: Callable[[Figures], Wish]) -> Wish:
    """What is wished once a whole window was seen since the last change. `span` is since when, and how long."""
    since_s, window_s = span
    figures = Figures.since(view, target, since_s).without_gaps(window_s).latest(window_s)
    if not figures.steps or figures.steps[-1][0] is not view.history.latest:
        return Wish("figures of the last step are missing")
    if not figures.covers(window_s):
        return Wish(f"{figures.seconds:.0f} s of {window_s:.0f} s were seen")
    return wish(figures)
