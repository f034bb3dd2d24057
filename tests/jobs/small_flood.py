"""Counts, and has Penstock's agent in its own driver keep more facts than it can: as hours of batches would."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("flood").master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
counts = rows.selectExpr("value % 7 AS word").groupBy("word").count()
query = counts.writeStream.queryName("counts").outputMode("update").format("noop")
query = query.trigger(processingTime="300 milliseconds").start()
while not query.lastProgress:
    query.awaitTermination(1)

jvm = spark._jvm
field = jvm.scala.Tuple2("filling", "x" * 1_000_000)
fields = jvm.PythonUtils.toSeq([field])
for _ in range(20):
    jvm.org.apache.spark.sql.penstock.Facts.add("flood", fields)
print("the flood is over", flush=True)
query.awaitTermination()
