"""How many rows a second each component has to take, from the sources on: what DS2 propagates along a topology."""

from __future__ import annotations

from penstock.changes import Target
from penstock.policies.figures import Figures
from penstock.policies.policy import View


def target_rows_per_s(view: View, figures: Figures, target: Target) -> float | None:
    """What its inputs would send if none of them were held up; for a source, or where that is unknown, what arrives.

    Along the way rows multiply by what was emitted of each that was completed.
    """
    topology = view.deployment.topologies[target.topology]
    parents = [Target(target.topology, p) for p in topology.parents(target.component)]
    own = figures.per_s("rows_arrived")
    if not parents:
        return own
    sent = [_sent_rows_per_s(view, figures, parent) for parent in parents]
    known = [s for s in sent if s is not None]
    return sum(known) if len(known) == len(sent) else own


def _sent_rows_per_s(view: View, figures: Figures, parent: Target) -> float | None:
    seconds = figures.seconds
    its = Figures(tuple(view.history.of(parent))).latest(seconds)
    wanted, completed, emitted = (
        target_rows_per_s(view, its, parent),
        its.total("rows_completed"),
        its.total("rows_emitted"),
    )
    if wanted is None or not completed or emitted is None:
        return None
    return wanted * emitted / completed
