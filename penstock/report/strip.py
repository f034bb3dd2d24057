"""Heat strips: one row for each instance or substream, time across, the shade says how much."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from penstock.observe.snapshot import Array
from penstock.report.plot import Key, Plot, Span, boxes, path
from penstock.report.scale import Tick, TimeScale
from penstock.report.series import Slice

SHADES = 8
MOST_COLUMNS = 150
MOST_ROWS = 48  # more are shown in groups, each by its busiest
ROW_PX = (5, 14)
HEIGHT_PX = 150


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """`values[row, column]`, NaN where nothing is known; one span of time for each column."""

    values: Array
    columns: tuple[Span, ...]

    @property
    def highest(self) -> float:
        known = self.values[~np.isnan(self.values)]
        return float(known.max()) if known.size else 0.0


def grid_of(slices: Sequence[Slice], amounts: Callable[[Slice], Array | None], time: TimeScale) -> Grid:
    """Amounts per second, by row and slice."""
    found = [amounts(s) for s in slices]
    rows = max((a.size for a in found if a is not None), default=0)
    values = np.full((rows, len(slices)), np.nan)
    for column, (piece, amount) in enumerate(zip(slices, found, strict=True)):
        if amount is not None and piece.duration_s > 0:
            values[: amount.size, column] = amount / piece.duration_s
    return Grid(values, tuple((time.at(s.start_s), time.at(s.end_s)) for s in slices))


def grouped(grid: Grid, most: int = MOST_ROWS) -> tuple[Grid, int]:
    """Neighbouring rows as one, its value the highest of them; and how many rows that makes one."""
    rows = grid.values.shape[0]
    each = max(1, math.ceil(rows / most))
    parts = [grid.values[i : i + each] for i in range(0, rows, each)]
    tops = [np.where(np.isnan(p).all(axis=0), np.nan, np.fmax.reduce(p, axis=0)) for p in parts]
    return Grid(np.array(tops) if tops else grid.values, grid.columns), each


def cells(grid: Grid, full: float, css: str) -> tuple[str, ...]:
    """One path for each shade; a row's neighbours of one shade are one box."""
    shade = np.zeros(grid.values.shape, dtype=int)
    known = ~np.isnan(grid.values)
    shade[known] = np.clip(np.ceil(grid.values[known] / (full or 1.0) * SHADES), 0, SHADES)
    rows = grid.values.shape[0]
    found: list[list[tuple[Span, Span]]] = [[] for _ in range(SHADES + 1)]
    for row in range(rows):
        up = (1 - (row + 0.94) / rows, 1 - (row + 0.06) / rows)
        states = [int(level) if told else -1 for level, told in zip(shade[row], known[row], strict=True)]
        for level, run in groupby(range(len(states)), states.__getitem__):
            columns = list(run)
            if level >= 0:
                found[level].append(((grid.columns[columns[0]][0], grid.columns[columns[-1]][1]), up))
    return tuple(path(boxes(found[level]), f"cell {css} s{level}") for level in range(SHADES + 1))


def strip(title: str, grid: Grid, full: float, legend: Key, note: str) -> Plot:
    shown, each = grouped(grid)
    rows = shown.values.shape[0]
    more = f"; each line is the busiest of {each}" if each > 1 else ""
    px = max(ROW_PX[0], min(ROW_PX[1], HEIGHT_PX // max(rows, 1)))
    return Plot(
        title,
        row_ticks(rows, each, px),
        cells(shown, full, legend.css),
        (legend,),
        note=note + more,
        height_px=max(px * rows, 18),
        grid=False,
    )


def row_ticks(rows: int, each: int, row_px: int) -> tuple[Tick, ...]:
    """Numbers of as many rows as can be read.

    >>> [t.label for t in row_ticks(8, 1, 14)], [t.label for t in row_ticks(48, 2, 5)]
    (['0', '1', '2', '3', '4', '5', '6', '7'], ['0', '10', '20', '30', '40', '50', '60', '70', '80', '90'])
    """
    apart = next(n for n in (1, 2, 5, 10, 20, 50) if n * row_px >= 13)
    return tuple(Tick(1 - (row + 0.5) / rows, str(row * each)) for row in range(0, rows, apart))
