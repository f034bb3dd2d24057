"""penstock conf: what a production spark-submit adds."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from penstock.engines.spark import door


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "conf",
        help="print what a production spark-submit adds",
        description="Prints what a spark-submit line of your own adds, so that `penstock attach` can find the driver.",
        epilog='example:\n  eval "$(penstock conf --run-dir /var/run/clicks)"\n'
        "  spark-submit $PENSTOCK_OPTIONS job.py &\n  penstock attach /var/run/clicks --policy chaos",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run-dir", type=Path, required=True, metavar="DIR", help="where the driver meets Penstock")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Lines for a shell. The token lies in the run directory, readable by its owner: it is not printed."""
    door.prepare(arguments.run_dir)
    print("# the run directory holds the token (0600) and, once the driver is up, its address")
    print(f"export PENSTOCK_RUN={shlex.quote(str(arguments.run_dir.resolve()))}")
    print(f"export PENSTOCK_OPTIONS={shlex.quote(f'--jars {door.jar()}')}")
    print(f'export SPARK_SUBMIT_OPTS="{door.DRIVER_OPTIONS} ${{SPARK_SUBMIT_OPTS:-}}"')
    return 0
