"""Work that is only sleep, so that two cores can act as a cluster of many slots.

from penstock.workloads.parked import parked

frame.withColumn("value", parked("value", micros=200))                  # each row costs its instance 200 us
frame.withColumn("value", parked("value", micros=200, slow={3: 4.0}))   # ... and instance 3 four times that
frame.withColumn("value", parked("value", micros=f.length("value")))    # longer values cost more
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import Column


def parked(value: Column | str, micros: Column | float, slow: Mapping[int, float] | None = None) -> Column:
    """The value as it is; the task that makes it sleeps so long for it. `slow` multiplies that for instances by number.

    It costs no CPU and needs no Python worker. It runs only where Penstock's jar is: under `penstock run`.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f
    from pyspark.sql.classic.column import Column as ClassicColumn

    _check(micros, slow or {})
    session = SparkSession.getActiveSession()
    if session is None:
        raise InvalidInput("parked work needs a Spark session of this process: make that first")
    column = f.col(value) if isinstance(value, str) else value
    cost = f.lit(float(micros)) if isinstance(micros, int | float) else micros
    slowness = {int(instance): float(factor) for instance, factor in (slow or {}).items()}
    in_jvm = session._jvm.org.apache.spark.sql.penstock.Parked
    if not hasattr(in_jvm, "column"):
        raise InvalidInput("parked work needs Penstock's jar in the driver: start the job with `penstock run`")
    return ClassicColumn(in_jvm.column(column._jc, cost._jc, slowness))


def _check(micros: Column | float, slow: Mapping[int, float]) -> None:
    """
    >>> _check(-1, {})
    Traceback (most recent call last):
    ...
    penstock.errors.InvalidInput: a row costs 0 microseconds or more, not -1
    """
    if isinstance(micros, int | float) and not 0 <= micros < float("inf"):
        raise InvalidInput(f"a row costs 0 microseconds or more, not {micros:g}")
    for instance, factor in slow.items():
        if instance < 0 or not 0 <= factor < float("inf"):
            raise InvalidInput(f"instance {instance} is {factor:g} times as slow: instances count from 0, factors too")
