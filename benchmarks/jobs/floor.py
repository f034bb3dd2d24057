"""Small batches, back to back: `floor.py KIND SECONDS`; prints the median and p99 of a batch, in ms."""

import json
import sys
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

kind, seconds = sys.argv[1], float(sys.argv[2])
spark = (
    SparkSession.builder.master("local[8]")
    .config("spark.sql.shuffle.partitions", 8)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1000).option("numPartitions", 2).load()
with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    queries = []
    if kind == "stateless":
        last = rows.writeStream.format("noop")
    elif kind == "stateful":
        last = rows.groupBy((F.col("value") % 100).alias("key")).count().writeStream.format("noop").outputMode("update")
    else:  # hops through files
        for hop in range(int(kind) - 1):
            where = f"{folder}/hop{hop}"
            queries.append(rows.writeStream.format("parquet").option("checkpointLocation", f"{where}-c").start(where))
            rows = spark.readStream.schema("timestamp timestamp, value long").parquet(where)
        last = rows.writeStream.format("noop")
    query = last.option("checkpointLocation", f"{folder}/checkpoint").start()
    query.awaitTermination(seconds)
    found = sorted(p["batchDuration"] for p in query.recentProgress[5:] if p["numInputRows"])
    query.stop()
    for q in queries:
        q.stop()
print(json.dumps({"median_ms": found[len(found) // 2], "p99_ms": found[int(len(found) * 0.99)], "batches": len(found)}))
spark.stop()
