"""The options that say how to regulate, the same for every command that does."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.objectives.parse import parse_objective
from penstock.objectives.utility import Promise, Utility
from penstock.policies.rule import Regulation, Rule
from penstock.regulation import read_policy_named, read_regulation


def add_regulation_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("regulation (none of these: the job is only watched)")
    group.add_argument(
        "--objective", action="append", default=[], metavar="TEXT", help='"p95 latency < 2s"; repeatable'
    )
    group.add_argument("--policy", metavar="NAME", help="static, schedule, chaos, or one of your own")
    group.add_argument("--schedule", type=Path, metavar="FILE", help="a YAML list of {at_s, component, parallelism}")
    group.add_argument("--min-parallelism", type=int, metavar="N")
    group.add_argument("--max-parallelism", type=int, metavar="N")
    group.add_argument("--config", type=Path, metavar="FILE", help="a regulation file: what holds for each query")
    group.add_argument("--seed", type=int, default=0, help="of what policies draw at random")


def regulation_of(arguments: argparse.Namespace) -> Regulation:
    """Options go over what the file says of `*`; what it says of a query by name goes over both."""
    _check_bounds(arguments.min_parallelism, arguments.max_parallelism)
    promises = tuple(Promise(parse_objective(text), Utility()) for text in arguments.objective) or None
    rule = Rule(promises, None, arguments.min_parallelism, arguments.max_parallelism)
    if arguments.schedule is not None:
        rule = replace(rule, policy=read_policy_named("schedule", {"file": str(arguments.schedule)}, "--schedule"))
    elif arguments.policy is not None:
        rule = replace(rule, policy=read_policy_named(arguments.policy, {}))
    options = Regulation.of(rule)
    return options.over(read_regulation(arguments.config)) if arguments.config else options


def _check_bounds(least: int | None, most: int | None) -> None:
    for option, bound in (("--min-parallelism", least), ("--max-parallelism", most)):
        if bound is not None and bound < 1:
            raise InvalidInput(f"{option} is {bound}, it is at least 1")
    if least is not None and most is not None and least > most:
        raise InvalidInput(f"--min-parallelism {least} is above --max-parallelism {most}")
