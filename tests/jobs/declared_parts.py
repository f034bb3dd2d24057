"""What the declared topologies of the tests are made of: ordinary functions, which know nothing of Penstock."""

import json
import os
from pathlib import Path

from pyspark.sql import functions as F


def kept(rows):
    return rows.filter("value % 3 != 0")


def counted(rows):
    return rows.groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("total"))


def told(records):
    """Rows as they lie in Kafka."""
    schema = "id long, key string, value long, ts timestamp, copy long"
    return kept(records.select(F.from_json(F.col("value").cast("string"), schema).alias("row")).select("row.*"))


def once(rows):
    """Of a stream that may bring a row twice."""
    return rows.dropDuplicates(["id", "copy"]).selectExpr("id", "copy", "key", "value", "unix_micros(ts) AS ts_us")


def evens(rows):
    return rows.filter("value % 2 = 0").selectExpr("id AS left_id", "key AS left_key", "ts AS left_ts")


def fifths(rows):
    return rows.filter("value % 5 = 0").selectExpr("id AS right_id", "key AS right_key", "ts AS right_ts")


def near(left, right):
    left, right = left.withWatermark("left_ts", "5 seconds"), right.withWatermark("right_ts", "5 seconds")
    close = "left_key = right_key AND right_ts BETWEEN left_ts - INTERVAL 2 SECONDS AND left_ts + INTERVAL 2 SECONDS"
    return left.join(right, F.expr(close), "inner").select("left_id", "right_id")


def write(frame, batch):
    """Under the batch's id, whole or not at all: a replayed batch replaces itself."""
    folder = Path(os.environ["TEST_OUT"])
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{batch}.{os.getpid()}"
    fresh.write_text(json.dumps([row.asDict() for row in frame.collect()]))
    fresh.rename(folder / f"{batch}.json")


def nothing(rows):
    return [rows]
