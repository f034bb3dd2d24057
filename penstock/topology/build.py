"""A topology declared in Python: the same words, checks and record as in YAML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import InvalidInput
from penstock.topology.parse import Declared, parse_topology, trail_name
from penstock.topology.topology import Grouping


def by_key(source: str, *key: str) -> dict[str, Any]:
    """An input whose rows find their instance by these columns."""
    return {"from": source, "grouping": Grouping.KEY.value, "key": list(key)}


@dataclass(frozen=True, slots=True)
class TopologyBuilder:
    """Each call returns a new builder; nothing is checked before `build`.

    >>> words = (
    ...     TopologyBuilder("word-count")
    ...     .component("lines", source={"format": "rate"})
    ...     .component("count", "words:count", [by_key("lines", "word")], substreams=8, sink={"format": "console"})
    ...     .build()
    ... )
    >>> words.topology.in_order, words.functions["count"]
    (('lines', 'count'), 'words:count')
    """

    name: str
    components: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def component(
        self,
        id: str,
        function: str | Callable[..., Any] | None = None,
        inputs: Sequence[str | Mapping[str, Any]] = (),
        **settings: Any,
    ) -> TopologyBuilder:
        """`settings` are those of the YAML form: source, sink, parallelism, substreams, max_parallelism, objectives."""
        if id in self.components:
            raise InvalidInput(f"component {id!r} is declared twice")
        made_of = {"function": _named(function)} if function is not None else {}
        reads = {"inputs": [i if isinstance(i, str) else dict(i) for i in inputs]} if inputs else {}
        return replace(self, components={**self.components, id: {**made_of, **reads, **settings}})

    def build(self) -> Declared:
        return parse_topology({"topology": self.name, "components": dict(self.components)}, trail_name)


def _named(function: str | Callable[..., Any]) -> str:
    return function if isinstance(function, str) else f"{function.__module__}:{function.__qualname__}"
