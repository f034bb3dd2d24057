"""One end-to-end bound over the components of a path: each keeps its part as often as the others (StreamSwitch 6.6).

A component's success rises with its bound, so the worst success is largest where all are equal: who keeps its bound
less often than the rest gets some of theirs. Done at intervals, from what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP = 0.1  # of the end-to-end bound for a difference of 1 in success: slow enough for success to follow
SLACK = 1.05  # a bound stays this much above its component's floor: at the floor itself nothing can be kept


def split(bounds_s: Sequence[float], successes: Sequence[float], floors_s: Sequence[float]) -> tuple[float, ...] | None:
    """The next bounds, with the same sum; None where the floors alone are more.

    >>> [round(b, 3) for b in split((1.0, 1.0), (0.90, 0.99), (0.2, 0.2))]
    [1.009, 0.991]
    """
    total_s, floors = float(sum(bounds_s)), SLACK * np.asarray(floors_s, dtype=np.float64)
    if floors.sum() > total_s:
        return None
    success = np.asarray(successes, dtype=np.float64)
    wanted = np.asarray(bounds_s, dtype=np.float64) + STEP * total_s * (success.mean() - success)
    return tuple(_above(wanted, floors, total_s).tolist())


def _above(wanted: Array, floors: Array, total_s: float) -> Array:
    """Nobody below its floor, and the sum exact: what floors take is taken from what others have above theirs."""
    above = np.maximum(wanted - floors, 0.0)
    spare = total_s - float(floors.sum())
    shared: Array = above * (spare / above.sum()) if above.sum() > 0 else np.full(floors.size, spare / floors.size)
    found: Array = floors + shared
    found[-1] += total_s - float(found.sum())
    return found
