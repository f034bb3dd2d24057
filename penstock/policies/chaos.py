"""Chaos: a random valid assignment every few batches. It proves that a job survives rescaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.changes import Assign, Part, PartKind, Rescale, Target
from penstock.policies.policy import Decision, Memory, View
from penstock.topology.assignment import Assignment

EVERY_BATCHES = 3  # a change is in force within two batches: the third shows it at work


@dataclass(frozen=True, slots=True)
class Chaos:
    """Where an engine has no batches, steps count."""

    every_batches: int = EVERY_BATCHES

    @property
    def name(self) -> str:
        return "chaos"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        counted = {str(t): _batches(view, t, memory) for t in view.targets}
        due = [t for t in view.targets if counted[str(t)] >= self.every_batches]
        parts = tuple(part for t in due if (part := _random_part(view, t, rng)))
        later = {t: 0 if t in map(str, due) else n for t, n in counted.items()}
        why = f"a random assignment after {self.every_batches} batches" if parts else "waiting for batches"
        until_s = view.history.latest.end_s if view.history.latest else memory.get("until_s")
        return Decision(parts, (), why, {"batches": later, "until_s": until_s})


def _batches(view: View, target: Target, memory: Memory) -> int:
    """Since the last change, or since it was first seen."""
    until_s = memory.get("until_s")
    new = [seen for snapshot, seen in view.history.of(target) if until_s is None or snapshot.end_s > until_s]
    counted: int = memory.get("batches", {}).get(str(target), 0)
    has_batches = view.deployment.capabilities.execution == "micro-batch"
    return counted + sum(len(seen.batches) if has_batches else 1 for seen in new)


def _random_part(view: View, target: Target, rng: np.random.Generator) -> Part | None:
    """None where nothing else is possible, or nobody knows how far it could go."""
    current = view.deployment.assignments.get(target)
    substreams = current.substreams if current else view.deployment.component(target).substreams
    bounds = view.bounds[target]
    highest = min((n for n in (bounds.highest, view.deployment.slots or None) if n is not None), default=None)
    if highest is None:
        return None
    parallelism = bounds.nearest(int(rng.integers(bounds.lowest, max(bounds.lowest, highest) + 1)))
    if substreams is not None and PartKind.ASSIGN in view.deployment.capabilities.parts:
        assignment = random_assignment(substreams, parallelism, rng)
        return Assign(target, assignment) if assignment != current else None
    return Rescale(target, parallelism) if parallelism != view.deployment.parallelism(target) else None


def random_assignment(substreams: int, parallelism: int, rng: np.random.Generator) -> Assignment:
    """Every instance gets one substream, all others go anywhere.

    >>> random_assignment(6, 3, np.random.default_rng(7)).parallelism
    3
    """
    anywhere = rng.integers(0, parallelism, size=substreams)
    anywhere[rng.permutation(substreams)[:parallelism]] = np.arange(parallelism)
    return Assignment(tuple(int(i) for i in anywhere))
