"""A job that sets in code all that a door of Penstock's could be tempted to use: `small_users_own.py MASTER JAR CLASSES`."""

import sys

from pyspark.sql import SparkSession

master, jar, classes = sys.argv[1:]
spark = (
    SparkSession.builder.appName("own")
    .master(master)
    .config("spark.sql.extensions", "users.Extension")
    .config("spark.plugins", "users.Plugin")
    .config("spark.jars", jar)
    .config("spark.driver.extraClassPath", classes)
    .config("spark.executor.memory", "512m")
    .config("spark.sql.shuffle.partitions", 4)
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
answer = spark.sql("SELECT users_answer()").first()[0]
print("extension", answer, "plugin", spark._jvm.System.getProperty("users.plugin"), flush=True)

spark.udf.registerJavaFunction("twice", "users.Twice", "long")
rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
counts = rows.selectExpr("twice(value) % 7 AS word").groupBy("word").count()


def say(frame, batch):
    print("rows", frame.selectExpr("sum(count)").first()[0], flush=True)


query = counts.writeStream.queryName("counts").outputMode("update").foreachBatch(say)
query.trigger(processingTime="300 milliseconds").start().awaitTermination()
