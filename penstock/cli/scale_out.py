"""penstock scale-out: where do k more units go? penstock scale-in: which units can go?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.allocate.measured import Question, Semantics
from penstock.cli.measured import Source, add_sources, apply, source_of
from penstock.errors import InvalidInput, PenstockError
from penstock.ids import ComponentId

if TYPE_CHECKING:
    from penstock.allocate.answer import Answer, Rates
    from penstock.allocate.scale_in import Release

# Named here too: importing the algorithms takes compiled code with it, which no other command should wait for.
ALGORITHMS = ("stela", "predictive", "predictive-knapsack", "residual", "combined", "exact", "greedy-bound")
RELEASES = ("exact", "fast")
COMPARED = ("stela", "predictive", "predictive-knapsack", "combined", "greedy-bound", "exact")
LOSS_KEYS = {Semantics.DROP: "dropped_rate", Semantics.THROTTLE: "dropped_rate", Semantics.BACKLOG: "backlog_growth"}
EXAMPLES = """examples:
  penstock scale-out topology.json --resources 3
  penstock scale-out topology.json --resources 8 --compare --plot increase.svg
  penstock scale-out topology.json --resources 3 --semantics throttle --algorithm combined --json
  penstock scale-out --run results --resources 2            what a recorded run would have needed
  penstock scale-out --attach results --resources 2 --apply
