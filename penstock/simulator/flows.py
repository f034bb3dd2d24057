"""Counts through a continuous operator: the kernel behind `count_queue.py`.

Of a line the oldest cell is served first. With n rows over the step's length h, the next of them arriving at a, the
line ready at b >= a, a departure every `pace` seconds and `row` seconds in service (the same, but where servers share
a line), the j-th row from there departs at max(b + (j + 1) pace, a + j h / n + row): exact for regular arrivals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.simulator.arrays import Floats, Ints
from penstock.simulator.bins import bin_of
from penstock.simulator.cells import Table, share_whole

POINTS = 8  # latencies that fall or rise along a cell are seen as so many equal parts
_ROUNDING = 1e-9


class Lines(NamedTuple):
    """Who stands where: substreams by line, from `first[i]` to before `first[i + 1]`; how far each line is."""

    member: Ints
    first: Ints
    head: Ints  # the oldest step with rows in line
    taken: Ints  # rows of that step already served
    ready_s: Floats
    held_until_s: Floats
    pace_s: Floats
    row_s: Floats


class Served(NamedTuple):
    """Filled in: per substream, per line, and the latencies of all (and, if asked for, of each substream)."""

    rows: Ints
    latency_sum_s: Floats
    line_rows: Ints
    departed: Ints  # in each step
    histogram: Floats
    of_substream: NDArray[np.float64]
    max_s: Floats


@njit(cache=True)
def serve_counts(table: Table, lines: Lines, served: Served, clock: tuple[int, int, float]) -> None:
    first, steps, step_s = clock
    room = np.empty(lines.member.size, dtype=np.int64)
    part = np.empty(lines.member.size, dtype=np.int64)
    for step in range(first, first + steps):
        before = served.line_rows.sum()
        _serve_step(table, lines, served, (step, step_s), (room, part))
        served.departed[step - first] = served.line_rows.sum() - before


@njit(cache=True)
def _serve_step(
    table: Table, lines: Lines, served: Served, clock: tuple[int, float], scratch: tuple[Ints, Ints]
) -> None:
    room, part = scratch
    for i in range(lines.head.size):
        members = lines.member[lines.first[i] : lines.first[i + 1]]
        while lines.head[i] <= clock[0]:
            cell = table[lines.head[i] % table.shape[0]]
            waiting = 0
            for n in range(members.size):
                room[n] = cell[members[n]]
                waiting += room[n]
            if waiting > 0:
                done = _serve_cell(lines, served, (i, waiting, members, room[: members.size], part), clock, cell)
                if done < waiting:
                    break
            lines.head[i] += 1
            lines.taken[i] = 0


@njit(cache=True)
def _serve_cell(
    lines: Lines, served: Served, here: tuple[int, int, Ints, Ints, Ints], clock: tuple[int, float], cell: Ints
) -> int:
    i, waiting, members, room, part = here
    step, step_s = clock
    end_s, row_s, pace_s = (step + 1) * step_s, lines.row_s[i], lines.pace_s[i]
    gap_s = step_s / (waiting + lines.taken[i])
    first_s = lines.head[i] * step_s + (lines.taken[i] + 0.5) * gap_s
    ready_s = max(lines.ready_s[i], lines.held_until_s[i], first_s)
    by_pace = math.floor((end_s - ready_s) / pace_s + _ROUNDING)
    by_arrival = math.floor((end_s - row_s - first_s) / gap_s + _ROUNDING) + 1
    done = int(max(0, min(waiting, by_pace, by_arrival)))
    if done == 0:
        return 0
    share_whole(room, done, part[: room.size])
    start_s = ready_s - first_s
    mean_s = _note_latencies(served, (start_s + pace_s, pace_s - gap_s, row_s), done, (members, part))
    for n in range(members.size):
        served.rows[members[n]] += part[n]
        served.latency_sum_s[members[n]] += part[n] * mean_s
        cell[members[n]] -= part[n]
    served.line_rows[i] += done
    lines.taken[i] += done
    lines.ready_s[i] = max(ready_s + done * pace_s, first_s + (done - 1) * gap_s + row_s)
    return done


@njit(cache=True)
def _note_latencies(served: Served, law: tuple[float, float, float], done: int, who: tuple[Ints, Ints]) -> float:
    """Row j waits max(start + j slope, least); returns the mean over the rows that are done."""
    start_s, slope_s, least_s = law
    sloped = done
    if start_s <= least_s and slope_s <= 0:
        sloped = 0
    elif slope_s < 0:
        sloped = min(done, math.ceil((least_s - start_s) / slope_s))
    total_s = 0.0
    parts = min(sloped, POINTS)
    for n in range(parts):
        begin, end = sloped * n // parts, sloped * (n + 1) // parts
        latency_s = max(least_s, start_s + slope_s * (begin + end - 1) / 2)
        total_s += latency_s * (end - begin)
        _note(served, latency_s, end - begin, done, who)
    if done > sloped:
        total_s += least_s * (done - sloped)
        _note(served, least_s, done - sloped, done, who)
    return total_s / done


@njit(cache=True)
def _note(served: Served, latency_s: float, rows: int, done: int, who: tuple[Ints, Ints]) -> None:
    place = bin_of(latency_s)
    served.histogram[place] += rows
    served.max_s[0] = max(served.max_s[0], latency_s)
    if served.of_substream.shape[0] > 0:
        members, part = who
        for n in range(members.size):
            served.of_substream[members[n], place] += rows * part[n] / done
