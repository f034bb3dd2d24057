"""A job that counts, and says so at every batch, until somebody stops it."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("talks").master("local[4]").config("spark.sql.shuffle.partitions", 4).getOrCreate()


def say(frame, batch):
    print("batch", batch, frame.count(), flush=True)


rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
counts = rows.selectExpr("value % 7 AS word").groupBy("word").count()
query = counts.writeStream.queryName("counts").outputMode("update").foreachBatch(say)
query.trigger(processingTime="300 milliseconds").start().awaitTermination()
