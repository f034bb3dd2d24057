"""What lies in Kafka's topics: written and read by Kafka's own client, never by Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.spark.finite import rows_of_file
from tests.spark.oracle import Row

QUIET = {"log_level": 2}


def make_topic(servers: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": servers, **QUIET})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(timeout=30)


def write_rows(servers: str, topic: str, rows: int) -> list[Row]:
    """A finite input: `copy` tells rows apart that are the same."""
    made = [{**row, "copy": i} for i, row in enumerate(rows_of_file(0, rows, seed=1))]
    write(servers, topic, (json.dumps({**row, "ts": row["ts"].isoformat()}) for row in made))
    return made


def write(servers: str, topic: str, values: Iterable[str]) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, **QUIET})
    for value in values:
        producer.produce(topic, value.encode())
    assert producer.flush(30) == 0


def end_offsets(servers: str, topic: str) -> int:
    """Over all partitions: what the broker says has come."""
    consumer = _consumer(servers)
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    offsets = [consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=30)[1] for p in partitions]
    consumer.close()
    return int(sum(offsets))


def read_all(servers: str, topic: str) -> list[dict[str, Any]]:
    consumer = _consumer(servers)
    wanted = end_offsets(servers, topic)
    found: list[dict[str, Any]] = []
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
    while len(found) < wanted:
        message = consumer.poll(30)
        assert message is not None and message.error() is None, "the broker does not give what it says it has"
        found.append(json.loads(message.value()))
    consumer.close()
    return found


def _consumer(servers: str) -> Consumer:
    return Consumer({"bootstrap.servers": servers, "group.id": "tests", "enable.auto.commit": False, **QUIET})
