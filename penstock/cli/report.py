"""penstock report: make the report of a run again, from what the run recorded."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from penstock.errors import InvalidInput
from penstock.report.write import write_report
from penstock.run_directory import RunDirectory, kept_runs


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "report",
        help="make the report of a run again",
        description="Makes the report of a run again, from what the run recorded; prints where it is.",
    )
    parser.add_argument("directory", nargs="?", type=Path, metavar="DIR", help="the run's folder (default: the newest)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    kept = RunDirectory(arguments.directory) if arguments.directory else next(kept_runs(), None)
    if kept is None:
        raise InvalidInput("no run is kept yet: name a run's folder, or make a run with `penstock run`")
    write_report(kept)
    print(kept.report)
    return 0
