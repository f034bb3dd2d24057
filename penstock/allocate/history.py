"""What a running topology was seen to do, in the form that `read` takes: arrivals, useful rates and ratios as measured.

input      what arrives at a component that no other feeds; a source of the rate that was seen, which units do not raise
capacity   rows of the largest batch, over what it lasts: its overhead, and the work of the fullest instance. Work
           divides by units as its substreams do, overhead does not
ratio      what arrives at a child, over what its parents complete; a sink counts the rows that it processes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from penstock.allocate.capacity import heaviest_share
from penstock.changes import Target
from penstock.deployment import Deployment
from penstock.errors import InvalidInput
from penstock.observe.snapshot import ComponentSeen, Snapshot


@dataclass(frozen=True, slots=True)
class Pace:
    """Of a batch: its rows, the seconds that it costs whatever its rows, and the work of each row."""

    largest_batch_rows: float
    overhead_s: float
    work_s_per_row: float

    def rows_per_s(self, fullest_share: float) -> float:
        """With so much of the rows in the fullest instance.

        >>> Pace(100.0, 0.5, 0.02).rows_per_s(1.0), Pace(100.0, 0.5, 0.02).rows_per_s(0.25)
        (40.0, 100.0)
        """
        return self.largest_batch_rows / (
            self.overhead_s + self.largest_batch_rows * self.work_s_per_row * fullest_share
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """One component over the whole stretch. `capacities[u - 1]` is what it processes with u units."""

    arrived_rows_per_s: float
    completed_rows_per_s: float
    units: int
    capacities: tuple[float, ...]


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
    pace = _pace([seen for _, seen in steps])
    if any(seen.rows_arrived is None for _, seen in steps):
        return "it is not known what arrives"
    if pace is None:
        return "it has completed no rows in this time, so that nobody knows how fast it is"
    arrived = sum(seen.rows_arrived or 0.0 for _, seen in steps)
    units = deployment.parallelism(target)
    bound = max(units, deployment.component(target).parallelism_bound or units)
    shares = _shares([seen for _, seen in steps]) or (1 / bound,) * bound
    return Measured(arrived / span_s, completed / span_s, units, _capacities(pace, shares, units))


def _capacities(pace: Pace, shares: Sequence[float], units: int) -> tuple[float, ...]:
    """An instance more that would not help stays empty, so that the curve never falls."""
    most = max(units, len(shares))
    return tuple(accumulate((pace.rows_per_s(heaviest_share(shares, u)) for u in range(1, most + 1)), max))


def _pace(steps: Sequence[ComponentSeen]) -> Pace | None:
    timed = [(s.batches, s.instances.useful_s) for s in steps if s.batches and s.instances is not None]
    worked = [(batches, useful_s) for batches, useful_s in timed if useful_s is not None]
    batches = [b for found, _ in worked for b in found]
    rows = sum(b.rows or 0 for b in batches)
    work_s = sum(float(useful_s.sum()) for _, useful_s in worked)
    if not rows or not work_s:
        return None
    fullest_s = sum(float(useful_s.max()) for _, useful_s in worked)
    overhead_s = max(0.0, sum(b.duration_s for b in batches) - fullest_s) / len(batches)
    return Pace(float(max(b.rows or 0 for b in batches)), overhead_s, work_s / rows)


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
    capacity = measured.capacities[measured.units - 1]
    return {
        "name": target.component,
        "resources": measured.units,
        "input_rate": input_rate,
        "output_rate": min(input_rate, capacity),
        "max_processing_rate": capacity,
        "capacity": list(measured.capacities),
        "children": {},
    }
