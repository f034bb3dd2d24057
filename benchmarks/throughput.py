"""Throughput under Penstock over the same query on plain Spark, stateless and stateful. Goal: at least 0.97."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.side_by_side import ratio, run_job, scratch


def write_input(folder: Path, files: int, rows: int) -> None:
    folder.mkdir()
    for at in range(files):
        ids = np.arange(at * rows, (at + 1) * rows)
        pq.write_table(pa.table({"id": ids, "value": ids % 977}), folder / f"{at:04}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--files", type=int, default=48)
    parser.add_argument("--rows", type=int, default=250_000, help="in each file")
    options = parser.parse_args()
    with scratch() as folder:
        write_input(folder / "in", options.files, options.rows)
        for kind in ("stateless", "stateful"):
            ours, plain = [], []
            for _ in range(options.pairs):
                plain.append(run_job("drain.py", [folder / "in", kind], None)["rows_per_s"])
                ours.append(run_job("drain.py", [folder / "in", kind], [])["rows_per_s"])
            ratio(f"{kind}, rows/s under Penstock over plain", ours, plain, "at least 0.97")


if __name__ == "__main__":
    main()
