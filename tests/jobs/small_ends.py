"""The ways in which a job ends: `small_ends.py before | without-query | dies | by-itself`."""

import json
import os
import sys

how = sys.argv[1]
if how == "before":
    print("no such table: clicks", file=sys.stderr)
    sys.exit(3)

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("ends").master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()


def interpreter(rows):
    yield sys.executable, os.environ.get("PYSPARK_PYTHON"), os.environ.get("USERS_PYTHON")


if how == "without-query":
    executable, said, users = spark.sparkContext.parallelize([1], 1).mapPartitions(interpreter).first()
    print("worker:", json.dumps({"executable": executable, "said": said, "users": users}), flush=True)
    sys.exit(0)


def write(frame, batch):
    rows = frame.count()
    if how == "dies" and batch >= 2:
        raise ValueError(f"the table is gone, {rows} rows are not written")


source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
words = source.selectExpr("value % 7 AS word").groupBy("word")
query = words.count().writeStream.queryName("counts").outputMode("update").foreachBatch(write).start()
try:
    while how == "dies" or not query.lastProgress or query.lastProgress["batchId"] < 2:
        query.awaitTermination(1)
except StreamingQueryException as error:
    print("the query failed:", type(error).__name__, file=sys.stderr)
    sys.exit(7)
query.stop()
spark.stop()
