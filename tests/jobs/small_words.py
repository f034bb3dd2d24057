"""An ordinary job that counts words until somebody stops it: `small_words.py [REMOTE]`, the latter for Spark Connect."""

import sys

from pyspark.sql import SparkSession

builder = SparkSession.builder.appName("words")
spark = (builder.remote(sys.argv[1]) if len(sys.argv) > 1 else builder).getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 4)

rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
counts = rows.selectExpr("value % 7 AS word").groupBy("word").count()
query = counts.writeStream.queryName("counts").outputMode("update").format("noop")
query.trigger(processingTime="300 milliseconds").start().awaitTermination()
