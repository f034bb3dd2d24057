"""Tables 6.2, 6.4, 6.6 and 6.8 of Puttaswamy's thesis, cell by cell, beside what Penstock finds.

    python -m benchmarks.reproduce.scale_out_tables

Tables 6.1, 6.5 and 6.7, the inputs, have one misprinted row each; `examples/scale_out/` holds the repaired ones. Exits
with 1 where a cell that can follow from its input does not.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from penstock.allocate.answer import Answer, throughput
from penstock.allocate.measured import MeasuredTopology, Question, Semantics
from penstock.allocate.predictive import predictive
from penstock.allocate.read import read
from penstock.allocate.stela import stela
from penstock.ids import ComponentId

EXAMPLES = Path(__file__).parents[2] / "examples" / "scale_out"


@dataclass(frozen=True, slots=True)
class Cell:
    """One allocation as printed, and why it cannot follow where it cannot."""

    units: int
    column: str
    allocation: dict[str, int]
    increase: float
    why_not: str = ""


TREE_ROWS = (
    Cell(1, "Stela", {"4": 1}, 100),
    Cell(1, "Our approach", {"3": 1}, 200),
    *(Cell(2, c, {"2": 1, "4": 1}, 500) for c in ("Stela", "Our approach")),
    *(Cell(3, c, {"2": 1, "3": 1, "4": 1}, 700) for c in ("Stela", "Our approach")),
    *(Cell(4, c, {"2": 1, "3": 2, "4": 1}, 900) for c in ("Stela", "Our approach")),
)
JOIN = "component 4 has a headroom of 300; K = 2 needs one of 250, K = 3 one of 350"
TABLES: dict[str, tuple[str, tuple[Cell, ...]]] = {
    "6.2 (linear, source repaired to 600)": (
        "linear",
        tuple(
            Cell(units, column, extra, gained)
            for units, extra, gained in ((1, {"3": 1}, 150), (2, {"2": 1, "3": 1}, 250), (3, {"2": 1, "3": 2}, 350))
            for column in ("Stela", "Our approach")
        ),
    ),
    "6.4 (diamond, beyond repair)": (
        "diamond",
        (
            Cell(1, "Stela", {"2": 1}, 150, JOIN + "; the tie of 2 and 3 goes to the larger increase"),
            *(Cell(1, c, {"3": 1}, 200) for c in ("Stela", "Our approach")),
            Cell(2, "Stela", {"2": 1, "3": 1}, 250, JOIN),
            Cell(2, "Our approach", {"2": 1, "3": 1}, 250, JOIN + "; {3: 2} gains as much and is safe"),
            *(Cell(3, c, {"2": 1, "3": 2}, 350, JOIN) for c in ("Stela", "Our approach")),
            *(Cell(4, c, {"2": 1, "3": 2, "4": 1}, 400) for c in ("Stela", "Our approach")),
        ),
    ),
    "6.6 (simple tree, component 3 repaired to 800/200/200)": ("simple_tree", TREE_ROWS),
    "6.8 (topology 17, component 9 repaired to 1200/2000/1000)": (
        "topology_17",
        (
            Cell(1, "Stela", {"6": 1}, 40),
            Cell(2, "Stela", {"6": 1, "9": 1}, 140),
            Cell(3, "Stela", {"6": 1, "9": 2, "17": 1}, 200, "4 units for K = 3; {6: 1, 9: 1, 17: 1} gains 200"),
            Cell(1, "Our approach", {"16": 1}, 500),
            Cell(2, "Our approach", {"16": 2}, 700),
            Cell(3, "Our approach", {"11": 1, "16": 2}, 1000),
        ),
    ),
}


def main() -> None:
    wrong = 0
    for title, (name, cells) in TABLES.items():
        topology = read(json.loads((EXAMPLES / f"{name}.json").read_text())).topology
        print(f"\ntable {title}")
        wrong += sum(_differs(topology, cell) for cell in cells)
    print(f"\n{wrong} cells differ that should not")
    sys.exit(1 if wrong else 0)


def _differs(topology: MeasuredTopology, cell: Cell) -> bool:
    question = Question(topology, cell.units)
    found = stela(question) if cell.column == "Stela" else predictive(question)
    same = _same(found, cell)
    mark = "same" if same else f"not printed so: {cell.why_not}" if cell.why_not else "DIFFERS"
    printed = f"{_named(cell.allocation)} {cell.increase:g}"
    ours = f"{_named(found.extra)} {found.increase_rows_per_s:g}"
    print(f"  K={cell.units} {cell.column:12} {printed:26} found {ours:26} {mark}")
    if not same and cell.why_not:
        before = throughput(topology, {}, Semantics.DROP)
        named = {ComponentId(c): n for c, n in cell.allocation.items()}
        gained = throughput(topology, named, Semantics.DROP) - before
        print(f"       the printed allocation gains {gained:g} in the model")
    return not same and not cell.why_not


def _same(found: Answer, cell: Cell) -> bool:
    return found.extra == cell.allocation and abs(found.increase_rows_per_s - cell.increase) < 1e-6


def _named(extra: object) -> str:
    return str(extra).replace("'", "")


if __name__ == "__main__":
    main()
