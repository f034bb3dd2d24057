"""The description of one component, and everything that can be wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

FOLLOWS_SHARE = 0.005  # how far an input may be from what the parents send: rates are measured
RATES = ("input_rate", "output_rate", "max_processing_rate")
KNOWN_KEYS = {"name", "resources", *RATES, "children", "max_resources", "capacity", "substreams", "shares"}
Links = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Described:
    """Checked on its own, not yet against the others. `most` is the output of a source, the maximum of an operator."""

    name: str
    units: int
    input_rate: float | None
    output_rate: float | None
    most: float
    children: Mapping[str, float]
    max_units: int | None
    capacity: tuple[float, ...] | None
    shares: tuple[float, ...] | None

    @property
    def is_source(self) -> bool:
        return self.input_rate is None

    @property
    def processed(self) -> float:
        return self.most if self.input_rate is None else min(self.input_rate, self.most)

    @property
    def out_in_ratio(self) -> float:
        """A sink that emits nothing, as a database writer, counts what it processes; so does one never reached."""
        if not self.processed or (not self.output_rate and not self.children):
            return 1.0
        return (self.output_rate or 0.0) / self.processed

    @property
    def emitted(self) -> float:
        return self.most if self.is_source else self.processed * self.out_in_ratio


class Checks:
    """Reads the fields of one component and notes what is wrong."""

    def __init__(self, name: str, fields: Mapping[str, Any], problems: list[str]) -> None:
        self.name, self.fields, self.problems = name, fields, problems

    def wrong(self, sentence: str) -> None:
        self.problems.append(f"component {self.name!r}: {sentence}")

    def rate(self, key: str) -> float | None:
        value = self.fields.get(key)
        return None if value is None else self.number(key, value)

    def number(self, key: str, value: Any) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            self.wrong(f"{key} is {value!r}, it is a finite number")
        elif value < 0:
            self.wrong(f"{key} is {value:g}, it is at least 0")
        else:
            return float(value)
        return None

    def count(self, key: str) -> int | None:
        value = self.fields.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            self.wrong(f"{key} is {value!r}, it is a whole number of at least 1")
            return None
        return value

    def rates(self, key: str) -> tuple[float, ...] | None:
        value = self.fields.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not value:
            self.wrong(f"{key} is {value!r}, it is a list of numbers")
            return None
        found = [self.number(f"{key}[{at}]", one) for at, one in enumerate(value)]
        return None if None in found else tuple(v for v in found if v is not None)

    def ratios(self) -> dict[str, float]:
        value = self.fields.get("children", {})
        if not isinstance(value, Mapping):
            self.wrong(f"children is {value!r}, it maps names to ratios")
            return {}
        found = {child: self.number(f"the ratio of child {child!r}", ratio) for child, ratio in value.items()}
        return {child: ratio for child, ratio in found.items() if ratio is not None}


def described(entries: Sequence[Any]) -> tuple[list[Described], list[str], list[str]]:
    """The components, what is wrong with them, and which keys were ignored."""
    parts: list[Described] = []
    problems: list[str] = []
    ignored: list[str] = []
    seen: set[str] = set()
    for at, fields in enumerate(entries):
        name = fields.get("name") if isinstance(fields, Mapping) else None
        if not isinstance(fields, Mapping) or not isinstance(name, str) or not name:
            problems.append(f"components[{at}] has no name (a text)")
            continue
        if name in seen:
            problems.append(f"component {name!r} is described twice")
        seen.add(name)
        ignored += [
            f"component {name!r}: the key {key!r} is not known and was ignored" for key in fields.keys() - KNOWN_KEYS
        ]
        before = len(problems)
        found = _one(Checks(name, fields, problems))
        if found and len(problems) == before:
            parts.append(found)
    return parts, problems, sorted(ignored)


def _one(checks: Checks) -> Described | None:
    fields = checks.fields
    units = checks.count("resources")
    if "resources" not in fields:
        checks.wrong("resources is missing: how many units it has")
    bound, substreams = checks.count("max_resources"), checks.count("substreams")
    rates = {key: checks.rate(key) for key in RATES}
    capacity, children = checks.rates("capacity"), checks.ratios()
    shares = _shares(checks, substreams)
    if units is None:
        return None
    _check_bounds(checks, units, {"max_resources": bound, "substreams": substreams, "capacity": capacity})
    _check_capacity(checks, units, capacity, rates["max_processing_rate"])
    most = _most(checks, units, rates, capacity)
    if most is None:
        return None
    found = Described(
        checks.name, units, rates["input_rate"], rates["output_rate"], most, children, bound, capacity, shares
    )
    if found.output_rate and not found.processed:
        checks.wrong(f"output_rate is {found.output_rate:g}, but it processes 0")
    return found


def _shares(checks: Checks, substreams: int | None) -> tuple[float, ...] | None:
    given = checks.rates("shares")
    if checks.fields.get("shares") is not None and "substreams" not in checks.fields:
        checks.wrong("shares need substreams: how many there are")
    if substreams is None:
        return None
    if checks.fields.get("capacity") is not None:
        checks.wrong("it has both capacity and substreams, one of them says how it grows")
    if given is None:
        return (1 / substreams,) * substreams
    if len(given) != substreams:
        checks.wrong(f"it has {substreams} substreams, but {len(given)} shares")
    if abs(sum(given) - 1) > FOLLOWS_SHARE:
        checks.wrong(f"its shares add up to {sum(given):g}, not to 1")
    return given


def _check_bounds(checks: Checks, units: int, bounds: Mapping[str, int | tuple[float, ...] | None]) -> None:
    names: Mapping[str, str] = {"capacity": "its capacity list ends at"}
    for key, bound in bounds.items():
        most = len(bound) if isinstance(bound, tuple) else bound
        if most is not None and most < units:
            checks.wrong(f"resources is {units}, but {names.get(key, key + ' is')} {most}")


def _check_capacity(checks: Checks, units: int, capacity: tuple[float, ...] | None, most_rate: float | None) -> None:
    if capacity is None:
        return
    for at, (fewer, more) in enumerate(pairwise(capacity), start=1):
        if more < fewer:
            checks.wrong(f"its capacity falls from {fewer:g} at {at} units to {more:g} at {at + 1}")
    if most_rate is not None and units <= len(capacity) and not follows(most_rate, capacity[units - 1]):
        checks.wrong(
            f"max_processing_rate is {most_rate:g}, but its capacity at {units} units is {capacity[units - 1]:g}"
        )


def _most(
    checks: Checks, units: int, rates: Mapping[str, float | None], capacity: tuple[float, ...] | None
) -> float | None:
    """The output of a source, the capacity of an operator."""
    fields = checks.fields
    if fields.get("input_rate") is None and fields.get("max_processing_rate") is None:
        if fields.get("output_rate") is None:
            checks.wrong("output_rate is missing: a source has one, anything else input_rate and max_processing_rate")
        return rates["output_rate"] if capacity is None else capacity[min(units, len(capacity)) - 1]
    if fields.get("input_rate") is None:
        checks.wrong("input_rate is missing")
    if fields.get("output_rate") is None and fields.get("children"):
        checks.wrong("output_rate is missing, and it has children")
    if capacity is not None:
        return capacity[min(units, len(capacity)) - 1]
    if fields.get("max_processing_rate") is None:
        checks.wrong("max_processing_rate is missing")
    return rates["max_processing_rate"]


def follows(one: float, other: float) -> bool:
    return abs(one - other) <= FOLLOWS_SHARE * max(one, other)


def links_of(entries: Sequence[Any]) -> Links:
    """Children by name, whatever else may be wrong."""
    named = [e for e in entries if isinstance(e, Mapping) and isinstance(e.get("name"), str)]
    children = [e.get("children", {}) for e in named]
    return {e["name"]: tuple(c) if isinstance(c, Mapping) else () for e, c in zip(named, children, strict=True)}


def inflow_problems(parts: Sequence[Described], links: Links) -> list[str]:
    """Inputs that are not what the parents send; only where the component and all its parents are well described."""
    known = {d.name for d in parts}
    unsure = {child for name, children in links.items() if name not in known for child in children}
    sent: dict[str, float] = {}
    for d in parts:
        for child, ratio in d.children.items():
            sent[child] = sent.get(child, 0.0) + d.emitted * ratio
    return [sentence for d in parts if d.name not in unsure and (sentence := _inflow_problem(d, sent))]


def _inflow_problem(d: Described, sent: Mapping[str, float]) -> str | None:
    rows = sent.get(d.name)
    if d.input_rate is None:
        return None if rows is None else f"component {d.name!r}: it has no input_rate, but its parents send {rows:g}"
    if rows is None and d.input_rate:
        return f"component {d.name!r}: input_rate is {d.input_rate:g}, but it has no parent, so that 0 arrive"
    if rows is not None and not follows(d.input_rate, rows):
        return f"component {d.name!r}: input_rate is {d.input_rate:g}, but its parents send {rows:g}"
    return None
