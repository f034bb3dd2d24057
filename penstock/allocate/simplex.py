"""A bounded simplex on one small dense tableau, for the relaxation that `relaxation.py` states.

Only nonbasic columns are kept, each variable at 0: one at its upper bound is replaced by its distance from it
(`flipped`). What it returns need not be trusted: the bound that is drawn from it holds whatever it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from penstock.allocate.network import Flags, Floats, Ints

TINY = 1e-9
COLUMN_COST = 16  # reading a column takes as long as writing so many cells for each row


class Tableau(NamedTuple):
    """Row 0 is the objective, to be maximised. Variables are numbered: columns first, then one slack for each row."""

    cells: Floats
    right: Floats
    upper: Floats
    basic: Ints
    nonbasic: Ints
    flipped: Flags


@njit(cache=True)
def tableau_of(cells: Floats, right: Floats, column_upper: Floats) -> Tableau:
    rows, columns = cells.shape[0] - 1, cells.shape[1]
    upper = np.full(columns + rows, np.inf)
    upper[:columns] = column_upper
    basic = np.arange(columns - 1, columns + rows)
    return Tableau(cells, right, upper, basic, np.arange(columns), np.zeros(columns + rows, dtype=np.bool_))


@njit(cache=True)
def maximise(tab: Tableau, most_pivots: int) -> int:
    """Pivots until no column improves; returns the work: cells written, and as much as the rest took."""
    written = 8 * tab.cells.size
    for _ in range(most_pivots):
        column = np.argmax(tab.cells[0])
        if tab.cells[0, column] <= TINY:
            break
        row, to_upper = _leaving(tab, column)
        if row == 0 and not np.isfinite(tab.upper[tab.nonbasic[column]]):
            break
        if row == 0:
            _flip_column(tab, column)
            continue
        if to_upper:
            _flip_basic(tab, row)
        written += _pivot(tab, row, column) + COLUMN_COST * tab.cells.shape[0]
    return written


@njit(cache=True)
def _leaving(tab: Tableau, column: int) -> tuple[int, bool]:
    """The row that stops the column first, and whether at its upper bound; row 0 is the column's own bound."""
    least, chosen, to_upper = tab.upper[tab.nonbasic[column]], 0, False
    for row in range(1, tab.cells.shape[0]):
        cell = tab.cells[row, column]
        room = tab.right[row] if cell > 0 else tab.upper[tab.basic[row]] - tab.right[row]
        if abs(cell) > TINY and max(room, 0.0) < least * abs(cell):
            least, chosen, to_upper = max(room, 0.0) / abs(cell), row, cell < 0
    return chosen, to_upper


@njit(cache=True)
def _flip_column(tab: Tableau, column: int) -> None:
    variable = tab.nonbasic[column]
    for row in range(tab.cells.shape[0]):
        tab.right[row] -= tab.cells[row, column] * tab.upper[variable]
        tab.cells[row, column] = -tab.cells[row, column]
    tab.flipped[variable] = not tab.flipped[variable]


@njit(cache=True)
def _flip_basic(tab: Tableau, row: int) -> None:
    variable = tab.basic[row]
    tab.right[row] = tab.upper[variable] - tab.right[row]
    tab.cells[row] = -tab.cells[row]
    tab.flipped[variable] = not tab.flipped[variable]


@njit(cache=True)
def _pivot(tab: Tableau, row: int, column: int) -> int:
    pivot, written = tab.cells[row, column], 0
    tab.cells[row] /= pivot
    tab.right[row] /= pivot
    tab.cells[row, column] = 1.0 / pivot
    for other in range(tab.cells.shape[0]):
        share = tab.cells[other, column]
        if other == row or share == 0.0:
            continue
        written += tab.cells.shape[1]
        tab.cells[other, column] = 0.0
        for c in range(tab.cells.shape[1]):
            tab.cells[other, c] -= share * tab.cells[row, c]
        tab.right[other] -= share * tab.right[row]
    tab.basic[row], tab.nonbasic[column] = tab.nonbasic[column], tab.basic[row]
    return written


@njit(cache=True)
def values(tab: Tableau) -> Floats:
    found = np.zeros(len(tab.upper))
    for row in range(1, tab.cells.shape[0]):
        found[tab.basic[row]] = tab.right[row]
    for variable in range(len(found)):
        if tab.flipped[variable]:
            found[variable] = tab.upper[variable] - found[variable]
    return found


@njit(cache=True)
def row_prices(tab: Tableau) -> Floats:
    """What one more on the right of each row would be worth; 0 for rows with slack."""
    columns, rows = tab.cells.shape[1], tab.cells.shape[0] - 1
    prices = np.zeros(rows)
    for c in range(columns):
        if tab.nonbasic[c] >= columns:
            prices[tab.nonbasic[c] - columns] = max(0.0, -tab.cells[0, c])
    return prices
