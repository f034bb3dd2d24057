from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.errors import InvalidInput, MissingTool, PenstockError
from penstock.workloads.content import Batch, Content, Lines, Records
from penstock.workloads.encoding import csv_lines
from penstock.workloads.kafka_writer import KafkaRecord, KafkaWriter, kafka_records
from penstock.workloads.keys import Uniform
from penstock.workloads.socket_writer import SocketWriter
from penstock.workloads.writer import FILE_FORMATS, FileWriter

RECORDS = Records(Uniform(30), payload_bytes=20, seed=4)
LINES = Lines(Uniform(30), words_per_line=3, seed=4)


def make_batch(first: int, rows: int, content: Content = RECORDS) -> Batch:
    ids = np.arange(first, first + rows)
    return Batch(ids, *content.make(ids, np.zeros(rows)), ids + 1_700_000_000_000_000)


def as_dicts(batch: Batch) -> list[dict[str, Any]]:
    columns = (batch.id.tolist(), batch.key.tolist(), batch.value.tolist(), batch.ingress_us.tolist())
    return [
        {"id": i, "key": key.decode(), "value": value.decode(), "ingress_us": stamp}
        for i, key, value, stamp in zip(*columns, strict=True)
    ]


def read_lines(path: Path) -> list[str]:
    text = path.read_text(encoding="ascii")
    assert text.endswith("\n")
    return text.splitlines()


def test_json_files_hold_the_rows(tmp_path: Path) -> None:
    FileWriter(tmp_path, "json", "a").write(make_batch(5, 40))
    (path,) = tmp_path.glob("rows-*.json")
    assert [json.loads(line) for line in read_lines(path)] == as_dicts(make_batch(5, 40))


def test_csv_files_hold_the_rows(tmp_path: Path) -> None:
    FileWriter(tmp_path, "csv", "a").write(make_batch(5, 40))
    (path,) = tmp_path.glob("rows-*.csv")
    rows = [dict(zip(("id", "key", "value", "ingress_us"), line.split(","), strict=True)) for line in read_lines(path)]
    assert rows == [{name: str(cell) for name, cell in row.items()} for row in as_dicts(make_batch(5, 40))]


def test_parquet_files_hold_the_rows_in_types_that_spark_reads(tmp_path: Path) -> None:
    import pyarrow.parquet

    FileWriter(tmp_path, "parquet", "a").write(make_batch(5, 40))
    (path,) = tmp_path.glob("rows-*.parquet")
    table = pyarrow.parquet.read_table(path)
    assert table.to_pylist() == as_dicts(make_batch(5, 40))
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {"id": "int64", "key": "string", "value": "string", "ingress_us": "int64"}


def test_text_files_hold_lines_of_words_and_nothing_else(tmp_path: Path) -> None:
    FileWriter(tmp_path, "text", "a").write(make_batch(0, 10, LINES))
    (path,) = tmp_path.glob("rows-*.txt")
    lines = read_lines(path)
    assert [line.encode() for line in lines] == make_batch(0, 10, LINES).value.tolist()
    assert all(len(line.split(" ")) == 3 for line in lines)


@pytest.mark.parametrize("file_format", FILE_FORMATS)
def test_a_sample_leaves_nothing_to_read(tmp_path: Path, file_format: str) -> None:
    FileWriter(tmp_path, file_format, "a").prepare(make_batch(0, 1))
    assert list(tmp_path.iterdir()) == []


def test_a_second_run_adds_files_and_replaces_none(tmp_path: Path) -> None:
    for run_name in ("1", "2"):
        writer = FileWriter(tmp_path, "json", run_name)
        writer.write(make_batch(0, 3))
        writer.write(make_batch(3, 3))
    assert len(list(tmp_path.iterdir())) == 4


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    writer = FileWriter(tmp_path, "json", "a")
    (tmp_path / "rows-a-00000000.json").mkdir()  # the rename fails
    with pytest.raises(OSError):
        writer.write(make_batch(0, 3))
    assert [path.name for path in tmp_path.iterdir()] == ["rows-a-00000000.json"]


def test_a_reader_never_sees_a_part_of_a_file(tmp_path: Path) -> None:
    done = threading.Event()

    def watch() -> set[int]:
        sizes: set[int] = set()
        while not done.is_set():
            sizes.update(len(read_lines(path)) for path in tmp_path.glob("[!.]*"))
        return sizes

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        writer = FileWriter(tmp_path, "csv", "a")
        for i in range(8):
            writer.write(make_batch(i * 20_000, 20_000))
        done.set()
        assert watching.result() <= {20_000}


@pytest.mark.parametrize(
    "make",
    [
        lambda: FileWriter(Path(), "avro", "a"),
        lambda: SocketWriter(0, "parquet"),
        lambda: KafkaWriter("localhost:1", "t", "parquet"),
    ],
)
def test_formats_that_a_target_does_not_have_are_refused(make: Any) -> None:
    with pytest.raises(InvalidInput, match="one of json, csv, text"):
        make()


def test_kafka_records_carry_key_row_and_stamp() -> None:
    batch = make_batch(7, 2)
    first, _ = kafka_records(batch, "json")
    assert first.key == batch.key[0]
    assert json.loads(first.value) == as_dicts(batch)[0]
    assert first.timestamp_ms == 1_700_000_000_000
    assert kafka_records(batch, "csv")[1].value == csv_lines(batch)[1]


def test_kafka_records_of_lines_have_no_key() -> None:
    batch = make_batch(0, 1, LINES)
    assert kafka_records(batch, "text") == [KafkaRecord(None, batch.value.tolist()[0], 1_700_000_000_000)]


def read_all(reader: socket.socket) -> list[bytes]:
    with reader.makefile("rb") as file:
        return file.read().splitlines()


def test_every_reader_of_a_socket_gets_every_line_from_then_on() -> None:
    writer = SocketWriter(0, "text")
    first, second, third = make_batch(0, 5, LINES), make_batch(5, 5, LINES), make_batch(10, 5, LINES)
    assert not writer.ready()
    with socket.create_connection(("127.0.0.1", writer.port)) as early:
        assert writer.ready()
        writer.write(first)
        with socket.create_connection(("127.0.0.1", writer.port)) as late:
            assert writer.ready()
            writer.write(second)
            writer.write(third)
            writer.close()
            assert read_all(late) == [*second.value.tolist(), *third.value.tolist()]
        assert read_all(early) == [*first.value.tolist(), *second.value.tolist(), *third.value.tolist()]


def test_a_socket_without_a_reader_takes_no_rows() -> None:
    writer = SocketWriter(0, "text")
    with socket.create_connection(("127.0.0.1", writer.port)):
        assert writer.ready()
    assert not writer.ready()
    writer.close()


def test_a_port_that_is_taken_is_said_so() -> None:
    writer = SocketWriter(0, "text")
    with pytest.raises(PenstockError, match=f"cannot listen on port {writer.port}: "):
        SocketWriter(writer.port, "text")
    writer.close()


@pytest.mark.parametrize(
    ("module", "make", "sentence"),
    [
        ("pyarrow", lambda: FileWriter(Path("never-made"), "parquet", "a"), "pip install 'penstock[python-state]'"),
        ("confluent_kafka", lambda: KafkaWriter("localhost:1", "t", "json"), "pip install 'penstock[kafka]'"),
    ],
)
def test_a_missing_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, make: Callable[[], object], sentence: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingTool) as missing:
        make()
    assert sentence in str(missing.value)
