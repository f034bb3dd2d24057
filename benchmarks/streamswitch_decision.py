"""How fast is one StreamSwitch decision, against the corrected algorithm with every candidate tried at once?

naive    one vectorised evaluation of all N x |K_s| prefixes (balance), of all N x N pairs (scale in)
ours     halving for all destinations at once; bounds that rule out most pairs
same     both give the same strategy, ties included
whole    a decision of the policy, from 900 s of history to the change: 1,000 instances, 10,000 substreams

    .venv/bin/python benchmarks/streamswitch_decision.py [--csv PATH]
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.changes import Capabilities, Execution, PartKind, Target
from penstock.deployment import Deployment
from penstock.ids import ComponentId, TopologyId
from penstock.models.latency_law import LatencyLaw
from penstock.models.microbatch import BatchLaw
from penstock.models.mm1 import QueueLaw
from penstock.objectives.objective import Latency
from penstock.observe.history import History
from penstock.observe.latency import LatencyHistogram
from penstock.observe.snapshot import BatchSeen, ComponentSeen, InstancesSeen, Snapshot, SubstreamsSeen
from penstock.policies.policy import Bounds, View
from penstock.policies.streamswitch import StreamSwitch
from penstock.policies.streamswitch_moves import best_balance
from penstock.policies.streamswitch_scale_in import best_scale_in
from penstock.policies.streamswitch_setting import Setting, Strategy
from penstock.topology.assignment import Assignment
from penstock.topology.topology import Component, Topology

LAWS: dict[str, LatencyLaw] = {"M/M/1": QueueLaw(0.2), "batch": BatchLaw(0.2, 0.002, margin=0.2)}
INSTANCES = (10, 100, 1000)
SUBSTREAMS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
Row = dict[str, object]


def crowded(law: LatencyLaw, instances: int, hot: int, rng: np.random.Generator) -> Setting:
    """Instance 0 has `hot` substreams and too much to do; the others have four each, at two speeds."""
    where = np.concatenate([np.zeros(hot, dtype=np.intp), np.repeat(np.arange(1, instances), 4)])
    rates = np.concatenate([rng.gamma(1.0, 1300.0 / hot, hot), rng.gamma(2.0, 60.0, where.size - hot)])
    return Setting(law, rates, -rates, where, np.where(rng.random(instances) < 0.5, 1000.0, 1250.0))


def quiet(law: LatencyLaw, instances: int, speeds: str, rng: np.random.Generator) -> Setting:
    where = np.repeat(np.arange(instances), 5)
    rates = rng.gamma(0.5, 20.0, where.size)
    service = {
        "equal": np.full(instances, 2000.0),
        "unequal": rng.uniform(1000, 3000, instances),
        "as the load": 500 + 3 * np.bincount(where, weights=rates),
    }[speeds]
    return Setting(law, rates, -rates, where, service)


def naive_balance(at: Setting, source: int) -> tuple[int, int]:
    """The destination, and how many substreams move."""
    mine = np.flatnonzero(at.instance_of == source)
    loaded = mine[at.rows_per_s[mine] > 0]
    order = loaded[np.argsort(at.pause_order[loaded], kind="stable")]
    moved = np.cumsum(at.rows_per_s[order])
    n = np.arange(1.0, order.size)
    others = np.flatnonzero(np.arange(at.instances) != source)
    loads, counts, service, levels = at.loads, at.counts, at.service_rows_per_s, at.levels_s
    left = at.law.level_s(np.maximum(moved[-1] - moved[:-1], 0.0), service[[source]], mine.size - n)
    right = at.law.level_s(loads[others][:, None] + moved[:-1], service[others][:, None], counts[others][:, None] + n)
    worst = np.maximum(left, right)
    best = np.argmin(worst, axis=1)
    worst_s = worst[np.arange(others.size), best]
    worst_s[worst_s >= np.maximum(levels[source], levels[others])] = np.inf
    tied = np.flatnonzero(worst_s == worst_s.min())
    vectors = []
    for i in tied:
        after = levels.copy()
        after[[source, others[i]]] = left[best[i]], right[i, best[i]]
        vectors.append((sorted(after.tolist(), reverse=True), int(others[i]), int(best[i]) + 1))
    return min(vectors)[1:]


def naive_scale_in(at: Setting) -> tuple[int, int]:
    loads, counts, service, levels = at.loads, at.counts, at.service_rows_per_s, at.levels_s
    merged = at.law.level_s(loads[:, None] + loads, service, counts[:, None] + counts)
    high, low = np.maximum(levels[:, None], levels), np.minimum(levels[:, None], levels)
    above, same = merged > high, merged == high
    gone = same | (merged == low)
    first = np.where(above, merged, np.where(same, -low, -high))
    np.fill_diagonal(first, np.inf)
    tied = np.argwhere(first == first.min())
    s, d = tied.T
    second = np.where(above, -high, np.where(gone, 0.0, merged))[s, d]
    third = np.where(above | ~gone, -low, 0.0)[s, d]
    at_first = np.lexsort((d, s, loads[s], third, second))[0]
    return int(s[at_first]), int(d[at_first])


def timed(ask: Callable[[], object], least_s: float = 0.3) -> float:
    """The median of this process's own time, in milliseconds: the machine is shared."""
    spent: list[float] = []
    while sum(spent) < least_s or len(spent) < 5:
        begun = time.process_time()
        ask()
        spent.append(time.process_time() - begun)
    return float(np.median(spent)) * 1000


