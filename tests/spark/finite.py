"""A finite input in files, the same for every kind: out of order, with duplicates, a last row that closes windows."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark.oracle import FLUSH, Row

START = datetime(2026, 1, 1, tzinfo=UTC)


def rows_of_file(at: int, rows: int, seed: int) -> list[Row]:
    rng = random.Random(f"{seed}-{at}")
    made: list[Row] = []
    for i in range(at * rows, (at + 1) * rows):
        event = START + timedelta(milliseconds=20 * i - rng.randrange(0, 2000))
        made.append({"id": i, "key": f"k{rng.randrange(40) ** 2 // 40}", "value": rng.randrange(1000), "ts": event})
        if rng.random() < 0.1:
            made.append(made[-1])
    return made


def write_input(folder: Path, files: int, rows: int, seed: int = 0) -> list[Row]:
    folder.mkdir(parents=True)
    written: list[Row] = []
    for at in range(files):
        _write(folder / f"{at:05}.parquet", made := rows_of_file(at, rows, seed))
        written += made
    last: Row = {"id": 10**9, "key": FLUSH, "value": 10, "ts": START + timedelta(days=1)}
    _write(folder / f"{files:05}.parquet", [last])
    return [*written, last]


def _write(path: Path, rows: list[Row]) -> None:
    schema = pa.schema(
        [("id", pa.int64()), ("key", pa.string()), ("value", pa.int64()), ("ts", pa.timestamp("us", "UTC"))]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
