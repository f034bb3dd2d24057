"""One component of a scenario, and the traffic of a source, as somebody wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as dataclass_fields

from penstock.objectives.objective import Objective
from penstock.reading import Written
from penstock.simulator.arrivals import RateOf
from penstock.simulator.component import BatchCosts, Queueing, Service
from penstock.simulator.scenario import ComponentModel, Growth, Mix, Skew, Traffic
from penstock.simulator.traffic import Burst, Sinusoid, added, constant, steps, trace
from penstock.topology.topology import Component

_COMPONENT = ("rows_per_s", "cv", "emits", "queueing", "skew", "state", "mix", "batch", "cap_rows")
_TRAFFIC = ("rows_per_s", "cv", "steps", "sinusoid", "trace", "bursts")
_COSTS = tuple(f.name for f in dataclass_fields(BatchCosts))
Fields = Mapping[str, Written]


def number(fields: Fields, name: str, otherwise: float | None, above: float | None = None) -> float | None:
    return fields[name].number(above=above) if name in fields else otherwise


def whole(fields: Fields, name: str, otherwise: int | None, at_least: int = 1) -> int | None:
    return fields[name].whole(at_least=at_least) if name in fields else otherwise


def component_model(
    written: Written, component: Component, offered: Traffic | None, objectives: tuple[Objective, ...]
) -> ComponentModel | None:
    fields = written.fields(known=_COMPONENT, required=("rows_per_s",))
    rows_per_s = number(fields, "rows_per_s", None, above=0)
    queueing = fields["queueing"].one_of([q.value for q in Queueing]) if "queueing" in fields else Queueing.OWN
    cv, emits = number(fields, "cv", 0.0), number(fields, "emits", 1.0)
    if rows_per_s is None or queueing is None or cv is None or emits is None:
        return None
    if queueing == Queueing.SHARED and component.substreams is not None:
        written.wrong(f"{written.name}: rows with substreams go to the instance that has theirs: no shared queue")
    return ComponentModel(
        Service(1 / rows_per_s, cv, emits, Queueing(queueing)),
        skew=_skew(fields["skew"], component) if "skew" in fields else Skew(),
        state=_state(fields["state"]) if "state" in fields else Growth(),
        mix=_mix(fields["mix"]) if "mix" in fields else Mix(),
        costs=_costs(fields["batch"]) if "batch" in fields else BatchCosts(),
        cap_rows=whole(fields, "cap_rows", None),
        traffic=offered,
        objectives=objectives,
    )


def _skew(written: Written, component: Component) -> Skew:
    fields = written.fields(known=("zipf", "hot", "moves_every_s"))
    if component.substreams is None:
        written.wrong(f"{written.name}: {component.id} has no substreams, so none can be hot: say how many there are")
    hot = _hot(fields["hot"], component.substreams or 1) if "hot" in fields else {}
    return Skew(number(fields, "zipf", 0.0) or 0.0, hot, number(fields, "moves_every_s", None, above=0))


def _hot(written: Written, substreams: int) -> dict[int, float]:
    """A mapping of substream to its share; their sum leaves something for the others."""
    if not isinstance(written.value, dict):
        written.must_be("a mapping of substreams to shares")
        return {}
    shares = {k: written.at(k, v).number(above=0) or 0.0 for k, v in written.value.items()}
    if not all(isinstance(k, int) and 0 <= k < substreams for k in shares):
        written.wrong(f"{written.name}: substreams are numbered from 0 to {substreams - 1}")
        return {}
    if sum(shares.values()) >= 1 or len(shares) >= substreams:
        written.wrong(f"{written.name}: the shares leave nothing for the other substreams")
        return {}
    return shares


def _state(written: Written) -> Growth:
    fields = written.fields(known=("initial_rows", "per_row", "limit_rows"))
    limit = number(fields, "limit_rows", Growth().limit_rows)
    return Growth(
        number(fields, "initial_rows", 0.0) or 0.0,
        number(fields, "per_row", 0.0) or 0.0,
        Growth().limit_rows if limit is None else limit,
    )


def _mix(written: Written) -> Mix:
    fields = written.fields(known=("speed", "share"), required=("speed", "share"))
    share = number(fields, "share", 0.0) or 0.0
    if share > 1:
        written.wrong(f"{written.name}: share is {share:g}, it is between 0 and 1")
    return Mix(number(fields, "speed", 1.0, above=0) or 1.0, share)


def _costs(written: Written) -> BatchCosts:
    fields = written.fields(known=_COSTS)
    return BatchCosts(**{name: field.number() or 0.0 for name, field in fields.items()})


def traffic(written: Written) -> Traffic | None:
    """Everything that is said of it is added up; `cv` is of the gaps between rows."""
    fields = written.fields(known=_TRAFFIC)
    parts: list[RateOf | None] = []
    if "rows_per_s" in fields:
        rate = fields["rows_per_s"].number()
        parts.append(constant(rate) if rate is not None else None)
    parts += [_steps(fields["steps"])] if "steps" in fields else []
    parts += [_sinusoid(fields["sinusoid"])] if "sinusoid" in fields else []
    parts += [_trace(fields["trace"])] if "trace" in fields else []
    parts += [_burst(item) for item in fields["bursts"].items()] if "bursts" in fields else []
    if not parts:
        written.wrong(f"{written.name} says no rate: rows_per_s, steps, sinusoid, trace or bursts")
    known = [p for p in parts if p is not None]
    if not known or len(known) < len(parts):
        return None
    return Traffic(known[0] if len(known) == 1 else added(known), number(fields, "cv", 0.0) or 0.0)


def _steps(written: Written) -> RateOf | None:
    levels = []
    for item in written.items():
        pair = [part.number() for part in item.items()]
        if len(pair) != 2:
            item.must_be("a pair: [from second, rows per second]")
        elif pair[0] is not None and pair[1] is not None:
            levels.append((pair[0], pair[1]))
    if sorted(levels) != levels:
        written.wrong(f"{written.name}: its times must rise")
    return steps(levels) if levels else None


def _three(written: Written, names: tuple[str, str, str]) -> tuple[float, float, float] | None:
    fields = written.fields(known=names, required=names)
    first, second = number(fields, names[0], None), number(fields, names[1], None)
    third = number(fields, names[2], None, above=0)
    return None if first is None or second is None or third is None else (first, second, third)


def _sinusoid(written: Written) -> RateOf | None:
    found = _three(written, ("base_rows_per_s", "amplitude_rows_per_s", "period_s"))
    return Sinusoid(*found) if found else None


def _burst(written: Written) -> RateOf | None:
    found = _three(written, ("at_s", "rows_per_s", "fades_s"))
    return Burst(*found) if found else None


def _trace(written: Written) -> RateOf | None:
    fields = written.fields(known=("every_s", "rows_per_s"), required=("every_s", "rows_per_s"))
    every_s = number(fields, "every_s", None, above=0)
    rates = [item.number() for item in fields["rows_per_s"].items()] if "rows_per_s" in fields else []
    known = [r for r in rates if r is not None]
    return trace(known, every_s) if every_s is not None and known and len(known) == len(rates) else None
