"""What reached a query's input, source by source, on what Spark and the agent tell."""

from __future__ import annotations

import json

import pytest

from penstock.engines.spark.input import Files, Kafka, Rate, Unwatched, input_of
from penstock.observe.snapshot import How


def test_parquet_files_are_known_to_the_row_and_the_moment() -> None:
    files = Files()
    files.arrived([[10_000, 900, 25, None], [12_000, 900, 30, None]])
    assert files.how is How.EXACT
    assert files.curve.total == 55
    assert files.curve.by(11.0) == 25
    assert (files.curve.arrival_s(24), files.curve.arrival_s(25)) == (10.0, 12.0)


def test_rows_of_other_files_follow_from_bytes_once_a_batch_has_been_read() -> None:
    files = Files()
    files.arrived([[10_000, 1000, None, None], [20_000, 3000, None, None]])
    assert files.how is How.INTERPOLATED
    assert files.curve.total == 0, "what is not known is not made up"
    files.batch({"numInputRows": 100}, 15.0, None)
    assert files.curve.total == pytest.approx(400)
    assert files.curve.by(15.0) == pytest.approx(100)


def kafka(start: int, end: int, latest: int) -> dict[str, str]:
    """As progress has it: offsets are JSON in text."""
    names = {"startOffset": start, "endOffset": end, "latestOffset": latest}
    return {name: json.dumps({"words": {"0": offset, "1": 0}}) for name, offset in names.items()}


def test_kafka_grows_by_its_end_offsets_whatever_was_taken() -> None:
    topic = Kafka()
    topic.batch(kafka(100, 150, 300), 20.0, 10.0)
    assert topic.curve.total == 200, "from where this run began, up to the newest"
    topic.batch(kafka(150, 300, 500), 30.0, 20.0)
    assert topic.curve.total == 400
    assert topic.curve.by(25.0) == pytest.approx(300), "between two looks it grew evenly"


def test_a_rate_sources_rows_come_at_full_seconds_of_its_own() -> None:
    rate = Rate(100.0)
    rate.batch({"startOffset": 0, "endOffset": 2, "numInputRows": 200}, 1002.5, None)
    rate.batch({"startOffset": 2, "endOffset": 3, "numInputRows": 100}, 1003.2, 1002.5)
    assert rate.curve.total == 300
    assert rate.curve.times_s == sorted(rate.curve.times_s)
    assert 1002 < rate.curve.times_s[-1] <= 1003.2


def test_of_others_only_a_bound_is_known() -> None:
    socket = Unwatched()
    socket.batch({"numInputRows": 10}, 20.0, 15.0)
    assert socket.how is How.BOUND
    assert socket.curve.by(17.5) == pytest.approx(5)


def test_a_source_is_known_by_its_description() -> None:
    assert isinstance(input_of("KafkaV2[Subscribe[words]]"), Kafka)
    assert isinstance(input_of("TextSocketV2[host: localhost, port: 9999]"), Unwatched)
    ramp = "RateStreamV2[rowsPerSecond=100, rampUpTimeSeconds=5, numPartitions=default"
    assert isinstance(input_of(ramp), Unwatched), "while it ramps up, its clock does not tell the rows"