"""


def add_parser(subparsers: Any) -> None:
    out = subparsers.add_parser(
        "scale-out",
        help="say where more units go, and prove how good that is",
        description="Says which components get more units, what throughput that gives, and how far the best may be.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_question(out, ALGORITHMS, "how many units there are to spend")
    out.add_argument("--compare", action="store_true", help="a table of all algorithms for 1 to K units")
    out.add_argument("--plot", type=Path, metavar="FILE", help="the comparison as an SVG picture")
    out.set_defaults(run=run)
    back = subparsers.add_parser(
        "scale-in",
        help="say which units can go with the least loss",
        description="Says which components give up units so that the throughput falls least. Each keeps one.",
        epilog="example:\n  penstock scale-in topology.json --resources 2",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_question(back, RELEASES, "how many units are to go")
    back.set_defaults(run=run_in)


def _add_question(parser: argparse.ArgumentParser, algorithms: Sequence[str], resources: str) -> None:
    add_sources(parser)
    parser.add_argument("--resources", type=int, required=True, metavar="K", help=resources)
    parser.add_argument("--algorithm", choices=algorithms, default="exact", help="default: exact")
    parser.add_argument(
        "--semantics",
        choices=list(Semantics),
        help="what becomes of rows that do not fit; default: drop, of a topology on Spark backlog",
    )
    parser.add_argument("--sources", action="store_true", help="sources generate their rows: units there make more")
    parser.add_argument("--margin", type=float, default=0.0, metavar="SHARE", help="of each capacity to leave free")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, metavar="SHARE", help="an input this far over capacity is no congestion"
    )
    parser.add_argument("--apply", action="store_true", help="with --attach: change the topology that runs")
    parser.add_argument("--json", action="store_true", help="the answer as JSON, on the last line")


def run(arguments: argparse.Namespace) -> int:
    from penstock.allocate.answer import rates_of
    from penstock.allocate.registry import allocated

    source = source_of(arguments)
    question = _question(arguments, source)
    compared = _compared(question) if arguments.compare or arguments.plot else []
    if arguments.compare:
        print(_table(compared))
    if arguments.plot:
        arguments.plot.write_text(picture(compared))
    answer = allocated(arguments.algorithm, question)
    rates = rates_of(question.topology, answer.extra, question.semantics)
    if arguments.apply:
        apply(source, answer.extra, answer.why)
    if arguments.json:
        print(json.dumps(_as_json(question, answer, rates)))
    elif not arguments.compare:
        print(_as_text(answer, rates))
    return 0


def run_in(arguments: argparse.Namespace) -> int:
    from penstock.allocate.answer import rates_of
    from penstock.allocate.scale_in import release_exact, release_fast

    source = source_of(arguments)
    question = _question(arguments, source)
    release = release_exact(question) if arguments.algorithm == "exact" else release_fast(question)
    fewer = {c: -n for c, n in release.removed.items()}
    rates = rates_of(question.topology, fewer, question.semantics)
    if arguments.apply:
        apply(source, fewer, release.why)
    if arguments.json:
        print(json.dumps(_release_as_json(question, release, rates)))
        return 0
    removed = ", ".join(f"{c}: {n}" for c, n in release.removed.items())
    print(f"remove {{{removed}}}  ({release.algorithm}: {release.why})")
    print(f"throughput {release.throughput_before_rows_per_s:.6g} -> {release.throughput_rows_per_s:.6g} rows/s")
    return 0


def _question(arguments: argparse.Namespace, source: Source) -> Question:
    if arguments.resources < 0:
        raise InvalidInput(f"--resources is {arguments.resources}, it is at least 0")
    for option, share in (("--margin", arguments.margin), ("--tolerance", arguments.tolerance)):
        if not 0 <= share < 1:
            raise InvalidInput(f"{option} is {share:g}, it is at least 0 and below 1")
    semantics = Semantics(arguments.semantics) if arguments.semantics else source.semantics
    return Question(
        source.reading.topology,
        arguments.resources,
        semantics,
        arguments.sources,
        arguments.margin,
        arguments.tolerance,
    )


def _as_json(question: Question, answer: Answer, rates: Mapping[ComponentId, Rates]) -> dict[str, Any]:
    return {
        "algorithm": answer.algorithm,
        "allocation": dict(answer.extra),
        "safe_allocation": None if answer.safe_extra is None else dict(answer.safe_extra),
        "unspent": answer.unspent,
        "throughput_before": answer.throughput_before_rows_per_s,
        "throughput": answer.throughput_rows_per_s,
        "throughput_increase": answer.increase_rows_per_s,
        "upper_bound": answer.upper_bound_rows_per_s,
        "gap": answer.gap_share,
        "per_component": _components_as_json(question, rates),
        "why": answer.why,
    }


def _release_as_json(question: Question, release: Release, rates: Mapping[ComponentId, Rates]) -> dict[str, Any]:
    return {
        "algorithm": release.algorithm,
        "removal": dict(release.removed),
        "throughput_before": release.throughput_before_rows_per_s,
        "throughput": release.throughput_rows_per_s,
        "throughput_decrease": release.decrease_rows_per_s,
        "upper_bound": release.upper_bound_rows_per_s,
        "gap": release.gap_share,
        "per_component": _components_as_json(question, rates),
        "why": release.why,
    }


def _components_as_json(question: Question, rates: Mapping[ComponentId, Rates]) -> dict[str, Any]:
    loss = LOSS_KEYS[question.semantics]
    return {
        c.id: {
            "resources": rates[c.id].units,
            "input_rate": None if c.is_source else rates[c.id].input_rows_per_s,
            "processing_rate": None if c.is_source else rates[c.id].processed_rows_per_s,
            loss: rates[c.id].lost_rows_per_s,
            "output_rate": rates[c.id].output_rows_per_s,
            "max_processing_rate": None if c.is_source else rates[c.id].capacity_rows_per_s,
        }
        for c in question.topology.components
    }


def _as_text(answer: Answer, rates: Mapping[ComponentId, Rates]) -> str:
    bound, gap = answer.upper_bound_rows_per_s or 0.0, answer.gap_share or 0.0
    lines = [
        f"allocation       {_named(answer.extra)}  ({answer.algorithm}: {answer.why})",
        f"throughput       {answer.throughput_before_rows_per_s:.6g} -> {answer.throughput_rows_per_s:.6g} rows/s",
        f"best possible    at most {bound:.6g} rows/s, a gap of {gap:.2%}",
        f"unspent          {answer.unspent}",
    ]
    if answer.safe_extra is not None:
        lines.insert(1, f"safe allocation  {_named(answer.safe_extra)}")
    still = [f"{c} ({r.lost_rows_per_s:.6g} rows/s too many)" for c, r in rates.items() if r.lost_rows_per_s > 1e-9]
    return "\n".join([*lines, f"still congested  {', '.join(still) or 'none'}"])


def _named(extra: Mapping[Any, int]) -> str:
    return "{" + ", ".join(f"{c}: {n}" for c, n in extra.items()) + "}"


def _compared(question: Question) -> list[dict[str, float]]:
    """The increase by algorithm for 1 to K units. The search of `exact` is shared out over the K questions."""
    from dataclasses import replace

    from penstock.allocate.exact import WORK_LIMIT, exact
    from penstock.allocate.registry import ALGORITHMS as RULES

    found = []
    for units in range(1, question.extra_units + 1):
        asked = replace(question, extra_units=units)
        best = exact(asked, WORK_LIMIT // question.extra_units)
        row = {name: RULES[name](asked).increase_rows_per_s for name in COMPARED if name != "exact"}
        found.append({**row, "exact": best.increase_rows_per_s, "at most": _most(best)})
    return found


def _most(best: Answer) -> float:
    return (best.upper_bound_rows_per_s or best.throughput_rows_per_s) - best.throughput_before_rows_per_s


def _table(compared: list[dict[str, float]]) -> str:
    if not compared:
        return "units"
    names = list(compared[0])
    lines = ["units  " + "  ".join(f"{name:>12}" for name in names)]
    for units, row in enumerate(compared, start=1):
        lines.append(f"{units:>5}  " + "  ".join(f"{row[name]:>{max(12, len(name))}.2f}" for name in names))
    return "\n".join([*lines, "increase of the throughput in rows/s; no allocation gains more than the last column"])


COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#a463f2", "#222222")
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 400, 80, 50


def picture(compared: list[dict[str, float]]) -> str:
    """An SVG: units across, the increase of each algorithm upwards."""
    highest = max([max(row[n] for n in COMPARED) for row in compared], default=0.0) or 1.0
    body = [_axes(len(compared), highest)]
    for at, (name, colour) in enumerate(zip(COMPARED, COLOURS, strict=True)):
        points = " ".join(
            "{:.1f},{:.1f}".format(*_place(units, row[name], len(compared), highest))
            for units, row in enumerate(compared, start=1)
        )
        body.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body.append(f'<text x="{LEFT + 12}" y="{28 + 18 * at}" fill="{colour}">{escape(name)}</text>')
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    style = 'font-family="sans-serif" font-size="13"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(body) + "\n</svg>\n"


def _place(units: int, increase: float, most_units: int, highest: float) -> tuple[float, float]:
    across = (units - 1) / max(most_units - 1, 1)
    return LEFT + across * (WIDTH - LEFT - 20), HEIGHT - BOTTOM - increase / highest * (HEIGHT - BOTTOM - 20)


def _axes(most_units: int, highest: float) -> str:
    floor = HEIGHT - BOTTOM
    return "\n".join(
        [
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            f'<path d="M{LEFT},10 V{floor} H{WIDTH - 10}" fill="none" stroke="#888"/>',
            f'<text x="{LEFT - 8}" y="24" text-anchor="end">{highest:.4g}</text>',
            f'<text x="{LEFT - 8}" y="{floor}" text-anchor="end">0</text>',
            f'<text x="{LEFT}" y="{floor + 18}">1</text>',
            f'<text x="{WIDTH - 20}" y="{floor + 18}" text-anchor="end">{most_units}</text>',
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">units added; upwards: rows/s gained</text>',
        ]
    )


def main(words: Sequence[str] | None = None) -> int:
    top = argparse.ArgumentParser(prog="penstock")
    add_parser(top.add_subparsers(required=True, metavar="COMMAND"))
    arguments = top.parse_args(words)
    try:
        return int(arguments.run(arguments))
    except PenstockError as error:
        print(f"penstock: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
