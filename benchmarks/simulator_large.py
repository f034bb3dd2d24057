"""Large worlds and long times in fidelity `counts`, through `penstock simulate`'s own path.

.venv/bin/python benchmarks/simulator_large.py            the two worlds of issue 3
.venv/bin/python benchmarks/simulator_large.py curve      cost of a step from 100 to 100,000 substreams
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

from penstock.cli.simulate import simulate
from penstock.files import read_yaml_text


def scenario(substreams: int, instances: int, times: tuple[float, float, float], policy: str = "") -> str:
    duration_s, step_s, observe_s = times
    return f"""
version: 1
duration_s: {duration_s}
step_s: {step_s}
observe_s: {observe_s}
topologies:
  large:
    topology:
      components:
        work: {{parallelism: {instances}, substreams: {substreams}}}
    execution:
      kind: continuous
      switching: {{pause: involved, fixed_s: 0.5}}
      components:
        work: {{rows_per_s: 1000}}
    traffic:
      work:
        sinusoid: {{base_rows_per_s: {600 * instances}, amplitude_rows_per_s: {300 * instances}, period_s: 3600}}
        cv: 1
    objectives: {{work: [mean latency < 1s]}}
    {policy}
"""


SCHEDULE = """policy:
      name: schedule
      changes: [{at_s: 3600, component: work, parallelism: 20}, {at_s: 7200, component: work, parallelism: 16}]"""
EVERY_STEP = "policy: {name: static}"


def timed(text: str) -> tuple[float, dict[str, Any]]:
    """Seconds of the processor: what others do on this machine at the same time does not count."""
    written = read_yaml_text(text, "benchmark.yaml")
    begun_s = time.process_time()
    found = simulate(written)
    return time.process_time() - begun_s, found


def worlds() -> None:
    timed(scenario(4, 2, (10, 1, 1)))
    four_hours = 4 * 3600.0
    for name, text, limit_s in (
        ("4 h, 64 substreams, 16 instances, 100 ms, schedule", scenario(64, 16, (four_hours, 0.1, 1.0), SCHEDULE), 5),
        ("the same, nobody regulates", scenario(64, 16, (four_hours, 0.1, 1.0)), 5),
        ("the same, a policy that decides at every step", scenario(64, 16, (four_hours, 0.1, 0.1), EVERY_STEP), 10),
        ("1 h, 10,000 substreams, 1,000 instances, 1 s", scenario(10_000, 1_000, (3600.0, 1.0, 1.0)), 10),
    ):
        seconds, found = timed(text)
        peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        print(f"{name}: {seconds:.1f} s (wanted: {limit_s}, ratio {seconds / limit_s:.2f}), peak {peak_gib:.2f} GiB")
        print(f"  {found['rows_in']} rows in, {found['pending']} pending, p95 {found['latency_s']['p95']:.4f} s")


def curve() -> None:
    timed(scenario(4, 2, (10, 1, 1)))
    print("substreams instances ms/step us/step/(substreams+instances)")
    for substreams in (100, 1_000, 10_000, 100_000):
        instances, steps = substreams // 10, max(20, 400_000 // substreams)
        seconds, _ = timed(scenario(substreams, instances, (float(steps), 1.0, 1.0)))
        each_s = seconds / steps
        print(f"{substreams:10d} {instances:9d} {1e3 * each_s:7.3f} {1e6 * each_s / (substreams + instances):8.4f}")


if __name__ == "__main__":
    curve() if sys.argv[1:] == ["curve"] else worlds()
