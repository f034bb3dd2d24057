"""Rows as bytes: JSON lines, CSV, lines of text; and as an Arrow table for Parquet.

Keys and values are letters and digits (see `content.py`), so that no format needs quotes or escapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import MissingTool
from penstock.workloads.content import Batch, ByteStrings

SPARK_SCHEMA = "id LONG, key STRING, value STRING, ingress_us LONG"


def json_lines(batch: Batch) -> list[bytes]:
    """
    >>> one = np.array([7]), np.array([b"k1"]), np.array([b"aB3"]), np.array([1_700_000_000_000_000])
    >>> json_lines(Batch(*one))
    [b'{"id":7,"key":"k1","value":"aB3","ingress_us":1700000000000000}']
    """
    return [b'{"id":%d,"key":"%b","value":"%b","ingress_us":%d}' % row for row in _columns(batch)]


def csv_lines(batch: Batch) -> list[bytes]:
    return [b"%d,%b,%b,%d" % row for row in _columns(batch)]


def text_lines(batch: Batch) -> list[bytes]:
    lines: list[bytes] = batch.value.tolist()
    return lines


LINES: dict[str, Callable[[Batch], list[bytes]]] = {"json": json_lines, "csv": csv_lines, "text": text_lines}


def arrow_table(batch: Batch) -> Any:
    pyarrow = import_pyarrow()
    columns = {
        "id": pyarrow.array(batch.id),
        "key": pyarrow.array(batch.key).cast(pyarrow.string()),
        "value": _arrow_strings(batch.value),
        "ingress_us": pyarrow.array(batch.ingress_us),
    }
    return pyarrow.table(columns)


def import_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingTool("Parquet needs pyarrow: pip install 'penstock[python-state]'") from None
    return pyarrow


def _arrow_strings(values: ByteStrings) -> Any:
    """All payloads have one length: their bytes as they lie are Arrow's, with no copy for each row."""
    pyarrow = import_pyarrow()
    width = values.dtype.itemsize
    ends = pyarrow.py_buffer(np.arange(values.size + 1, dtype=np.int32) * np.int32(width))
    return pyarrow.StringArray.from_buffers(values.size, ends, pyarrow.py_buffer(np.ascontiguousarray(values)))


def _columns(batch: Batch) -> zip[tuple[int, bytes, bytes, int]]:
    columns = (batch.id.tolist(), batch.key.tolist(), batch.value.tolist(), batch.ingress_us.tolist())
    return zip(*columns, strict=True)
