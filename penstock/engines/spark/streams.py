"""Streams between declared components. They are durable: each component goes at its own pace, and on from where it was.

files   Spark's own Parquet sink and source: exactly-once between them, and no server to run
kafka   a topic, by Spark's own connector, which writes at least once: a batch that is run again is sent again
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.ids import ComponentId
from penstock.reading import Written
from penstock.topology.parse import Declared
from penstock.topology.topology import Grouping

KINDS = ("files", "kafka")
FILES_A_BATCH = 64  # of a few rows to some 10,000 each: a backlog is worked off in batches of seconds
OFFSETS_A_BATCH = 200_000
LEAST_KEPT_S = 600.0  # the cleaner looks every ten seconds, and acts at half of it
KEPT_S = 3600.0  # Spark reads the whole log of a stream's files at every batch: an hour of it costs milliseconds
SERVERS = "kafka.bootstrap.servers"
JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "true"}  # Spark cuts off at ms


@dataclass(frozen=True, slots=True)
class FileStream:
    """`kept_s`: how long Spark's log names a file. The cleaner sees to it that no reader is ever so late."""

    folder: str
    files_a_batch: int = FILES_A_BATCH
    kept_s: float = KEPT_S

    def write(self, frame: Any) -> Any:
        kept = f"{round(self.kept_s)}s"
        return frame.writeStream.format("parquet").option("path", self.folder).option("retention", kept)

    def read(self, spark: Any, schema: Any) -> Any:
        reader = spark.readStream.schema(schema).format("parquet").option("maxFilesPerTrigger", self.files_a_batch)
        return reader.load(self.folder)


@dataclass(frozen=True, slots=True)
class KafkaStream:
    """Rows go as JSON; with grouping by key, the key says which partition. `options` are the connector's own."""

    topic: str
    partitions: int
    options: Mapping[str, str]
    key: tuple[str, ...] = ()
    rows_a_batch: int = OFFSETS_A_BATCH

    def write(self, frame: Any) -> Any:
        from pyspark.sql import functions as f

        value = f.to_json(f.struct("*"), JSON).alias("value")
        key = [f.to_json(f.struct(*self.key), JSON).alias("key")] if self.key else []
        writer = frame.select(*key, value).writeStream.format("kafka").options(**self.options)
        return writer.option("topic", self.topic)

    def read(self, spark: Any, schema: Any) -> Any:
        from pyspark.sql import functions as f

        reader = spark.readStream.format("kafka").options(**self.options).option("subscribe", self.topic)
        reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", self.rows_a_batch)
        value = f.from_json(f.col("value").cast("string"), schema, {**JSON, "mode": "FAILFAST"})
        return reader.load().select(value.alias("row")).select("row.*")

    def make_topic(self, spark: Any) -> None:
        """With as many partitions as were asked for; one that is there stays as it is."""
        jvm = spark._jvm
        settings = jvm.java.util.Properties()
        for name, value in self.options.items():
            if name.startswith("kafka."):
                settings.put(name.removeprefix("kafka."), value)
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
        try:
            if not admin.listTopics().names().get().contains(self.topic):
                some, none = jvm.java.util.Optional.of(self.partitions), jvm.java.util.Optional.empty()
                topic = jvm.org.apache.kafka.clients.admin.NewTopic(self.topic, some, none)
                admin.createTopics(jvm.java.util.List.of(topic)).all().get()
        finally:
            admin.close()


Stream = FileStream | KafkaStream


def read_streams(written: Written, declared: Declared, work: str) -> dict[ComponentId, Stream]:
    """Of every component that others read, and of those that have no sink; problems are noted in `written`."""
    servers = _servers(written, declared)
    found = {}
    for component in declared.topology.components:
        if component.id not in declared.sinks:
            asked = declared.streams.get(component.id, "files")
            place = written.at("components", None).at(component.id, None).at("stream", asked)
            if (stream := _stream(place, declared, component.id, servers, work)) is not None:
                found[component.id] = stream
    return found


def _servers(written: Written, declared: Declared) -> dict[str, str]:
    """The connector's options for all streams: `kafka: {servers: ..., kafka.security.protocol: ...}`."""
    if "kafka" not in declared.engine:
        return {}
    fields = written.at("kafka", declared.engine["kafka"]).fields()
    options = {name: str(value.value) for name, value in fields.items() if name != "servers"}
    servers = fields["servers"].text() if "servers" in fields else None
    return {**options, **({SERVERS: servers} if servers else {})}


def _stream(
    written: Written, declared: Declared, component: ComponentId, servers: Mapping[str, str], work: str
) -> Stream | None:
    """`stream: kafka`, or a mapping with `kind` and its settings."""
    if isinstance(written.value, str):
        kind, fields = written.one_of(KINDS), {}
    else:
        known = ("kind", "files_a_batch", "kept_s", "rows_a_batch", "partitions", "topic")
        fields = written.fields(known=known, required=("kind",))
        kind = fields["kind"].one_of(KINDS) if "kind" in fields else None
    if kind == "files":
        kept_s = fields["kept_s"].number(above=LEAST_KEPT_S) if "kept_s" in fields else None
        folder = f"{work}/streams/{component}"
        return FileStream(folder, kept_s=kept_s or KEPT_S, **_settings(fields, ("files_a_batch",)))
    if kind is None:
        return None
    if SERVERS not in servers:
        written.wrong("a Kafka stream needs `kafka: {servers: host:port}` at the top of the file")
        return None
    topic = fields["topic"].text() if "topic" in fields else f"{declared.topology.id}.{component}"
    return KafkaStream(
        topic or "",
        _partitions(declared, component, fields),
        servers,
        _key(declared, component),
        **_settings(fields, ("rows_a_batch",)),
    )


def _settings(fields: Mapping[str, Written], names: tuple[str, ...]) -> dict[str, int]:
    return {n: whole for n in names if n in fields and (whole := fields[n].whole()) is not None}


def _partitions(declared: Declared, component: ComponentId, fields: Mapping[str, Written]) -> int:
    """Enough for the widest reader: a reader without state has no more instances than the topic has partitions."""
    readers = [declared.topology[c] for c in declared.topology.children(component)]
    widest = max([8, *(r.parallelism_bound or r.parallelism for r in readers)])
    return (fields["partitions"].whole() if "partitions" in fields else None) or widest


def _key(declared: Declared, component: ComponentId) -> tuple[str, ...]:
    """A topic has one key: that of its readers, where they agree."""
    keys = {s.key for s in declared.topology.streams if s.source == component and s.grouping is Grouping.KEY}
    return next(iter(keys)) if len(keys) == 1 else ()
