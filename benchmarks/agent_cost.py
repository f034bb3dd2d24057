"""What the switch and the agent cost the driver: CPU for each batch over plain Spark, and bytes of facts a batch."""

from __future__ import annotations

import argparse

from benchmarks.side_by_side import ratio, run_job, scratch


def fact_bytes_a_batch(queries: int, seconds: float) -> float:
    with scratch() as folder:
        run_job("many.py", [queries, seconds], ["--out", folder / "run"])
        facts = (folder / "run" / "facts.jsonl").read_text().splitlines()
    return sum(map(len, facts)) / sum('"progress"' in line for line in facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--queries", type=int, nargs="*", default=[1, 10, 50])
    options = parser.parse_args()
    for queries in options.queries:
        ours, plain = [], []
        for _ in range(options.pairs):
            plain.append(run_job("many.py", [queries, options.seconds], None)["cpu_s_a_batch"])
            ours.append(run_job("many.py", [queries, options.seconds], [])["cpu_s_a_batch"])
        ratio(f"{queries} queries, CPU seconds a batch", ours, plain, "near 1")
        print(f"  {fact_bytes_a_batch(queries, options.seconds):.0f} bytes of facts a batch")


if __name__ == "__main__":
    main()
