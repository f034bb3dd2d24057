"""Rows into a Kafka topic. Only this module knows confluent-kafka, and imports it when a writer is made."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.errors import InvalidInput, MissingTool, PenstockError
from penstock.workloads.content import Batch
from penstock.workloads.encoding import LINES

CONNECT_TIMEOUT_S = 10.0
FLUSH_TIMEOUT_S = 30.0  # a broker that takes longer than this for one batch is down, not slow


class KafkaRecord(NamedTuple):
    key: bytes | None
    value: bytes
    timestamp_ms: int


def kafka_records(batch: Batch, line_format: str) -> list[KafkaRecord]:
    """A record's time is its row's stamp. Lines of words have no key, and spread over the partitions."""
    keys: list[bytes] = batch.key.tolist()
    values = LINES[line_format](batch)
    times_ms = (batch.ingress_us // 1000).tolist()
    return [KafkaRecord(key or None, value, t) for key, value, t in zip(keys, values, times_ms, strict=True)]


class KafkaWriter:
    """Returns when the broker has acknowledged all rows; idempotent, so that a retry doubles none.

    `config` adds settings of librdkafka, for instance how to log in.
    """

    def __init__(self, servers: str, topic: str, line_format: str, config: dict[str, Any] | None = None) -> None:
        if line_format not in LINES:
            raise InvalidInput(f"Kafka records are written as one of {', '.join(LINES)}, not as {line_format}")
        try:
            from confluent_kafka import Producer
        except ImportError:
            raise MissingTool("Kafka needs confluent-kafka: pip install 'penstock[kafka]'") from None
        quiet = {"enable.idempotence": True, "linger.ms": 1, "queue.buffering.max.messages": 1_000_000, "log_level": 2}
        self._producer = Producer({"bootstrap.servers": servers, **quiet, **(config or {})})
        self._servers, self._topic, self._format = servers, topic, line_format
        self._failures: list[str] = []

    def prepare(self, sample: Batch) -> None:
        from confluent_kafka import KafkaException

        try:
            self._producer.list_topics(self._topic, timeout=CONNECT_TIMEOUT_S)
        except KafkaException as error:
            raise PenstockError(f"no Kafka broker answers at {self._servers}: {error.args[0].str()}") from None

    def ready(self) -> bool:
        return True

    def write(self, batch: Batch) -> None:
        for record in kafka_records(batch, self._format):
            self._produce(record)
        unacknowledged = self._producer.flush(FLUSH_TIMEOUT_S)
        if self._failures:
            raise PenstockError(
                f"Kafka at {self._servers} did not take {len(self._failures)} rows: {self._failures[0]}"
            )
        if unacknowledged:
            raise PenstockError(
                f"Kafka at {self._servers} did not acknowledge {unacknowledged} rows within {FLUSH_TIMEOUT_S:g} s: "
                "does it run, and is that its address?"
            )

    def close(self) -> None:
        """What waits to be sent after an error would be sent twice or never: it is given up."""
        self._producer.purge()

    def _produce(self, record: KafkaRecord) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic, record.value, record.key, timestamp=record.timestamp_ms, on_delivery=self._delivered
                )
                return
            except BufferError:  # its queue is full: serve deliveries until there is room
                self._producer.poll(0.1)

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._failures.append(str(error))
