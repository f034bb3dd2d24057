"""A declared topology: from what somebody wrote to checked records, every problem at once.

topology: word-count
components:
  lines: {source: {format: rate}}
  count:
    function: words:count
    inputs: [{from: lines, grouping: key, key: word}]
    substreams: 8
    objectives: [p95 latency < 2s]
    sink: {format: console}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any

from penstock.errors import InvalidInput
from penstock.ids import ComponentId, TopologyId
from penstock.reading import Trail, Where, Written, probably_meant
from penstock.topology.topology import Component, Grouping, Stream, Topology

_COMPONENT = (
    *("function", "inputs", "source", "sink", "stream", "objectives"),
    *("parallelism", "substreams", "max_parallelism", "cpu_cores", "memory_bytes"),
)
_ENGINE = ("work", "spark", "kafka")  # where it runs, not what: read by the engine
_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A topology, and what each component is made of: its function `module:name`, where it reads and writes outside the
    topology, and its objectives as they were written."""

    topology: Topology
    functions: Mapping[ComponentId, str]
    sources: Mapping[ComponentId, Mapping[str, Any]]
    sinks: Mapping[ComponentId, Mapping[str, Any]]
    objectives: Mapping[ComponentId, Any]
    streams: Mapping[ComponentId, Any] = field(default_factory=dict)  # how each component's own stream is carried
    engine: Mapping[str, Any] = field(default_factory=dict)


def parse_topology(mapping: object, where: Where) -> Declared:
    """Raises InvalidInput with all problems.

    >>> def where(trail):
    ...     return "topology.yaml"
    >>> shape = {"source": {"format": "rate"}}
    >>> declared = parse_topology({"topology": "t", "components": {"a": shape, "b": {"inputs": ["a"]}}}, where)
    >>> declared.topology.in_order
    ('a', 'b')
    >>> parse_topology({"topology": "t", "components": {"a": shape, "b": {"inputs": ["A"]}}}, where)
    Traceback (most recent call last):
    ...
    penstock.errors.InvalidInput: topology.yaml: there is no component 'A': did you mean 'a'?
    """
    written = Written(mapping, where)
    declared = read_declared(written)
    if declared is None:
        raise InvalidInput(written.problems)
    return declared


def read_declared(written: Written) -> Declared | None:
    """None where there are problems, which `written` then holds."""
    top = written.fields(known=("topology", "components", *_ENGINE), required=("topology", "components"))
    name = top["topology"].text() if "topology" in top else None
    parts = top["components"].fields() if "components" in top else {}
    if not parts and isinstance(written.value, dict) and written.value.get("components") == {}:
        written.wrong("components is empty: a topology has at least one")
    fields = {ComponentId(c): part.fields(known=_COMPONENT) for c, part in parts.items()}
    components = tuple(_component(c, parts[c], f) for c, f in fields.items())
    functions = {c: text for c, f in fields.items() if "function" in f and (text := _function(f["function"]))}
    streams = tuple(s for c, f in fields.items() for s in _streams(c, parts[c], f, parts))
    _check_cycles(streams, parts)
    if written.problems or name is None:
        return None
    return Declared(
        Topology(TopologyId(name), components, streams),
        MappingProxyType(functions),
        _given(fields, "source"),
        _given(fields, "sink"),
        _given(fields, "objectives"),
        _given(fields, "stream"),
        MappingProxyType({name: top[name].value for name in _ENGINE if name in top}),
    )


def _given(fields: Mapping[ComponentId, Mapping[str, Written]], name: str) -> Mapping[ComponentId, Any]:
    return MappingProxyType({c: f[name].value for c, f in fields.items() if name in f})


