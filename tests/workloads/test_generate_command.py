from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.cli import generate
from penstock.errors import InvalidInput, PenstockError


def run(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="penstock")
    generate.add_parser(parser.add_subparsers())
    return generate.run(parser.parse_args(["generate", *words]))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_in(folder: str) -> list[dict[str, object]]:
    return [json.loads(line) for path in sorted(Path(folder).iterdir()) for line in path.read_text().splitlines()]


def test_rows_go_to_files_and_the_log_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--rate", "10k", "--rows", "3000", "--to", "files:in", "--every", "50") == 0
    assert [row["id"] for row in rows_in("in")] == list(range(3000))
    lines = Path("generator.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[-1])["summary"]["rows_written"] == 3000
    said = capsys.readouterr().out
    assert "generating `constant 10k` to files:in as json; log: generator.jsonl" in said
    assert "3000 rows in " in said


def test_the_same_seed_gives_the_same_rows() -> None:
    for folder, every in (("a", "20"), ("b", "70")):
        run("--shape", "sawtooth 0..50k every 100ms", "--rows", "4000", "--seed", "7", "--to", f"files:{folder}",
            "--every", every, "--keys", "hot 50% over 9 every 40ms")  # fmt: skip
    without_stamps = [[(r["id"], r["key"], r["value"]) for r in rows_in(folder)] for folder in ("a", "b")]
    assert without_stamps[0] == without_stamps[1]


def test_lines_of_words_go_to_whoever_connects(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def read() -> list[bytes]:
        for _ in range(1000):
            with (
                suppress(ConnectionRefusedError),
                socket.create_connection(("127.0.0.1", port)) as reader,
                reader.makefile("rb") as file,
            ):
                return file.read().splitlines()
            threading.Event().wait(0.01)
        return []

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        assert run("--rate", "5k", "--rows", "500", "--socket", str(port), "--words", "4") == 0
        lines = reading.result()
    assert len(lines) == 500
    assert {len(line.split(b" ")) for line in lines} == {4}
    assert f"to socket:{port} as text" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_load_without_an_end_ends_by_a_signal(number: int) -> None:
    def send_when_rows_are_there() -> None:
        while not list(Path("in").glob("rows-*")):
            threading.Event().wait(0.01)
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send_when_rows_are_there)
    sender.start()
    before = signal.getsignal(number)
    assert run("--rate", "1000", "--to", "files:in", "--every", "20") == 0
    sender.join()
    assert signal.getsignal(number) is before
    summary = json.loads(Path("generator.jsonl").read_text(encoding="utf-8").splitlines()[-1])["summary"]
    assert summary["rows_written"] == len(rows_in("in")) > 0


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        run("--shape", "constnat 5", "--keys", "zip 1 over 5", "--duration", "soon", "--to", "files:in")
    assert len(refused.value.problems) == 3
    assert not Path("in").exists()


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("in", "did you mean `files:in`?"),
        ("file:in", "did you mean `files:DIR, kafka:SERVERS/TOPIC or socket:PORT`?"),
        ("kafka:localhost:9092", "servers and topic are written like `kafka:localhost:9092/clicks`"),
        ("socket:http", "a port is a number below 65536, like `socket:9999`"),
        ("socket:70000", "a port is a number below 65536, like `socket:9999`"),
    ],
)
def test_what_is_wrong_with_a_target_is_one_sentence(target: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("--rate", "5", "--to", target)
    assert str(refused.value) == f"target `{target}`: {sentence}"


def test_a_log_that_cannot_be_written_is_said_so() -> None:
    with pytest.raises(PenstockError, match="nowhere"):
        run("--rate", "5", "--rows", "1", "--to", "files:in", "--log", "nowhere/generator.jsonl")


def test_help_teaches_by_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--help")
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert 'penstock generate --shape "steps 1000@0 4000@60 1000@120" --duration 180s --to files:in' in said
