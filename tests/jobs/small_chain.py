"""Two queries, the second over what the first writes: `small_chain.py FOLDER`."""

import sys

from pyspark.sql import SparkSession

folder = sys.argv[1]
spark = SparkSession.builder.appName("chain").master("local[4]").config("spark.sql.shuffle.partitions", 4).getOrCreate()

rate = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
lines = rate.selectExpr("value", "value % 7 AS word").writeStream.queryName("lines").format("parquet")
lines = lines.option("checkpointLocation", f"{folder}/checkpoint").trigger(processingTime="1 second")
lines.start(f"{folder}/lines")

rows = spark.readStream.schema("value long, word long").parquet(f"{folder}/lines")
counts = rows.groupBy("word").count().writeStream.outputMode("update").format("noop")
counts.trigger(processingTime="1 second").start().awaitTermination()
