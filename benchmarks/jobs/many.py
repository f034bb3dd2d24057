"""Many small queries at once: `many.py QUERIES SECONDS`; prints the driver's CPU seconds for each batch."""

import json
import sys
import tempfile

from pyspark.sql import SparkSession

count, seconds = int(sys.argv[1]), float(sys.argv[2])
spark = (
    SparkSession.builder.master("local[4]")
    .config("spark.sql.shuffle.partitions", 2)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
cpu = spark.sparkContext._gateway.jvm.java.lang.management.ManagementFactory.getOperatingSystemMXBean()
with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    queries = []
    for at in range(count):
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).option("numPartitions", 1).load()
        counts = rows.selectExpr("value % 10 AS key").groupBy("key").count()
        writer = counts.writeStream.queryName(f"q{at}").format("noop").outputMode("update")
        queries.append(
            writer.option("checkpointLocation", f"{folder}/{at}").trigger(processingTime="2 seconds").start()
        )
    queries[0].awaitTermination(seconds / 2)
    before = sum(q.lastProgress["batchId"] for q in queries if q.lastProgress), cpu.getProcessCpuTime()
    queries[0].awaitTermination(seconds)
    batches = sum(q.lastProgress["batchId"] for q in queries if q.lastProgress) - before[0]
    cpu_s = (cpu.getProcessCpuTime() - before[1]) / 1e9
    for query in queries:
        query.stop()
print(json.dumps({"cpu_s_a_batch": cpu_s / batches, "batches": batches}))
spark.stop()
