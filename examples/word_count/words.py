"""The components of a word count: ordinary functions from a DataFrame to a DataFrame."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

WORDS = ("gate", "mill", "penstock", "regulates", "stream", "the", "water", "wheel")


def lines(ticks: DataFrame) -> DataFrame:
    """Three words a line, chosen by the number of the row: the same in every run."""
    known = f.array(*map(f.lit, WORDS))
    chosen = [
        f.element_at(known, (f.hash("value", f.lit(i)) % len(WORDS) + len(WORDS)) % len(WORDS) + 1) for i in range(3)
    ]
    return ticks.select(f.concat_ws(" ", *[c.cast("string") for c in chosen]).alias("line"))


def split(lines: DataFrame) -> DataFrame:
    return lines.select(f.explode(f.split("line", " ")).alias("word"))


def count(words: DataFrame) -> DataFrame:
    return words.groupBy("word").count()
