"""An ordinary PySpark job, with every kind of query that must stay exact: `kinds.py FOLDER STORE KIND...`.

FOLDER/in holds the input, FOLDER/out/KIND gets the output, FOLDER/checkpoint/KIND the checkpoint. It ends by itself.
Nothing in it knows of Penstock.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

FOLDER, STORE, KINDS = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
SCHEMA = "id long, key string, value long, ts timestamp"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

builder = SparkSession.builder.appName("kinds")
if "SPARK_MASTER" not in os.environ:
    builder = builder.master("local[4]")
spark = builder.config("spark.sql.shuffle.partitions", 4).config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def rows() -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 3).parquet(str(FOLDER / "in"))


def events() -> DataFrame:
    return rows().withWatermark("ts", "5 seconds")


def stateless():
    return rows().filter("value % 3 != 0").selectExpr("id", "value * 2 AS twice")


def adaptive():
    return rows().repartition(6, "id").select("id")


def aggregation():
    return rows().groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("total"))


def windowed():
    return events().groupBy(F.window("ts", "10 seconds"), "key").agg(F.count("*").alias("n")).select(
        F.unix_timestamp("window.start").alias("start"), "key", "n")


def several():
    inner = events().groupBy(F.window("ts", "10 seconds"), "key").agg(F.count("*").alias("n"))
    outer = inner.groupBy(F.window(F.window_time("window"), "30 seconds")).agg(F.sum("n").alias("n"), F.count("*").alias("keys"))
    return outer.select(F.unix_timestamp("window.start").alias("start"), "n", "keys")


def dedupe():
    return events().dropDuplicatesWithinWatermark(["id"]).select("id", "value")


def sessions():
    return events().groupBy(F.session_window("ts", "3 seconds"), "key").agg(F.count("*").alias("n")).select(
        F.unix_millis("session_window.start").alias("start"), "key", "n")


def join(how):
    left = rows().filter("value % 2 = 0").selectExpr("id AS left_id", "key AS left_key", "ts AS left_ts").withWatermark("left_ts", "5 seconds")
    right = rows().filter("value % 5 = 0").selectExpr("id AS right_id", "key AS right_key", "ts AS right_ts").withWatermark("right_ts", "5 seconds")
    near = F.expr("left_key = right_key AND right_ts BETWEEN left_ts - INTERVAL 2 SECONDS AND left_ts + INTERVAL 2 SECONDS")
    return left.join(right, near, how).select("left_id", "right_id")


def inner():
    return join("inner")


def outer():
    return join("left_outer")


def union():
    counts = rows().groupBy("key").agg(F.count("*").alias("n"))
    totals = rows().groupBy("key").agg(F.sum("value").alias("n"))
    return counts.selectExpr("'n' AS what", "key", "n").unionAll(totals.selectExpr("'total' AS what", "key", "n"))


def ordered():
    return aggregation().orderBy("key")


def pandas_state():
    def count(key, frames, state):
        n = (state.get[0] if state.exists else 0) + sum(len(f) for f in frames)
        state.update((n,))
        import pandas as pd
        yield pd.DataFrame({"key": [key[0]], "n": [n]})

    return rows().groupBy("key").applyInPandasWithState(count, "key string, n long", "n long", "update", "NoTimeout")


def timers():
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor

    class Farewell(StatefulProcessor):
        """Counts a key's rows, and says so once, when event time has passed its last row by ten seconds."""

        def init(self, handle):
            self.handle = handle
            self.seen = handle.getValueState("seen", "n long, due long")

        def handleInputRows(self, key, rows, timerValues):
            n, due = self.seen.get() if self.seen.exists() else (0, 0)
            for frame in rows:
                n += len(frame)
                last = int(frame["ts"].max().timestamp() * 1000) + 10_000
                if last > due:
                    if due:
                        self.handle.deleteTimer(due)
                    self.handle.registerTimer(last)
                    due = last
            self.seen.update((n, due))
            yield pd.DataFrame({"key": [], "n": []}).astype({"key": "str", "n": "int64"})

        def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
            n, _ = self.seen.get()
            self.seen.clear()
            yield pd.DataFrame({"key": [key[0]], "n": [n]})

        def close(self):
            pass

    return events().groupBy("key").transformWithStateInPandas(Farewell(), "key string, n long", "append", "eventTime")


def write_batch(kind, actions=1):
    """Under the batch's id, whole or not at all: a replayed batch replaces itself."""
    folder = FOLDER / "out" / kind
    folder.mkdir(parents=True, exist_ok=True)

    def write(frame, batch):
        if actions > 1:
            frame.persist()
            frame.count()
        found = [row.asDict() for row in frame.collect()]
        for _ in range(actions - 2):
            assert frame.count() == len(found)
        fresh = folder / f".{batch}.{os.getpid()}"
        fresh.write_text(json.dumps(found))
        fresh.rename(folder / f"{batch}.json")
        if actions > 1:
            frame.unpersist()

    return write


FILES = {"stateless", "adaptive", "windowed", "several", "dedupe", "sessions", "inner", "outer"}
MODES = {"aggregation": "update", "pandas_state": "update", "union": "update", "actions": "update", "ordered": "complete"}


def start(kind):
    make = aggregation if kind == "actions" else globals()[kind]
    writer = make().writeStream.queryName(kind).trigger(availableNow=True).outputMode(MODES.get(kind, "append"))
    writer = writer.option("checkpointLocation", str(FOLDER / "checkpoint" / kind))
    if kind in FILES:
        return writer.format("parquet").start(str(FOLDER / "out" / kind))
    return writer.foreachBatch(write_batch(kind, actions=3 if kind == "actions" else 1)).start()


def use_store(kind, at):
    """The stores are dealt out in turn, so that both meet every group of kinds."""
    rocks = kind in ("timers",) or STORE == "rocksdb" or (STORE == "mixed" and at % 2)
    rocks = rocks and kind != "union"  # plain Spark 4.3 fails there on RocksDB, switch or no switch
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKS if rocks else "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")


queries = []
for at, kind in enumerate(KINDS):
    use_store(kind, at)
    queries.append(start(kind))
for query in queries:
    query.awaitTermination()
spark.stop()
