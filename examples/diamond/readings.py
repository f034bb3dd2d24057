"""A diamond: one stream goes two ways and comes together again."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

SENSORS = 50


def readings(ticks: DataFrame) -> DataFrame:
    return ticks.selectExpr("timestamp AS at", f"value % {SENSORS} AS sensor", "value")


def left(readings: DataFrame) -> DataFrame:
    return readings.filter("value % 2 = 0").selectExpr("sensor", "at AS left_at", "value AS left_value")


def right(readings: DataFrame) -> DataFrame:
    return readings.filter("value % 3 = 0").selectExpr(
        "sensor AS right_sensor", "at AS right_at", "value AS right_value"
    )


def pairs(left: DataFrame, right: DataFrame) -> DataFrame:
    """Each input gets a watermark here: one that an earlier component set has ended with it."""
    near = f.expr(
        "sensor = right_sensor AND right_at BETWEEN left_at - INTERVAL 1 SECOND AND left_at + INTERVAL 1 SECOND"
    )
    early, late = left.withWatermark("left_at", "2 seconds"), right.withWatermark("right_at", "2 seconds")
    return early.join(late, near).select("sensor", "left_value", "right_value")
