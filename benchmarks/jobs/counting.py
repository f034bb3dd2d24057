"""Counts by key until it is stopped: `counting.py CHECKPOINT SLOTS`."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

checkpoint, slots = sys.argv[1], sys.argv[2]
spark = (
    SparkSession.builder.master(f"local[{slots}]")
    .config("spark.sql.shuffle.partitions", 8)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1000).option("numPartitions", 2).load()
counts = rows.groupBy((F.col("value") % 1000).alias("key")).count()
query = (
    counts.writeStream.queryName("counts").format("noop").outputMode("update").option("checkpointLocation", checkpoint)
)
query.trigger(processingTime="500 milliseconds").start().awaitTermination()
