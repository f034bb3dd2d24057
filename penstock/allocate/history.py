"""What a running topology was seen to do, in the form that `read` takes: arrivals, useful rates and ratios as measured.

input      what arrives at a component that no other feeds; a source of the rate that was seen, which units do not raise
capacity   rows per useful second of the fullest instance, times the share of time that the busiest step left for rows
ratio      what arrives at a child, over what its parents complete; a sink counts the rows that it processes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.changes import Target
from penstock.deployment import Deployment
from penstock.errors import InvalidInput
from penstock.observe.snapshot import ComponentSeen, Snapshot


@dataclass(frozen=True, slots=True)
class Measured:
    """One component over the whole stretch."""

    arrived_rows_per_s: float
    completed_rows_per_s: float
    capacity_rows_per_s: float
    units: int
    shares: tuple[float, ...] | None
    bound: int | None


def document_of(deployment: Deployment, snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    """Raises InvalidInput with every component that cannot be measured from these snapshots."""
    found = {t: _measured(deployment, t, snapshots) for t in deployment.targets}
    problems = [f"component {t.component!r}: {why}" for t, why in found.items() if isinstance(why, str)]
    if problems or not found:
        raise InvalidInput(problems or ["nothing has been seen yet"])
    return {"components": _described(deployment, {t: m for t, m in found.items() if isinstance(m, Measured)})}


def _measured(deployment: Deployment, target: Target, snapshots: Sequence[Snapshot]) -> Measured | str:
    steps = [(s.duration_s, s.components[target]) for s in snapshots if target in s.components and s.duration_s > 0]
    span_s = sum(duration_s for duration_s, _ in steps)
    completed = sum(seen.rows_completed or 0.0 for _, seen in steps)
    capacity = _capacity([seen for _, seen in steps], completed)
    if any(seen.rows_arrived is None for _, seen in steps):
        return "it is not known what arrives"
    if capacity is None:
        return "it has completed no rows in this time, so that nobody knows how fast it is"
    arrived = sum(seen.rows_arrived or 0.0 for _, seen in steps)
    component = deployment.component(target)
    units = deployment.parallelism(target)
    shares = _shares([seen for _, seen in steps]) if component.substreams else None
    return Measured(arrived / span_s, completed / span_s, capacity, units, shares, component.parallelism_bound)


def _capacity(steps: Sequence[ComponentSeen], completed: float) -> float | None:
    """The fullest instance limits. Overhead is that of the busiest step: larger batches have a smaller share of it."""
    timed = [s for s in steps if s.instances is not None and s.instances.useful_s is not None and s.batches]
    fullest_s = [float(s.instances.useful_s.max()) for s in timed if s.instances and s.instances.useful_s is not None]
    if not completed or not sum(fullest_s):
        return None
    lasted_s = [sum(b.duration_s for b in s.batches) for s in timed]
    useful_share = max(min(1.0, f / d) for f, d in zip(fullest_s, lasted_s, strict=True) if d > 0)
    return completed / sum(fullest_s) * useful_share


def _shares(steps: Sequence[ComponentSeen]) -> tuple[float, ...] | None:
    rows = [s.substreams.rows_completed for s in steps if s.substreams and s.substreams.rows_completed is not None]
    total = sum(rows[1:], rows[0]) if rows and len({r.size for r in rows}) == 1 else None
    return tuple((total / total.sum()).tolist()) if total is not None and total.sum() > 0 else None


def _described(deployment: Deployment, found: Mapping[Target, Measured]) -> list[dict[str, Any]]:
    """In topological order: an input is what the parents send, so that no error of measurement contradicts itself."""
    entries: dict[Target, dict[str, Any]] = {}
    sources = []
    for target, measured in found.items():
        parents = [source for source, fed in deployment.streams if fed == target]
        if parents:
            ratio = measured.arrived_rows_per_s / sum(found[p].completed_rows_per_s for p in parents)
            for parent in parents:
                entries[parent]["children"][target.component] = ratio
            input_rate = sum(entries[p]["output_rate"] * ratio for p in parents)
        else:
            input_rate = measured.arrived_rows_per_s
            sources.append(_source(target, input_rate))
        entries[target] = _operator(target, measured, input_rate)
    return [*sources, *entries.values()]


def _source(target: Target, rows_per_s: float) -> dict[str, Any]:
    return {
        "name": f"input of {target.component}",
        "resources": 1,
        "output_rate": rows_per_s,
        "children": {target.component: 1.0},
    }


def _operator(target: Target, measured: Measured, input_rate: float) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": target.component,
        "resources": measured.units,
        "input_rate": input_rate,
        "output_rate": min(input_rate, measured.capacity_rows_per_s),
        "max_processing_rate": measured.capacity_rows_per_s,
        "children": {},
    }
    if measured.shares is not None:
        return {**entry, "substreams": len(measured.shares), "shares": list(measured.shares)}
    return entry if measured.bound is None else {**entry, "max_resources": max(measured.bound, measured.units)}
