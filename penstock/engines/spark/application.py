"""A declared topology as one Spark application: what each query is made of. Read and checked without Spark.

work: work/                         where streams and checkpoints are kept; `--work DIR` goes over it
spark: {spark.master: "local[8]"}   Spark's own configuration
kafka: {servers: "localhost:9092"}  for streams that say `stream: kafka`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.engines.spark.functions import Named
from penstock.engines.spark.streams import KafkaStream, Stream, read_streams
from penstock.errors import InvalidInput
from penstock.files import read_yaml
from penstock.ids import ComponentId
from penstock.reading import Trail, Where, Written
from penstock.topology.parse import Declared, read_declared, trail_name
from penstock.topology.topology import Component, Grouping

OUTSIDE = ("format", "schema", "options", "outputMode", "foreach_batch")
LEAST_SUBSTREAMS = 8  # room to grow; each costs some 10 ms a batch, so the stock 200 would cost seconds


@dataclass(frozen=True, slots=True)
class Outside:
    """Where a component reads or writes outside of the topology, in Spark's own words."""

    format: str | None
    schema: str | None = None
    output_mode: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    foreach_batch: Named | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Application:
    declared: Declared
    work: str
    spark: Mapping[str, str]
    streams: Mapping[ComponentId, Stream]
    sources: Mapping[ComponentId, Outside]
    sinks: Mapping[ComponentId, Outside]
    functions: Mapping[ComponentId, Named]

    @property
    def uses_kafka(self) -> bool:
        formats = [outside.format for outside in (*self.sources.values(), *self.sinks.values())]
        return "kafka" in formats or any(isinstance(s, KafkaStream) for s in self.streams.values())

    def inputs(self, component: ComponentId) -> int:
        return len(self.declared.topology.parents(component)) or 1

    def checkpoint(self, component: ComponentId) -> str:
        return f"{self.work}/checkpoints/{component}"

    def substreams(self, component: Component) -> int:
        return component.substreams or max(LEAST_SUBSTREAMS, component.parallelism, component.max_parallelism or 0)

    @property
    def slots(self) -> int:
        """Enough for every component at its widest, where nobody says what there is."""
        return sum(c.max_parallelism or c.parallelism for c in self.declared.topology.components)


def read_application(path: Path, work: str | None = None) -> Application:
    """Raises InvalidInput with every problem, each with file and line."""
    written = read_yaml(path)
    declared = read_declared(written)
    if declared is None or written.problems:
        raise InvalidInput(written.problems)
    return _application(declared, written, path.resolve().parent, work)


def application_of(declared: Declared, work: str | None = None, folder: Path | None = None) -> Application:
    """The same of a topology that was built in Python."""
    return _application(declared, Written({}, trail_name), folder or Path.cwd(), work)


def _application(declared: Declared, written: Written, folder: Path, work: str | None) -> Application:
    place = _work(declared, written, folder, work)
    reading = _Reading(declared, written.where, folder, written.problems)
    application = Application(
        declared,
        place,
        reading.texts(written.at("spark", declared.engine.get("spark", {}))),
        read_streams(written, declared, place),
        {c: reading.outside(c, "source", dict(value)) for c, value in declared.sources.items()},
        {c: reading.outside(c, "sink", dict(value)) for c, value in declared.sinks.items()},
        {c: reading.named(text, ("components", c, "function")) for c, text in declared.functions.items()},
    )
    reading.check()
    if written.problems:
        raise InvalidInput(written.problems)
    return application


def _work(declared: Declared, written: Written, folder: Path, given: str | None) -> str:
    """What a command line names is found from where it is typed, what a file names from where the file is."""
    if given is not None:
        return _absolute(given, Path.cwd())
    if "work" in declared.engine:
        return _absolute(written.at("work", declared.engine["work"]).text() or "", folder)
    return str(Path.cwd() / "penstock-work" / declared.topology.id)


def _absolute(path: str, folder: Path) -> str:
    """
    >>> _absolute("in", Path("/data")), _absolute("s3a://bucket/in", Path("/data"))
    ('/data/in', 's3a://bucket/in')
    """
    return path if ":/" in path else str(folder / path).rstrip("/")


@dataclass(frozen=True, slots=True)
class _Reading:
    declared: Declared
    where: Where
    folder: Path
    problems: list[str]

    def named(self, text: str, trail: Trail) -> Named:
        return Named(text, self.where(trail), self.folder)

    def texts(self, written: Written) -> dict[str, str]:
        """Options as Spark takes them: texts, `true` as YAML writes it."""
        return {n: _text(v.value) for n, v in written.fields().items()}

    def outside(self, component: ComponentId, end: str, value: dict[str, Any]) -> Outside:
        written = Written(value, self.where, ("components", component, end), self.problems)
        fields = written.fields(required=() if "foreach_batch" in value else ("format",))
        said = {n: fields[n].text() for n in OUTSIDE if n in fields and n != "options"}
        options = {n: _text(v.value) for n, v in fields.items() if n not in OUTSIDE}
        options |= self.texts(fields["options"]) if "options" in fields else {}
        if "path" in options:
            options["path"] = _absolute(options["path"], self.folder)
        batches = said.get("foreach_batch")
        named = self.named(batches, (*written.trail, "foreach_batch")) if batches else None
        return Outside(said.get("format"), said.get("schema"), said.get("outputMode"), options, named)

    def check(self) -> None:
        topology = self.declared.topology
        for component in topology.components:
            children = topology.children(component.id)
            if children and component.id in self.declared.sinks:
                self._wrong(
                    component.id, f"has a sink, and {children[0]!r} reads it: give the sink a component of its own"
                )
            if len(topology.parents(component.id)) > 1 and component.id not in self.declared.functions:
                self._wrong(component.id, "has several inputs, and no function that makes one of them")
        for stream in topology.streams:
            if stream.grouping in (Grouping.ALL, Grouping.DIRECT):
                self._wrong(stream.target, f"asks for grouping {stream.grouping.value!r}, which Spark does not have")
            if stream.grouping is Grouping.GLOBAL and topology[stream.target].parallelism_bound != 1:
                self._wrong(stream.target, "has a global input: say `max_parallelism: 1`, all rows go to one instance")

    def _wrong(self, component: ComponentId, what: str) -> None:
        self.problems.append(f"{self.where(('components', component))}: component {component!r} {what}")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
