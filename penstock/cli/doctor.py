"""penstock doctor: is it attached, what does it regulate, and why not the rest."""

from __future__ import annotations

import argparse
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from penstock.engines.spark import door
from penstock.engines.spark.advice import advice
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.engine import SparkEngine
from penstock.engines.spark.java import find_java
from penstock.errors import PenstockError


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="is it attached, what does it regulate, and why not the rest",
        description="Checks this machine and, where a run directory is given, the driver that runs there.",
    )
    parser.add_argument(
        "run_dir", type=Path, nargs="?", metavar="DIR", help="a run directory: see `penstock run --out`"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    found = [_check("java", find_java), _check("pyspark", lambda: version("pyspark")), _check("jar", door.jar)]
    if door.is_off(os.environ):
        print(f"off      {door.OFF} is set: a job that is started from here runs without Penstock")
    if arguments.run_dir is not None:
        found.append(_check("agent", lambda: _answering(Agent.in_directory(arguments.run_dir))))
        if found[-1]:
            _describe(Agent.in_directory(arguments.run_dir))
    return 0 if all(found) else 1


def _check(what: str, look: Any) -> bool:
    try:
        print(f"{what:8} ok       {look()}")
    except PenstockError as error:
        print(f"{what:8} missing  {error}")
        return False
    return True


def _answering(agent: Agent) -> str:
    """An address may be left over from a driver that is gone."""
    agent.state()
    return agent.url


def _describe(agent: Agent) -> None:
    engine = SparkEngine(agent)
    engine.observe()
    deployment, ledger = engine.describe(), engine.ledger
    print(f"attached to {ledger.topology_id} on {ledger.driver.get('master')}: {deployment.slots} slots")
    for query in ledger.queries.values():
        if not query.running:
            continue
        why = f"not regulated: {query.unregulated}" if query.unregulated else f"{query.parallelism} instances"
        print(
            f"  {query.name}: {why}, {query.state_partitions or 'no'} state partitions, arrivals {query.arrivals_how}"
        )
    for sentence in advice(ledger).values():
        print(f"  warning: {sentence}")
