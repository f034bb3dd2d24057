"""Three queries in a row, joined by folders; the second and third park: `three.py FOLDER`."""

import sys

from pyspark.sql import SparkSession

from penstock.workloads.parked import parked

folder = sys.argv[1]
spark = SparkSession.builder.appName("three").master("local[12]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def read(name):
    return spark.readStream.schema("id long").option("maxFilesPerTrigger", 4).parquet(f"{folder}/{name}")


def start(name, frame):
    writer = frame.writeStream.queryName(name).option("checkpointLocation", f"{folder}/checkpoint/{name}")
    return writer.format("parquet").start(f"{folder}/{name}")


start("first", read("in").repartition(4))
start("second", read("first").repartition(8).select(parked("id", micros=7000).alias("id")))
start("third", read("second").repartition(8).select(parked("id", micros=4500).alias("id")))
spark.streams.awaitAnyTermination()