def again(at: Setting) -> Setting:
    """Sums and levels are part of a decision."""
    return replace(at)


def moved(found: Strategy | None) -> tuple[int, int]:
    assert found is not None
    return found.destination, found.substreams.size


def pair(found: Strategy | None) -> tuple[int, int]:
    assert found is not None
    return found.source, found.destination


def compare(kind: str, law: str, size: tuple[int, int], sides: tuple[Callable[[], object], ...]) -> Row:
    ours, naive, same = timed(sides[0]), timed(sides[1]), sides[0]() == sides[1]()
    row: Row = {"decision": kind, "law": law, "instances": size[0], "substreams": size[1]}
    row |= {"ours_ms": round(ours, 3), "naive_ms": round(naive, 3), "times": round(naive / ours, 2), "same": same}
    print(" ".join(f"{key} {value}" for key, value in row.items()))
    return row


def rows() -> list[Row]:
    found = []
    for name, law in LAWS.items():
        for n in INSTANCES:
            for k in SUBSTREAMS:
                at = crowded(law, n, k, np.random.default_rng(k))
                sides = (lambda at=at: moved(best_balance(again(at), 0)), lambda at=at: naive_balance(again(at), 0))
                found.append(compare("balance", name, (n, k), sides))
            for speeds in ("equal", "unequal", "as the load"):
                at = quiet(law, n, speeds, np.random.default_rng(n))
                sides = (lambda at=at: pair(best_scale_in(again(at))), lambda at=at: naive_scale_in(again(at)))
                found.append(compare(f"scale in, speeds {speeds}", name, (n, 5 * n), sides))
    return found


def whole_ms(substreams: int = 10_000, instances: int = 1000) -> float:
    """On micro-batches, one unit strategy; every step saw all instances and substreams."""
    rng = np.random.default_rng(0)
    where = np.concatenate([np.arange(instances), np.zeros(500, dtype=np.intp)])
    where = np.concatenate([where, rng.integers(0, instances, substreams - where.size)])
    rows = rng.gamma(2.0, 40.0, substreams)
    done = np.bincount(where, weights=rows).astype(np.float64)
    target = Target(TopologyId("t"), ComponentId("c"))

    def step(i: int) -> Snapshot:
        batch = BatchSeen(i, float(i), i + 0.9, i + 1.0, int(rows.sum()), instances)
        seen = ComponentSeen(
            float(rows.sum()), float(rows.sum()), rows_pending=0.0, parallelism=instances, batches=(batch,),
            latency=LatencyHistogram.of([2.5]),
            substreams=SubstreamsSeen(rows_completed=rows, useful_s=rows / 2000),
            instances=InstancesSeen(done, useful_s=done / 2000),
        )  # fmt: skip
        return Snapshot(float(i), i + 1.0, {target: seen})

    topology = Topology(target.topology, (Component(target.component, instances, substreams),))
    known = Deployment(
        Capabilities(Execution.MICRO_BATCH, frozenset(PartKind)), {topology.id: topology},
        assignments={target: Assignment(tuple(where.tolist()))}, objectives={target: (Latency(2.0),)},
    )  # fmt: skip
    view = View(known, History(900.0, tuple(step(i) for i in range(900))), {target: Bounds(1, 2000)}, 900.0)
    assert StreamSwitch(at_once=1).decide(view, {}, rng).parts
    return timed(lambda: StreamSwitch(at_once=1).decide(view, {}, rng))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, help="where to write the curves")
    path = parser.parse_args().csv
    found = rows()
    print(f"whole decision, 1,000 instances and 10,000 substreams: {whole_ms():.1f} ms")
    if path:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(found[0]))
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
