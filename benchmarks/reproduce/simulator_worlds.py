"""What the papers say of their worlds, and what the simulator makes of it.

    .venv/bin/python benchmarks/reproduce/simulator_worlds.py

- Caladrius 3.5: a bolt's throughput rises with the load and is flat from the saturation point; parallelism scales that.
- Heron's backpressure (Dhalion 3.2): an overload of 1.25 stops the sources a fifth of the time.
- StreamSwitch 6.1: rows, mean rate, openings and the heaviest keys of the order trace.
"""

from __future__ import annotations

import numpy as np

from penstock.cli.simulate import simulate, written_scenario
from penstock.files import read_yaml_text
from penstock.reading import Written
from penstock.simulator.parse import read_scenario
from penstock.simulator.simulation import Simulation
from penstock.simulator.traffic import zipf

BOLT_ROWS_PER_S = 1000.0


def spout_and_bolt(offered_rows_per_s: float, bolts: int, duration_s: float) -> Written:
    return read_yaml_text(
        f"""
version: 1
duration_s: {duration_s}
step_s: 0.1
observe_s: 1
topologies:
  t:
    topology:
      components:
        spout: {{parallelism: 1}}
        bolt: {{parallelism: {bolts}, inputs: [spout]}}
    execution:
      kind: continuous
      pressure: {{kind: backpressure, high_rows: 1000, low_rows: 500}}
      components: {{spout: {{rows_per_s: {offered_rows_per_s}}}, bolt: {{rows_per_s: {BOLT_ROWS_PER_S}}}}}
    traffic: {{spout: {{rows_per_s: {2 * offered_rows_per_s}}}}}
""",
        "reproduce.yaml",
    )


def saturation() -> None:
    print("Caladrius 3.5: bolt throughput, rows/s (offered; 1, 2, 3, 4 instances)")
    for offered in (500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500):
        found = [simulate(spout_and_bolt(offered, bolts, 120.0))["rows_out"] / 120 for bolts in (1, 2, 3, 4)]
        print(f"  {offered:5d}  " + "  ".join(f"{rate:7.1f}" for rate in found))


def stopped() -> None:
    simulation = Simulation(read_scenario(spout_and_bolt(1.25 * BOLT_ROWS_PER_S, 1, 1200.0)).scenario)
    seen = []
    while (snapshot := simulation.observe()) is not None:
        seen.append(next(s.suspended_s or 0.0 for t, s in snapshot.components.items() if t.component == "spout"))
    print(f"Heron, overload 1.25: sources stopped {np.mean(seen[60:]):.1%} of the time (expected 20%)")


def orders() -> None:
    found = simulate(written_scenario("streamswitch-orders"))
    stocks = zipf(1156, 0.6)
    print("StreamSwitch 6.1, the order trace (paper in brackets)")
    print(f"  {found['rows_in']} orders (14,854,215), {found['rows_in'] / 14_400:.1f}/s (1,031.5)")
    print(f"  top 11 stocks {stocks[:11].sum():.1%} (> 10%), heaviest {stocks[0]:.1%} (> 2%)")


if __name__ == "__main__":
    saturation()
    stopped()
    orders()
