"""An ordinary PySpark job: Kafka -> aggregation -> foreachBatch. `counts_job.py FOLDER SERVERS TOPIC JARS` ends itself.

Nothing in it knows of Penstock.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f


def counts(spark: SparkSession, servers: str, topic: str) -> DataFrame:
    records = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    records = records.option("subscribe", topic).option("startingOffsets", "earliest")
    value = f.from_json(f.col("value").cast("string"), "key string, value long").alias("row")
    rows = records.option("maxOffsetsPerTrigger", 120).load().select(value).select("row.*")
    return rows.groupBy("key").agg(f.count("*").alias("n"), f.sum("value").alias("total"))


def into(folder: Path) -> Callable[[DataFrame, int], None]:
    """Under the batch's id, whole or not at all: a replayed batch replaces itself."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(frame: DataFrame, batch: int) -> None:
        fresh = folder / f".{batch}.{os.getpid()}"
        fresh.write_text(json.dumps([row.asDict() for row in frame.collect()]))
        fresh.rename(folder / f"{batch}.json")

    return write


def main(folder: Path, servers: str, topic: str, jars: str) -> None:
    builder = SparkSession.builder.appName("counts").master("local[4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", 4)
    spark = builder.config("spark.jars", jars).getOrCreate()
    writer = counts(spark, servers, topic).writeStream.queryName("counts").outputMode("update")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.foreachBatch(into(folder / "out")).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
