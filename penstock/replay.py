"""Replay: any policy over recorded history. The same history in gives the same changes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.deployment import Deployment
from penstock.observe.snapshot import Snapshot
from penstock.policies.cycle import Outcome, State, cycle, is_fresh
from penstock.policies.rule import Regulation


def replay(
    recorded: Iterable[tuple[Deployment, Snapshot]], regulation: Regulation, seed: int = 0, run: str = State().run
) -> Iterator[tuple[Snapshot, tuple[Outcome, ...]]]:
    """What would have been concluded from each recorded snapshot. Nothing is applied: the history stays as it was."""
    state = State(run)
    for deployment, snapshot in recorded:
        if is_fresh(state, snapshot):
            state, outcomes = cycle(state, deployment, snapshot, regulation, seed)
            yield snapshot, outcomes
