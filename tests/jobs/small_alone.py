"""Looks for anything of Penstock in itself, and prints what there is: `small_alone.py`."""

import json
import os

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("alone").master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
query = rows.groupBy().count().writeStream.outputMode("update").format("noop").start()
while query.isActive and not query.lastProgress:
    query.awaitTermination(1)

jvm, execution = spark._jvm, query._jsq.streamingQuery().lastExecution()
threads = jvm.java.lang.Thread.getAllStackTraces().keySet().toArray()
print("found:", json.dumps({
    "class path": [p for p in jvm.System.getProperty("java.class.path").split(":") if "penstock.jar" in p],
    "environment": sorted(v for v in os.environ if v.startswith(("PENSTOCK", "SPARK_DIST", "SPARK_SUBMIT", "PYSPARK_PYTHON"))),
    "threads": sorted({t.getName() for t in threads if "penstock" in t.getName()}),
    "switches": execution.executedPlan().toString().count("Switch"),
    "files": spark.sparkContext._jsc.hadoopConfiguration().get("fs.AbstractFileSystem.file.impl").rpartition(".")[2],
}), flush=True)
query.stop()
spark.stop()
