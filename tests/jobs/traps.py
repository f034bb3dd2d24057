"""Ordinary jobs that break where tasks are regrouped carelessly: `traps.py FOLDER TRAP`. Nothing in it knows of Penstock."""

import json
import os
import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

FOLDER, TRAP = Path(sys.argv[1]), sys.argv[2]
OUT, CHECKPOINT = FOLDER / "out" / TRAP, FOLDER / "checkpoint" / TRAP
SCHEMA = "id long, key string, value long, ts timestamp"

spark = (
    SparkSession.builder.appName("traps").master("local[4]").config("spark.sql.shuffle.partitions", 4)
    .config("spark.ui.enabled", "false").getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
OUT.mkdir(parents=True, exist_ok=True)


def rows():
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 3).parquet(str(FOLDER / "in"))


def write(writer, mode="append"):
    writer = writer.queryName(TRAP).outputMode(mode).option("checkpointLocation", str(CHECKPOINT))
    return writer if TRAP == "continuous" else writer.trigger(availableNow=True)


class SkipsWhatItFinished:
    """As the documentation of `foreach` advises: (partition, epoch) is written once."""

    def open(self, partition, epoch):
        self.name = f"{epoch}-{partition}"
        self.rows = []
        return not (OUT / self.name).exists()

    def process(self, row):
        self.rows.append(row["id"])
        threading.Event().wait(0.002)

    def close(self, error):
        if error is None and self.rows:
            fresh = OUT / f".{self.name}.{os.getpid()}"
            fresh.write_text(json.dumps(self.rows))
            fresh.rename(OUT / self.name)


def save(found, batch):
    fresh = OUT / f".{batch}.{os.getpid()}"
    fresh.write_text(json.dumps(found))
    fresh.rename(OUT / f"{batch}.json")


def joins_on_the_batch(frame, batch):
    """Its own join and shuffle may not rely on where the batch's rows lie, and are not the stream's stages."""
    names = frame.sparkSession.createDataFrame([(f"k{i}", f"name-{i}") for i in range(41)], "key string, name string")
    again = frame.groupBy("key").agg(F.sum("n").alias("again"))
    found = frame.join(names, "key").join(again, "key").repartition(3).collect()
    save([row.asDict() for row in found], batch)


def aggregation():
    return rows().groupBy("key").agg(F.count("*").alias("n"))


if TRAP == "replayed":
    query = write(rows().repartition(4, "id").select("id").writeStream).foreach(SkipsWhatItFinished()).start()
elif TRAP == "batch_join":
    query = write(aggregation().writeStream, "update").foreachBatch(joins_on_the_batch).start()
elif TRAP == "ordered":
    query = write(aggregation().orderBy("key").writeStream, "complete").foreachBatch(
        lambda frame, batch: save([row.asDict() for row in frame.collect()], batch)).start()
elif TRAP == "self_join":
    events = rows().withWatermark("ts", "5 seconds").repartition(4, "key")
    other = events.selectExpr("key AS other_key", "id AS other_id", "ts AS other_ts")
    near = F.expr("key = other_key AND id = other_id AND other_ts BETWEEN ts - INTERVAL 1 SECOND AND ts + INTERVAL 1 SECOND")
    query = write(events.join(other, near).select("id", "other_id").writeStream).format("parquet").start(str(OUT))
elif TRAP == "partitioned":
    query = write(rows().repartition(4, "id").select("id", "key").writeStream).partitionBy("key").format("parquet").start(str(OUT))
elif TRAP == "continuous":
    endless = spark.readStream.format("rate").option("rowsPerSecond", 10).option("numPartitions", 2).load()
    query = write(endless.writeStream).format("noop").trigger(continuous="1 second").start()
query.awaitTermination(20 if TRAP == "continuous" else None)
if TRAP == "self_join":
    (FOLDER / "input_rows").write_text(str(sum(p["numInputRows"] for p in query.recentProgress)))
query.stop()
spark.stop()
