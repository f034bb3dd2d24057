"""A topology is a DAG of components joined by streams.

component   a source, an operator or a sink; on Spark one streaming query
stream      what flows from one component to another, with a grouping
grouping    how rows find their instance: shuffle, key, global, all, direct
substream   the smallest part of a component's input that keeps its order and its state together
instance    what processes a set of substreams, one at a time; a component's parallelism is how many it has
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter

from penstock.errors import InvalidInput
from penstock.ids import ComponentId, TopologyId


class Grouping(StrEnum):
    SHUFFLE = "shuffle"
    KEY = "key"
    GLOBAL = "global"
    ALL = "all"
    DIRECT = "direct"


class Kind(StrEnum):
    """What a component is for. Ackers and carriers serve the others: planners count their load."""

    FUNCTIONAL = "functional"
    ACKER = "acker"
    CARRIER = "carrier"


@dataclass(frozen=True, slots=True)
class Component:
    """`substreams` bounds the parallelism where it is known; cores and memory are what one instance needs."""

    id: ComponentId
    parallelism: int = 1
    substreams: int | None = None
    max_parallelism: int | None = None
    kind: Kind = Kind.FUNCTIONAL
    cpu_cores: float | None = None
    memory_bytes: int | None = None

    @property
    def parallelism_bound(self) -> int | None:
        bounds = [b for b in (self.substreams, self.max_parallelism) if b is not None]
        return min(bounds) if bounds else None


@dataclass(frozen=True, slots=True)
class Stream:
    source: ComponentId
    target: ComponentId
    grouping: Grouping = Grouping.SHUFFLE
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """
    >>> words = Topology(
    ...     TopologyId("word-count"),
    ...     (Component(ComponentId("split")), Component(ComponentId("count"), substreams=8)),
    ...     (Stream(ComponentId("split"), ComponentId("count"), Grouping.KEY, ("word",)),),
    ... )
    >>> words.in_order
    ('split', 'count')
    """

    id: TopologyId
    components: tuple[Component, ...]
    streams: tuple[Stream, ...] = ()
    _by_id: dict[ComponentId, Component] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {c.id: c for c in self.components})
        if found := problems(self):
            raise InvalidInput(found)

    def __getitem__(self, component: ComponentId) -> Component:
        return self._by_id[component]

    def __contains__(self, component: object) -> bool:
        return component in self._by_id

    @property
    def in_order(self) -> tuple[ComponentId, ...]:
        """Every component after those that feed it."""
        return tuple(_sorter(self).static_order())

    def parents(self, component: ComponentId) -> tuple[ComponentId, ...]:
        return tuple(s.source for s in self.streams if s.target == component)

    def children(self, component: ComponentId) -> tuple[ComponentId, ...]:
        return tuple(s.target for s in self.streams if s.source == component)


def _sorter(topology: Topology) -> TopologicalSorter[ComponentId]:
    return TopologicalSorter({c.id: topology.parents(c.id) for c in topology.components})


def problems(topology: Topology) -> list[str]:
    """All that is wrong with it, one sentence each."""
    return [*_wrong_components(topology), *_wrong_streams(topology), *_cycles(topology)]


def _wrong_components(topology: Topology) -> list[str]:
    seen: set[ComponentId] = set()
    found = []
    for c in topology.components:
        if c.id in seen:
            found.append(f"component {c.id!r} is declared twice")
        seen.add(c.id)
        if c.parallelism < 1:
            found.append(f"component {c.id!r}: parallelism is {c.parallelism}, it is at least 1")
        if c.parallelism_bound is not None and c.parallelism > c.parallelism_bound:
            found.append(f"component {c.id!r}: parallelism {c.parallelism} is above its bound of {c.parallelism_bound}")
    return found


def _wrong_streams(topology: Topology) -> list[str]:
    found = []
    for s in topology.streams:
        unknown = [end for end in (s.source, s.target) if end not in topology]
        found += [f"stream {s.source} -> {s.target}: there is no component {end!r}" for end in unknown]
        if s.grouping is Grouping.KEY and not s.key:
            found.append(f"stream {s.source} -> {s.target}: grouping by key names no key")
    return found


def _cycles(topology: Topology) -> list[str]:
    try:
        _sorter(topology).prepare()
    except CycleError as error:
        return [f"streams form a cycle: {' -> '.join(reversed(error.args[1]))}"]
    return []
