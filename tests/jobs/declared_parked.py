"""An ordinary job whose work is sleep: `declared_parked.py FOLDER MICROS SLOW`. It ends by itself.

Each batch reads eight files of the same size, one partition each. Its queries run one after the other: `plain` does no
parked work, `wide` and `narrow` are the same, and in `uneven` instance 1 is SLOW times slower.
"""

import sys
from pathlib import Path

from penstock.workloads.parked import parked
from pyspark.sql import SparkSession

FOLDER, MICROS, SLOW = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])

builder = SparkSession.builder.appName("parked").master("local[8]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", 8).getOrCreate()
stream = spark.readStream.schema("id long, key string, value long, ts timestamp").option("maxFilesPerTrigger", 8)
rows = stream.parquet(str(FOLDER / "in")).select("id", "value")
worked = rows.withColumn("value", parked("value", micros=MICROS))


def run(name, frame):
    writer = frame.writeStream.queryName(name).option("checkpointLocation", str(FOLDER / "checkpoint" / name))
    writer.trigger(availableNow=True).format("parquet").start(str(FOLDER / "out" / name)).awaitTermination()


run("plain", rows)
run("wide", worked)
run("narrow", worked)
run("uneven", rows.withColumn("value", parked("value", micros=MICROS, slow={1: SLOW})))
spark.stop()
