"""`penstock generate`: load from outside Spark, at a wanted rate, with true ingress times."""

from __future__ import annotations

import argparse
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from penstock.errors import InvalidInput, PenstockError
from penstock.workloads.content import Content, Lines, Records
from penstock.workloads.encoding import SPARK_SCHEMA
from penstock.workloads.generator import Generator, Plan
from penstock.workloads.generator_log import GeneratorLog, Summary
from penstock.workloads.kafka_writer import KafkaWriter
from penstock.workloads.keys import Keys
from penstock.workloads.shape import Shape
from penstock.workloads.socket_writer import SocketWriter
from penstock.workloads.text_form import parse_duration_s, parse_keys, parse_rate, parse_shape
from penstock.workloads.writer import FILE_FORMATS, FileWriter, Writer

T = TypeVar("T")

# One file each 200 ms keeps Spark's listings short; records and lines cost nothing each, so they need not wait.
EVERY_MS = {"files": 200.0, "kafka": 20.0, "socket": 20.0}
FORMAT = {"files": "json", "kafka": "json", "socket": "text"}

EXAMPLES = f"""\
examples:
  1000 rows a second for a minute, as Parquet files that a job can read with
  spark.readStream.schema("{SPARK_SCHEMA}").parquet("in"):
    penstock generate --rate 1000 --duration 60s --to files:in --format parquet

  calm, four times the load from second 60 to 120, calm again:
    penstock generate --shape "steps 1000@0 4000@60 1000@120" --duration 180s --to files:in

  exactly 100000 rows, the same in every run, half of them of one key that moves:
    penstock generate --rate 5k --rows 100000 --keys "hot 0.5 over 1000 every 5s" --seed 7 --to files:in

  bursts into Kafka:
    penstock generate --shape "burst 1k to 8k for 5s every 60s" --to kafka:localhost:9092/clicks

  lines of words for Spark's structured_network_wordcount.py localhost 9999:
    penstock generate --rate 200 --to socket:9999

shapes:  constant 1000 | steps 1000@0 4000@60 | burst 1000 to 8000 for 5s every 60s | sinusoid 1000..4000 every 60s
         sawtooth 0..5000 every 30s | reverse sawtooth 0..5000 every 30s | trace load.csv (columns t_s,rows_per_s)
keys:    uniform over 1000 | zipf 1.1 over 1000 | hot 0.5 over 1000 every 30s
rows:    id, key, value (the payload), ingress_us (when the row became due, in unix microseconds)
         --format text has lines of words instead; there --keys says which words are how frequent
numbers: 1000, 2.5k, 1M rows per second; 90, 90s, 1.5min, 2h, 200ms
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "generate",
        help="make load outside Spark: at a wanted rate, with true ingress times",
        description="Makes load outside Spark: rows at a wanted rate, stamped with when they became due.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_load_options(parser)
    _add_target_options(parser)
    parser.set_defaults(run=run)


def _add_load_options(parser: argparse.ArgumentParser) -> None:
    load = parser.add_mutually_exclusive_group(required=True)
    load.add_argument("--shape", metavar="TEXT", help='the rate over time, for instance "sinusoid 1k..4k every 60s"')
    load.add_argument("--rate", metavar="N", help="rows per second: short for --shape 'constant N'")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--rows", type=int, metavar="N", help="end after exactly N rows")
    end.add_argument("--duration", metavar="TIME", help="end after this time; without an end, Ctrl-C ends it")
    parser.add_argument(
        "--keys", metavar="TEXT", help='which keys (default "uniform over 1000"; words "zipf 1 over 10000")'
    )
    parser.add_argument("--payload", type=int, default=100, metavar="BYTES", help="size of each value (default 100)")
    parser.add_argument("--words", type=int, default=10, metavar="N", help="words in a line of text (default 10)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the same seed gives the same rows (default 0)"
    )


def _add_target_options(parser: argparse.ArgumentParser) -> None:
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--to", metavar="TARGET", help="files:DIR, kafka:SERVERS/TOPIC or socket:PORT")
    target.add_argument("--socket", metavar="PORT", help="short for --to socket:PORT (on loopback)")
    parser.add_argument(
        "--format",
        choices=FILE_FORMATS,
        help="how rows are written (default json, over a socket text); parquet: files only",
    )
    parser.add_argument(
        "--every", type=float, metavar="MS", help="one file each so many ms (default 200; kafka, socket 20)"
    )
    parser.add_argument(
        "--log",
        type=Path,
        default=Path("generator.jsonl"),
        metavar="FILE",
        help="rows due and written, for each second",
    )


def run(args: argparse.Namespace) -> int:
    kind, place = _target(args.to or f"socket:{args.socket}")
    row_format = args.format or FORMAT[kind]
    plan = _plan(args, row_format, args.every if args.every is not None else EVERY_MS[kind])
    shape_text = args.shape or f"constant {args.rate}"
    try:
        with args.log.open("w", encoding="utf-8") as file:
            generator = Generator(plan, _writer(kind, place, row_format), log=GeneratorLog(file))
            print(f"generating `{shape_text}` to {kind}:{place} as {row_format}; log: {args.log}", flush=True)
            with _stopped_by_signals(generator.stop):
                summary = generator.run()
    except OSError as error:
        raise PenstockError(f"the load broke off: {error}") from error
    print(_sentence(summary))
    return 0


def _plan(args: argparse.Namespace, row_format: str, every_ms: float) -> Plan:
    """All problems at once."""
    problems: list[str] = []
    shape = _read(problems, lambda: _shape(args))
    content = _read(problems, lambda: _content(args, row_format))
    duration_s = _read(problems, lambda: parse_duration_s(args.duration)) if args.duration else None
    if shape is None or content is None or problems:
        raise InvalidInput(problems)
    return Plan(shape, content, args.rows, duration_s, every_ms / 1000)


def _read(problems: list[str], read: Callable[[], T]) -> T | None:
    try:
        return read()
    except InvalidInput as invalid:
        problems.extend(invalid.problems)
        return None


def _shape(args: argparse.Namespace) -> Shape:
    return parse_shape(args.shape) if args.shape else parse_shape(f"constant {parse_rate(args.rate)!r}")


def _content(args: argparse.Namespace, row_format: str) -> Content:
    keys: Keys = parse_keys(args.keys or ("zipf 1 over 10000" if row_format == "text" else "uniform over 1000"))
    return Lines(keys, args.words, args.seed) if row_format == "text" else Records(keys, args.payload, args.seed)


def _target(text: str) -> tuple[str, str]:
    """
    >>> _target("kafka:localhost:9092/clicks")
    ('kafka', 'localhost:9092/clicks')
    >>> _target("in")
    Traceback (most recent call last):
    ...
    penstock.errors.InvalidInput: target `in`: did you mean `files:in`?
    """
    kind, _, place = text.partition(":")
    if kind not in EVERY_MS or not place:
        meant = (
            f"files:{text}"
            if ":" not in text and text not in EVERY_MS
            else "files:DIR, kafka:SERVERS/TOPIC or socket:PORT"
        )
        raise InvalidInput(f"target `{text}`: did you mean `{meant}`?")
    if kind == "kafka" and not re.fullmatch(r"[^/]+/[\w.-]+", place):
        raise InvalidInput(f"target `{text}`: servers and topic are written like `kafka:localhost:9092/clicks`")
    if kind == "socket" and not (place.isdecimal() and int(place) < 65536):
        raise InvalidInput(f"target `{text}`: a port is a number below 65536, like `socket:9999`")
    return kind, place


def _writer(kind: str, place: str, row_format: str) -> Writer:
    if kind == "files":
        return FileWriter(Path(place), row_format, run_name=f"{time.time_ns() // 1_000_000}")
    if kind == "kafka":
        servers, _, topic = place.partition("/")
        return KafkaWriter(servers, topic, row_format)
    return SocketWriter(int(place), row_format)


@contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C is how a load without an end ends: the log gets its summary, and nothing is half-written."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stop()) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _sentence(summary: Summary) -> str:
    text = f"{summary.rows_written} rows in {summary.seconds:.1f} s"
    if summary.kept_its_rate:
        return (
            f"{text}, each stamped when it became due, and readable {summary.visible_after_s_max:.3f} s later at most"
        )
    behind = summary.rows_due - summary.rows_written
    late = f"{summary.rows_late} were taken late, up to {summary.rows_behind_max} were behind at once"
    return f"{text}; the rate was not kept: {behind} more were due, {late}"
