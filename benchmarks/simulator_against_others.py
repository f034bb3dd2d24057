"""The same queueing networks in Penstock, Ciw and SimPy: M/M/16 at 0.8, and a tandem of three stages of M/M/16.

Penstock goes through `penstock simulate`'s own path: scenario file, engine, snapshots, totals. All three simulate until
the mean wait is as accurate: the ratio is of seconds times squared relative error, which more rows do not change.

    .venv/bin/python benchmarks/simulator_against_others.py
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import ciw
import numpy as np
import simpy

from penstock.cli.simulate import simulate
from penstock.files import read_yaml_text

SERVERS, LOAD, SERVICE_S = 16, 0.8, 1.0
RATE = SERVERS * LOAD / SERVICE_S
RUNS = 5


@dataclass(frozen=True)
class Timed:
    name: str
    rows: int
    seconds: float
    sojourn_s: float  # mean over all stages

    @property
    def us_per_row(self) -> float:
        return 1e6 * self.seconds / self.rows


def scenario(stages: int, duration_s: float) -> str:
    parts = "\n".join(
        f"        s{n}: {{parallelism: {SERVERS}{f', inputs: [s{n - 1}]' if n else ''}}}" for n in range(stages)
    )
    how = "\n".join(f"        s{n}: {{rows_per_s: {1 / SERVICE_S}, cv: 1, queueing: shared}}" for n in range(stages))
    return f"""
version: 1
duration_s: {duration_s}
step_s: {duration_s / 20}
fidelity: rows
topologies:
  queues:
    topology:
      components:
{parts}
    execution:
      kind: continuous
      components:
{how}
    traffic: {{s0: {{rows_per_s: {RATE}, cv: 1}}}}
"""


def penstock(stages: int, rows: int, seed: int) -> Timed:
    written = read_yaml_text(scenario(stages, rows / RATE), "benchmark.yaml")
    begun_s = time.perf_counter()
    found = simulate(written, seed=seed)
    seconds = time.perf_counter() - begun_s
    return Timed("Penstock", found["rows_in"], seconds, found["latency_s"]["mean"])


def with_ciw(stages: int, rows: int, seed: int) -> Timed:
    arrivals = [ciw.dists.Exponential(RATE)] + [None] * (stages - 1)
    routing = [[1.0 if to == at + 1 else 0.0 for to in range(stages)] for at in range(stages)]
    network = ciw.create_network(
        arrival_distributions=arrivals,
        service_distributions=[ciw.dists.Exponential(1 / SERVICE_S)] * stages,
        number_of_servers=[SERVERS] * stages,
        routing=routing,
    )
    ciw.seed(seed)
    begun_s = time.perf_counter()
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(rows / RATE)
    records = simulation.get_all_records()
    seconds = time.perf_counter() - begun_s
    return Timed(
        "Ciw", len(records) // stages, seconds, float(np.mean([r.exit_date - r.arrival_date for r in records]))
    )


def with_simpy(stages: int, rows: int, seed: int) -> Timed:
    rng, sojourns = np.random.default_rng(seed), []
    gaps, works = rng.exponential(1 / RATE, rows), rng.exponential(SERVICE_S, (rows, stages))
    world = simpy.Environment()
    lines = [simpy.Resource(world, SERVERS) for _ in range(stages)]

    def row(n: int) -> Iterator[simpy.Event]:
        for line, work_s in zip(lines, works[n], strict=True):
            came_s = world.now
            with line.request() as turn:
                yield turn
                yield world.timeout(work_s)
            sojourns.append(world.now - came_s)

    def source() -> Iterator[simpy.Event]:
        for n in range(rows):
            yield world.timeout(gaps[n])
            world.process(row(n))

    begun_s = time.perf_counter()
    world.process(source())
    world.run()
    return Timed("SimPy", rows, time.perf_counter() - begun_s, float(np.mean(sojourns)))


def expected_sojourn_s() -> float:
    """Erlang's C; by Burke each stage of the tandem is such a queue."""
    a = SERVERS * LOAD
    top = a**SERVERS / math.factorial(SERVERS) / (1 - LOAD)
    waits = top / (sum(a**n / math.factorial(n) for n in range(SERVERS)) + top)
    return SERVICE_S + waits * SERVICE_S / (SERVERS - a)


def compare(name: str, stages: int) -> None:
    penstock(stages, 2000, 0)  # compiles, or loads what was compiled
    tools: list[tuple[Callable[[int, int, int], Timed], int]] = [
        (penstock, 2_000_000),
        (with_ciw, 20_000),
        (with_simpy, 20_000),
    ]
    print(f"{name}: mean time in a stage by theory {expected_sojourn_s():.4f} s")
    best: dict[str, float] = {}
    for tool, rows in tools:
        runs = [tool(stages, rows, seed) for seed in range(RUNS if rows < 1_000_000 else 3)]
        per_row = heapq.nsmallest(1, [r.us_per_row for r in runs])[0]
        error = float(np.mean([r.sojourn_s for r in runs])) / expected_sojourn_s() - 1
        best[runs[0].name] = per_row
        print(f"  {runs[0].name:9s} {per_row:8.3f} us a row, {rows} rows, mean {error:+.2%} from theory")
    fastest = min(best["Ciw"], best["SimPy"])
    print(f"  ratio to the faster of the two: {fastest / best['Penstock']:.0f} (wanted: 30)")


def main() -> None:
    compare("M/M/16 at 0.8", 1)
    compare("tandem of three", 3)


if __name__ == "__main__":
    main()