def _component(id: ComponentId, part: Written, fields: Mapping[str, Written]) -> Component:
    whole = {n: fields[n].whole() for n in ("substreams", "max_parallelism", "memory_bytes") if n in fields}
    component = Component(
        id,
        (fields["parallelism"].whole() if "parallelism" in fields else None) or 1,
        whole.get("substreams"),
        whole.get("max_parallelism"),
        cpu_cores=fields["cpu_cores"].number(above=0) if "cpu_cores" in fields else None,
        memory_bytes=whole.get("memory_bytes"),
    )
    for outside in (n for n in ("source", "sink") if n in fields):
        fields[outside].fields()
    _check_bounds(component, fields)
    _check_input(part, fields)
    return component


def _check_bounds(component: Component, fields: Mapping[str, Written]) -> None:
    for name in ("substreams", "max_parallelism"):
        bound = getattr(component, name)
        if bound is not None and component.parallelism > bound:
            fields["parallelism"].wrong(
                f"component {component.id!r}: parallelism {component.parallelism} is above its {name}, {bound}"
            )


def _check_input(part: Written, fields: Mapping[str, Written]) -> None:
    if isinstance(part.value, dict) and ("inputs" in fields) == ("source" in fields):
        both = "both inputs and a source" if "inputs" in fields else "neither inputs nor a source"
        part.wrong(f"component {part.trail[-1]!r} has {both}: it reads one or the other")


def _function(written: Written) -> str | None:
    text = written.text()
    if text is None or _FUNCTION.fullmatch(text):
        return text
    head, _, tail = text.rpartition(".")
    guess = f"{head}:{tail}"
    meant = f"did you mean {guess!r}?" if _FUNCTION.fullmatch(guess) else "write module:function"
    written.wrong(f"{written.name} is {text!r}: {meant}")
    return None


def _streams(
    id: ComponentId, part: Written, fields: Mapping[str, Written], known: Mapping[str, Written]
) -> list[Stream]:
    inputs = fields["inputs"].items() if "inputs" in fields else []
    if "inputs" in fields and fields["inputs"].value == []:
        fields["inputs"].wrong(f"component {id!r} names no input")
    streams = [stream for i in inputs if (stream := _stream(id, i, known))]
    for i, stream in enumerate(streams):
        if stream.source in [earlier.source for earlier in streams[:i]]:
            part.wrong(f"component {id!r} reads {stream.source!r} twice")
    return streams


def _stream(target: ComponentId, written: Written, known: Mapping[str, Written]) -> Stream | None:
    if isinstance(written.value, str):
        return Stream(ComponentId(written.value), target) if _is_component(written, written.value, known) else None
    fields = written.fields(known=("from", "grouping", "key"), required=("from",))
    source = fields["from"].text() if "from" in fields else None
    if source is None or not _is_component(fields["from"], source, known):
        return None
    grouping = fields["grouping"].one_of([g.value for g in Grouping]) if "grouping" in fields else Grouping.SHUFFLE
    if grouping is None:
        return None
    key = _key(fields["key"]) if "key" in fields else ()
    if (grouping == Grouping.KEY) != bool(key):
        missing = "grouping by key names no key" if not key else "a key goes with `grouping: key`"
        written.wrong(f"stream {source} -> {target}: {missing}")
        return None
    return Stream(ComponentId(source), target, Grouping(grouping), key)


def _key(written: Written) -> tuple[str, ...]:
    columns = [written] if isinstance(written.value, str) else written.items()
    return tuple(text for c in columns if (text := c.text()))


def _is_component(written: Written, name: str, known: Mapping[str, Written]) -> bool:
    if name not in known:
        written.wrong(f"there is no component {name!r}: {probably_meant(name, known)}")
    return name in known


def _check_cycles(streams: tuple[Stream, ...], parts: Mapping[str, Written]) -> None:
    graph: dict[str, set[str]] = {}
    for stream in streams:
        graph.setdefault(stream.target, set()).add(stream.source)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1][::-1]
        parts[cycle[0]].wrong(f"components form a cycle: {' -> '.join(cycle)}")


def trail_name(trail: Trail) -> str:
    """How a place is named where there is no file: the component that was being declared.

    >>> trail_name(("components", "count", "inputs", 0))
    "component 'count'"
    """
    return f"component {trail[1]!r}" if len(trail) > 1 else "topology"
