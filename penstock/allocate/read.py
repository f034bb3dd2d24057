"""A mapping, as JSON gives it, to a measured topology. All that is wrong is reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from penstock.allocate.capacity import Curve, Linear, Stepped, substream_curve
from penstock.allocate.described import Described, Links, described, inflow_problems, links_of
from penstock.allocate.measured import Component, MeasuredTopology
from penstock.errors import InvalidInput
from penstock.ids import ComponentId


@dataclass(frozen=True, slots=True)
class Reading:
    """The topology, and what was passed over."""

    topology: MeasuredTopology
    notices: tuple[str, ...]


def read(document: Any) -> Reading:
    """
    >>> source = {"name": "1", "resources": 1, "output_rate": 500, "children": {"2": 1.0}}
    >>> sink = {"name": "2", "resources": 1, "input_rate": 500, "output_rate": 400, "max_processing_rate": 400}
    >>> [c.id for c in read({"components": [sink, source]}).topology.components]
    ['1', '2']
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("components"), list):
        raise InvalidInput('the file holds one object with a list "components"')
    notices = [f"the key {key!r} is not known and was ignored" for key in document if key != "components"]
    parts, problems, ignored = described(document["components"])
    if not document["components"]:
        problems.append('"components" is empty')
    links = links_of(document["components"])
    problems += [*_missing_children(links), *_cycles(links), *inflow_problems(parts, links)]
    if problems:
        raise InvalidInput(problems)
    by_name = {d.name: d for d in parts}
    order = _sorter(links).static_order()
    return Reading(MeasuredTopology(tuple(_component(by_name[name]) for name in order)), (*notices, *ignored))


def _missing_children(links: Links) -> list[str]:
    return [
        f"component {name!r}: its child {child!r} does not exist"
        for name, children in links.items()
        for child in children
        if child not in links
    ]


def _sorter(links: Links) -> TopologicalSorter[str]:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for name, children in links.items():
        sorter.add(name)
        for child in children:
            sorter.add(child, name)
    return sorter


def _cycles(links: Links) -> list[str]:
    try:
        _sorter(links).prepare()
    except CycleError as error:
        return [f"components form a cycle: {' -> '.join(repr(name) for name in reversed(error.args[1]))}"]
    return []


def _component(d: Described) -> Component:
    children = tuple((ComponentId(child), ratio) for child, ratio in d.children.items())
    whole = Component(ComponentId(d.name), d.units, _curve(d), children, max_units=d.max_units, is_source=d.is_source)
    return whole if d.is_source else replace(whole, out_in_ratio=d.out_in_ratio)


def _curve(d: Described) -> Curve:
    if d.capacity is not None:
        return Stepped(d.capacity)
    if d.shares is not None:
        return substream_curve(d.most, d.units, d.shares)
    return Linear(d.most / d.units)
