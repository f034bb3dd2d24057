"""penstock sweep: one scenario under every combination of settings, over the cores; one tidy table and its plot."""

from __future__ import annotations

import argparse
import copy
import csv
import itertools
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from penstock.cli.simulate import simulate, written_scenario
from penstock.cli.sweep_plot import plot
from penstock.errors import InvalidInput
from penstock.files import read_yaml
from penstock.reading import Written, probably_meant

EPILOG = """a sweep file:
  version: 1
  scenario: word-count            # a file beside this one, or a name from the gallery
  grid:
    seed: [1, 2, 3]
    topologies.word-count.policy: [static, chaos]
    topologies.word-count.topology.components.count.parallelism: [1, 2, 4]
"""
Setting = dict[str, Any]
FIGURES = ("rows_in", "rows_out", "pending", "success_share", "mean_instances", "instance_seconds", "batches")
LATENCIES = ("mean", "p50", "p95", "p99", "max")


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "sweep",
        help="simulate a scenario under every combination of settings",
        description="Simulates a scenario under every combination of settings; writes a CSV table and an SVG plot.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="the sweep, as YAML")
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="where the table goes (else beside the sweep)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes at once")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    name, settings = read_sweep(arguments.file)
    out: Path = arguments.out or arguments.file.with_suffix(".csv")
    rows = swept(name, settings, arguments.jobs)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    out.with_suffix(".svg").write_text(plot(rows, list(settings[0])), encoding="utf-8")
    print(f"{len(rows)} runs: {out}, {out.with_suffix('.svg')}")
    return 0


def read_sweep(path: Path) -> tuple[str, list[Setting]]:
    """The scenario's name, and every combination of the grid. Raises InvalidInput with all problems."""
    written = read_yaml(path)
    top = written.fields(known=("version", "scenario", "grid"), required=("version", "scenario", "grid"))
    if "version" in top and top["version"].value != 1:
        top["version"].wrong(f"version is {top['version'].value!r}: this Penstock reads version 1")
    grid = {key: _values(part) for key, part in top["grid"].fields().items()} if "grid" in top else {}
    name = top["scenario"].text() if "scenario" in top else None
    if not written.problems and not grid:
        top["grid"].wrong("the grid is empty: name at least one setting and its values")
    if written.problems or name is None:
        raise InvalidInput(written.problems)
    beside = path.parent / name
    settings = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    scenario = str(beside) if beside.exists() else name
    for key in grid:
        _check(key, written_scenario(scenario), top["grid"].at(key, None))
    if written.problems:
        raise InvalidInput(written.problems)
    return scenario, settings


def _values(written: Written) -> list[Any]:
    values = [item.value for item in written.items()]
    if not values and isinstance(written.value, list):
        written.wrong(f"{written.name} lists no values")
    return values


def _check(key: str, scenario: Written, here: Written) -> None:
    """Every key but the last leads somewhere: the last one may be new."""
    place: Any = scenario.value
    for step in key.split(".")[:-1]:
        if not isinstance(place, dict) or step not in place:
            here.wrong(f"{key}: the scenario has no {step!r} there: {probably_meant(step, map(str, place or ()))}")
            return
        place = place[step]


def with_setting(scenario: Written, setting: Mapping[str, Any]) -> Written:
    """The same scenario, other values at dotted keys."""
    value = copy.deepcopy(scenario.value)
    for key, chosen in setting.items():
        place: Any = value
        *way, last = key.split(".")
        for step in way:
            place = place[step]
        place[last] = chosen
    return Written(value, scenario.where)


def swept(name: str, settings: Sequence[Setting], jobs: int) -> list[Setting]:
    """One row for each combination, in the order of the grid; fresh processes, so that no run sees another."""
    if jobs <= 1 or len(settings) == 1:
        return [_run_one((name, setting)) for setting in settings]
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(settings)), mp_context=fresh) as pool:
        return list(pool.map(_run_one, [(name, setting) for setting in settings]))


def _run_one(task: tuple[str, Setting]) -> Setting:
    name, setting = task
    found = simulate(with_setting(written_scenario(name), setting))
    told = {key: value if isinstance(value, int | float | str) else repr(value) for key, value in setting.items()}
    return {**told, **dict(_figures(found))}


def _figures(found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for figure in FIGURES:
        yield figure, found[figure]
    for figure in LATENCIES:
        yield f"latency_{figure}_s", found["latency_s"][figure]
    yield "changes", len(found["changes"])
