"""The command table, and error -> exit code. Nothing else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from penstock import __version__
from penstock.cli import attach, conf, demo, doctor, generate, report, run, runs, scale_out, simulate, sweep
from penstock.errors import PenstockError

COMMANDS = (run, attach, conf, doctor, report, runs, generate, demo, simulate, sweep, scale_out)
EPILOG = """start here:
  penstock demo                 a word count with a load step, and its report
  penstock run job.py           your own job, not a line of it changed
  penstock COMMAND --help       what each command does, with examples
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="penstock",
        description="Service level objectives for Spark Structured Streaming.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"penstock {__version__}")
    subparsers = top.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(subparsers)
    return top


def main(words: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    try:
        return int(arguments.run(arguments))
    except PenstockError as error:
        print(f"penstock: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
