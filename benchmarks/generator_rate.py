"""How well the load generator keeps its rate: the largest error over any 10 s, from the stamps in its files.

    .venv/bin/python benchmarks/generator_rate.py --seconds 25

The generator runs as a process of its own, as users run it. A stamp says when a row became due, unless the generator
was too slow, so the script also prints the error by when rows could be read (over 10 s from each whole second, by the
log, where one file more or less is already 2% at 5 files a second), and how long after its stamp a row could be read
at worst.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WINDOW_S = 10.0
LIMIT_SHARE = 0.01
RUN = """
import argparse, sys
from penstock.cli import generate
parser = argparse.ArgumentParser()
generate.add_parser(parser.add_subparsers())
args = parser.parse_args(sys.argv[1:])
sys.exit(generate.run(args))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each rate; above 10 (default 60)")
    parser.add_argument("--format", default="parquet", choices=["parquet", "json", "csv"])
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    args = parser.parse_args()
    if args.seconds <= WINDOW_S:
        parser.error(f"a window has {WINDOW_S:g} s: ask for more --seconds than that")
    errors = [measure(rate, args.seconds, args.format) for rate in args.rates]
    print(f"largest error over any {WINDOW_S:g} s: {max(errors):.5f} (limit {LIMIT_SHARE})")
    return 0 if max(errors) <= LIMIT_SHARE else 1


def measure(rate_rows_per_s: int, seconds: float, row_format: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        rows, log = Path(folder, "rows"), Path(folder, "generator.jsonl")
        load = ["generate", "--rate", str(rate_rows_per_s), "--duration", str(seconds), "--to", f"files:{rows}"]
        command = [sys.executable, "-c", RUN, *load, "--format", row_format, "--log", str(log)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        stamps_us = np.sort(np.concatenate([read_stamps(path) for path in sorted(rows.iterdir())]))
        seconds_log = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    error = largest_error(stamps_us, rate_rows_per_s)
    handed_over = handed_over_error(seconds_log, rate_rows_per_s)
    summary = seconds_log[-1]["summary"]
    print(
        f"{rate_rows_per_s:>7} rows/s {row_format}: error by stamps {error:.5f} over {stamps_us.size} rows, "
        f"by when files could be read {handed_over:.5f}, late rows {summary['rows_late']}, "
        f"readable {summary['visible_after_s_max'] * 1000:.0f} ms after the stamp at most",
        flush=True,
    )
    return error


def read_stamps(path: Path) -> NDArray[np.int64]:
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.parquet

    if path.suffix == ".parquet":
        column: Any = pyarrow.parquet.read_table(path, columns=["ingress_us"])["ingress_us"]
    elif path.suffix == ".json":
        column = pyarrow.json.read_json(path)["ingress_us"]
    else:
        column = pyarrow.csv.read_csv(path, read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True))["f3"]
    return np.asarray(column.to_numpy(), dtype=np.int64)


def largest_error(stamps_us: NDArray[np.int64], rate_rows_per_s: int) -> float:
    """Over windows that begin at each millisecond of the run, as a share of the rows that a window should have."""
    last_start_us = int(stamps_us[-1] - WINDOW_S * 1e6)
    starts_us = np.arange(stamps_us[0], last_start_us + 1, 1000)
    rows = np.searchsorted(stamps_us, starts_us + int(WINDOW_S * 1e6)) - np.searchsorted(stamps_us, starts_us)
    wanted = rate_rows_per_s * WINDOW_S
    return float(np.abs(rows - wanted).max() / wanted)


def handed_over_error(seconds_log: list[dict[str, Any]], rate_rows_per_s: int) -> float:
    """The last two lines are the end, which is no whole second, and the summary."""
    written = np.array([line["rows_written"] for line in seconds_log[:-2]])
    wanted = rate_rows_per_s * WINDOW_S
    rows = written[int(WINDOW_S) :] - written[: -int(WINDOW_S)]
    return float(np.abs(rows - wanted).max() / wanted)


if __name__ == "__main__":
    sys.exit(main())
