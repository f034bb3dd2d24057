"""Drains a folder of Parquet: `drain.py FOLDER KIND`; prints rows a second, start-up and the first batches aside."""

import json
import sys
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

folder, kind = sys.argv[1], sys.argv[2]
spark = (
    SparkSession.builder.master("local[4]")
    .config("spark.sql.shuffle.partitions", 4)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
rows = spark.readStream.schema("id long, value long").option("maxFilesPerTrigger", 4).parquet(folder)
frame = (
    rows.selectExpr("id * 31 % 1000003 AS a", "sqrt(value) AS b")
    if kind == "stateless"
    else rows.groupBy((F.col("id") % 10000).alias("key")).agg(F.count("*").alias("n"), F.sum("value").alias("total"))
)
with tempfile.TemporaryDirectory(dir="/dev/shm") as checkpoint:
    writer = frame.writeStream.format("noop").outputMode("append" if kind == "stateless" else "update")
    query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    warm = [p for p in query.recentProgress if p["numInputRows"]][3:]
print(json.dumps({"rows_per_s": sum(p["numInputRows"] for p in warm) / sum(p["batchDuration"] for p in warm) * 1000}))
spark.stop()
