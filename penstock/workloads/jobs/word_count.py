"""Counts the words of text files as they come in. An ordinary PySpark job: `python word_count.py INPUT CHECKPOINT`."""

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main() -> None:
    parser = argparse.ArgumentParser(description="Counts the words of text files as they come in.")
    parser.add_argument("input", help="folder of text files")
    parser.add_argument("checkpoint", help="folder that Spark keeps its progress in")
    parser.add_argument("--master", default="local[8]")
    parser.add_argument("--partitions", type=int, default=8, help="of the counts: how finely their state is cut")
    parser.add_argument("--sink", default="console", help="where changed counts go: console or noop")
    parser.add_argument("--seconds", type=float, help="end after so many (default: never)")
    arguments = parser.parse_args()

    spark = (
        SparkSession.builder.appName("word count")
        .master(arguments.master)
        .config("spark.sql.shuffle.partitions", arguments.partitions)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    lines = spark.readStream.text(arguments.input)
    words = lines.select(F.explode(F.split(F.col("value"), " ")).alias("word"))
    counts = words.where("word <> ''").groupBy("word").count()
    query = (
        counts.writeStream.queryName("counts")
        .outputMode("update")
        .format(arguments.sink)
        .option("checkpointLocation", arguments.checkpoint)
        .start()
    )
    query.awaitTermination(arguments.seconds)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
