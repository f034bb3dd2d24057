"""Passes rows on from one folder to another, and a second query counts them by key: `passes.py FOLDER`."""

import sys

from pyspark.sql import SparkSession

folder = sys.argv[1]
spark = SparkSession.builder.appName("passes").master("local[4]").config("spark.sql.shuffle.partitions", 4).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
rows = spark.readStream.schema("id long, key string, value string, ingress_us long").parquet(f"{folder}/in")
rows.select("id", "ingress_us").writeStream.queryName("passes").option("checkpointLocation", f"{folder}/checkpoint/passes").format(
    "parquet").start(f"{folder}/out")
rows.groupBy("key").count().writeStream.queryName("counts").option("checkpointLocation", f"{folder}/checkpoint/counts").outputMode(
    "update").format("noop").start()
spark.streams.awaitAnyTermination()
