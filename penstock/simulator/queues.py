"""First in, first out, row by row: Lindley's recursion for own queues, Kiefer and Wolfowitz's for a shared one.

A row begins at max(its arrival, when its server is ready) and leaves after its work. What cannot begin before the
step's end stays in line, so that a change between steps finds every waiting row where it truly is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from penstock.simulator.arrays import Floats, Ints


class Line(NamedTuple):
    """Waiting rows in order of arrival; filled in: `instance` and `departure_s` (infinite: not begun)."""

    arrival_s: Floats
    substream: Ints
    instance_of: Ints
    work_s: Floats
    instance: Ints
    departure_s: Floats


class Servers(NamedTuple):
    ready_s: Floats
    slowness: Floats
    useful_s: Floats


@njit(cache=True)
def _begin(line: Line, servers: Servers, r: int, i: int, begin_s: float, end_s: float) -> None:
    finish_s = begin_s + line.work_s[r] * servers.slowness[i]
    line.departure_s[r] = finish_s
    servers.useful_s[i] += min(finish_s, end_s) - begin_s
    servers.ready_s[i] = finish_s


@njit(cache=True)
def serve_own_queues(line: Line, servers: Servers, end_s: float) -> int:
    """Returns how many rows were looked at: none of those behind can begin either."""
    free = (servers.ready_s < end_s).sum()
    for r in range(line.arrival_s.size):
        if free == 0:
            return r
        i = line.instance_of[line.substream[r]]
        line.instance[r] = i
        begin_s = max(line.arrival_s[r], servers.ready_s[i])
        if begin_s >= end_s:
            line.departure_s[r] = np.inf
            continue
        _begin(line, servers, r, i, begin_s, end_s)
        if servers.ready_s[i] >= end_s:
            free -= 1
    return line.arrival_s.size


@njit(cache=True)
def serve_shared_queue(line: Line, servers: Servers, end_s: float) -> int:
    """The row at the head takes the server that is ready first; when none is, everyone behind waits too."""
    for r in range(line.arrival_s.size):
        i = 0
        for j in range(1, servers.ready_s.size):
            if servers.ready_s[j] < servers.ready_s[i]:
                i = j
        begin_s = max(line.arrival_s[r], servers.ready_s[i])
        if begin_s >= end_s:
            return r
        line.instance[r] = i
        _begin(line, servers, r, i, begin_s, end_s)
    return line.arrival_s.size
