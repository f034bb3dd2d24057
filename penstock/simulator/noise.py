"""Random times with mean 1 and a coefficient of variation: 0 is a constant, 1 exponential, anything else gamma."""

from __future__ import annotations

import numpy as np

from penstock.simulator.arrays import Floats, Ints


def noise(rng: np.random.Generator, cv: float, size: int) -> Floats:
    if cv == 0:
        return np.ones(size)
    if cv == 1:
        return rng.standard_exponential(size)
    return rng.standard_gamma(1 / cv**2, size) * cv**2


def sums_of_noise(rng: np.random.Generator, cv: float, counts: Ints) -> Floats:
    """The sum of `counts[i]` such times, drawn at once: a sum of equal gammas is gamma."""
    if cv == 0:
        return counts.astype(np.float64)
    return rng.standard_gamma(counts / cv**2) * cv**2


def stream_of(seed: int, *purpose: int) -> np.random.Generator:
    """A generator of its own for each purpose: a change in one part of a world leaves the draws of the others alone."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=purpose))
