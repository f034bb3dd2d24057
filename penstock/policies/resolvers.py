"""Diagnoses to changes (Dhalion 5.1, 5.2). A resolver that can do nothing here returns None."""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np

from penstock.changes import Assign, Part, PartKind, Rescale, Restart
from penstock.models.mm1 import QueueLaw
from penstock.policies.detectors import Reading
from penstock.policies.policy import View
from penstock.policies.streamswitch_examine import substream_rates
from penstock.policies.streamswitch_moves import best_balance
from penstock.policies.streamswitch_setting import Setting
from penstock.policies.symptoms import Diagnosis, Symptom
from penstock.topology.assignment import Assignment

MOST_FACTOR = 4.0  # Heron: parallelism times five at most in one step; the factor diverges as the share nears 1
MOST_SOURCES = 4.0  # 6.3: sources times four at most in one step
STEP_DOWN = 0.2  # 11 -> 9 twice in 6.2
DRAINED_WITHIN_S = 60.0  # a backlog is worked off meanwhile: longer is felt, faster costs more instances for a minute
MOST_MOVES = 64


class Action(StrEnum):
    SCALE_UP = "scale up"
    SCALE_DOWN = "scale down"
    RESTART = "restart"
    REBALANCE = "rebalance"
    SCALE_SOURCES = "scale up sources"


def scaled_up(parallelism: int, unmet_share: float, backlog_share: float = 0.0) -> int:
    """p (1 + s / (1 - s)), where s was not handled; more for a backlog, as a share of what can be done meanwhile.

    >>> [scaled_up(p, s) for p, s in [(8, 0.2), (10, 0.2), (4, 0.2), (1, 0.05), (11, 0.9), (3, 1.0)]]
    [10, 13, 5, 2, 55, 15]
    """
    factor = math.inf if unmet_share >= 1 else unmet_share / (1 - unmet_share)
    return math.ceil(parallelism * (1 + min(MOST_FACTOR, factor + backlog_share)) - 1e-9)


def scaled_down(parallelism: int) -> int:
    """
    >>> [scaled_down(p) for p in (11, 9, 5, 4, 2, 1)]
    [9, 8, 4, 3, 1, 1]
    """
    return max(1, parallelism - max(1, math.floor(STEP_DOWN * parallelism)))


def scaled_sources(parallelism: int, rows_per_s: float, objective_rows_per_s: float) -> int:
    """SLO / current, at most four times.

    >>> [scaled_sources(p, 0.1 * p, 4.0) for p in (1, 4, 16)], scaled_sources(40, 3.75, 4.0)
    ([4, 16, 40], 43)
    """
    factor = MOST_SOURCES if rows_per_s <= 0 else min(MOST_SOURCES, objective_rows_per_s / rows_per_s)
    return math.ceil(parallelism * factor - 1e-9)


def resolved(action: Action, diagnosis: Diagnosis, reading: Reading, view: View) -> Part | None:
    match action:
        case Action.SCALE_UP:
            return _up(diagnosis.symptoms[0], reading, view)
        case Action.SCALE_DOWN:
            return rescale(scaled_down(reading.parallelism), reading, view)
        case Action.RESTART:
            return _restart(diagnosis.symptoms[0], view)
        case Action.REBALANCE:
            return _rebalance(reading, view)
        case Action.SCALE_SOURCES:
            return None


def rescale(parallelism: int, reading: Reading, view: View) -> Rescale | None:
    bounded = view.bounds[reading.target].nearest(parallelism)
    can = PartKind.RESCALE in view.deployment.capabilities.parts
    return Rescale(reading.target, bounded) if can and bounded != reading.parallelism else None


def _up(symptom: Symptom, reading: Reading, view: View) -> Rescale | None:
    backlog_share = 0.0 if reading.sources_stop else _backlog_share(reading)
    wanted = max(reading.parallelism + 1, scaled_up(reading.parallelism, symptom.share, backlog_share))
    found = rescale(wanted, reading, view)
    return found if found is not None and found.parallelism > reading.parallelism else None


def _backlog_share(reading: Reading) -> float:
    """What waits beyond the rows of a batch on time, as a share of all that is handled while it is to be drained."""
    pending, figures = reading.figures.pending_rows, reading.figures
    completed, arrived = figures.per_s("rows_completed"), figures.per_s("rows_arrived")
    if pending is None or not completed or arrived is None:
        return 0.0
    usual = arrived * reading.longest_batch_s if reading.batched else 0.0
    return max(0.0, pending - usual) / (DRAINED_WITHIN_S * completed)


def _restart(symptom: Symptom, view: View) -> Restart | None:
    """The slowest one: it starts afresh, elsewhere where the engine can choose."""
    if symptom.at_fault is None or PartKind.RESTART not in view.deployment.capabilities.parts:
        return None
    waiting = symptom.waiting if symptom.waiting is not None else symptom.at_fault.astype(np.float64)
    return Restart(symptom.target, int(np.argmax(np.where(symptom.at_fault, waiting, -np.inf))))


def _rebalance(reading: Reading, view: View) -> Assign | None:
    """From the most loaded instance to others, as long as that helps: what a new hash function would be for."""
    assignment = view.deployment.assignments.get(reading.target)
    if assignment is None or PartKind.ASSIGN not in view.deployment.capabilities.parts:
        return None
    where = np.array(assignment.instance_of, dtype=np.intp)
    rates = substream_rates(reading.figures, reading.figures, where.size)
    if rates is None or rates.sum() <= 0 or assignment.parallelism not in view.bounds[reading.target]:
        return None
    speed = np.full(assignment.parallelism, 2 * rates.sum())
    setting = Setting(QueueLaw(), rates, rates, where, speed)  # small ones first: they fill every gap
    for _ in range(MOST_MOVES):
        move = best_balance(setting, int(np.argmax(setting.levels_s)))
        if move is None:
            break
        setting = setting.after(move)
    wanted = Assignment(tuple(setting.instance_of.tolist()))
    return Assign(reading.target, wanted) if wanted != assignment else None
