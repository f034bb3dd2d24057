"""StreamSwitch's reasons, in sentences."""

from __future__ import annotations

from collections import Counter

import numpy as np

from penstock.changes import Target
from penstock.models.latency_law import UNSTABLE_S
from penstock.policies.streamswitch_diagnose import Diagnosis, Goals, Health
from penstock.policies.streamswitch_setting import Setting, Strategy, StrategyKind

_PERCENT = (".0%", ".2%")  # few of a thousand instances take a percent
NAMED = 6  # substreams in a sentence: more are counted


def why(diagnosis: Diagnosis, goals: Goals) -> str:
    if not diagnosis.strategies:
        return _why_nothing(diagnosis, goals)
    worst = int(np.argmax(diagnosis.before.levels_s))
    ends = _ends(diagnosis, worst)
    if diagnosis.health is Health.GOOD:
        return f"{_listed(diagnosis)} is enough for the load: it takes {ends}, of {goals.limit_s:g} s"
    share = diagnosis.before.loads[worst] / max(diagnosis.before.loads.sum(), 1e-12)
    takes = f"instance {worst} takes {share:{_PERCENT[int(share < 0.01)]}} of the rows"
    lowers = "lowers" if len(diagnosis.strategies) == 1 else "together lower"
    return f"{takes}; {_listed(diagnosis)} {lowers} {ends}"


def _ends(diagnosis: Diagnosis, worst: int) -> str:
    """One step of several out of an overload brings no end to it yet, but less load."""
    before, after = diagnosis.before, diagnosis.after
    if float(after.levels_s.max()) < UNSTABLE_S:
        return f"the projected latency from {seconds(before)} to {seconds(after)}"
    was, becomes = (at.loads[worst] / at.service_rows_per_s[worst] for at in (before, after))
    return f"its load from {was:.0%} to {becomes:.0%} of what it can do"


def _why_nothing(diagnosis: Diagnosis, goals: Goals) -> str:
    level = seconds(diagnosis.before)
    match diagnosis.health:
        case Health.GOOD:
            return f"the projected latency is {level}, and with one instance fewer it would not stay low"
        case Health.MODERATE:
            return f"either latency was above {goals.alert_s:.2g} s or {level} is projected, not both: it may pass"
        case Health.SEVERE:
            return f"{level} is projected, and no assignment within its bounds is better"


def seconds(setting: Setting) -> str:
    worst_s = float(setting.levels_s.max())
    return "endless" if worst_s >= UNSTABLE_S else f"{worst_s:.3g} s"


def _listed(diagnosis: Diagnosis) -> str:
    if len(diagnosis.strategies) == 1:
        return _said(diagnosis.strategies[0])
    kinds = Counter(s.kind for s in diagnosis.strategies)
    moved = {int(k) for s in diagnosis.strategies for k in s.substreams}
    p, q = diagnosis.before.instances, diagnosis.after.instances
    width = f"{p} instances become {q}" if p != q else "the number of instances stays"
    return f"{sum(kinds.values())} moves of {len(moved)} substreams ({width})"


def _said(strategy: Strategy) -> str:
    which = named(strategy)
    match strategy.kind:
        case StrategyKind.BALANCE:
            return f"moving {which} to instance {strategy.destination}"
        case StrategyKind.SCALE_OUT:
            return f"moving {which} to a new instance"
        case StrategyKind.SCALE_IN:
            return f"one instance fewer, with {which} on instance {strategy.destination},"


def named(strategy: Strategy) -> str:
    """
    >>> named(Strategy(StrategyKind.BALANCE, np.array([9, 5]), 3, 0, 1.2))
    'substreams 5, 9'
    """
    numbers = sorted(strategy.substreams.tolist())
    if len(numbers) > NAMED:
        return f"{len(numbers)} substreams"
    return f"substream{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def stuck_alerts(target: Target, diagnosis: Diagnosis, goals: Goals) -> tuple[str, ...]:
    """What no assignment can do something about is for people to know."""
    return tuple(_stuck(target, diagnosis.after, i, goals) for i in diagnosis.stuck)


def _stuck(target: Target, at: Setting, instance: int, goals: Goals) -> str:
    loaded = np.flatnonzero((at.instance_of == instance) & (at.rows_per_s > 0))
    if loaded.size == 1:
        share = at.rows_per_s[loaded[0]] / at.service_rows_per_s[instance]
        return (
            f"{target}: substream {int(loaded[0])} alone keeps an instance {share:.0%} busy: no assignment keeps it "
            f"safely below {goals.limit_s:g} s"
        )
    return (
        f"{target}: instance {instance} stays above {goals.limit_s:g} s, and the bound of {at.instances} instances "
        "is reached"
    )
