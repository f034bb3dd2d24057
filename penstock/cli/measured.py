"""A measured topology for `scale-out` and `scale-in`: from a file, from a recorded run, or from one that runs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from penstock.allocate.history import document_of
from penstock.allocate.measured import Semantics
from penstock.allocate.read import Reading, read
from penstock.changes import Change, Receipt, Rescale, Status
from penstock.cli.attach import agent_of
from penstock.deployment import Deployment
from penstock.engines.spark.engine import SparkEngine
from penstock.engines.spark.recording import recorded
from penstock.errors import ChangeRefused, InvalidInput
from penstock.ids import ChangeId, ComponentId
from penstock.observe.snapshot import Snapshot

LOOK_S = 0.5


def add_sources(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("file", type=Path, nargs="?", metavar="FILE", help="the measured topology, JSON")
    where.add_argument("--run", type=Path, dest="recorded", metavar="DIR", help="a recorded run: see `penstock runs`")
    where.add_argument("--attach", metavar="DIR|URL", help="a driver that runs: see `penstock attach`")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="with an URL")
    parser.add_argument("--watch", type=float, default=30.0, metavar="S", help="measure over so long; default 30")


@dataclass(frozen=True, slots=True)
class Source:
    """`engine` is there where the topology runs, and can be changed."""

    reading: Reading
    semantics: Semantics
    deployment: Deployment | None = None
    engine: SparkEngine | None = None


def source_of(arguments: argparse.Namespace) -> Source:
    """On Spark what does not fit waits in the durable stream; a file is read as the thesis has it."""
    if arguments.file is not None:
        return Source(_told(read(_json(arguments.file))), Semantics.DROP)
    if arguments.recorded is not None:
        deployment, snapshots = _latest(recorded(arguments.recorded), arguments.watch)
        return Source(_told(read(document_of(deployment, snapshots))), Semantics.BACKLOG, deployment)
    engine = SparkEngine(agent_of(arguments.attach, arguments.token_file))
    deployment, snapshots = _watched(engine, arguments.watch)
    return Source(_told(read(document_of(deployment, snapshots))), Semantics.BACKLOG, deployment, engine)


def _told(reading: Reading) -> Reading:
    for notice in reading.notices:
        print(f"notice: {notice}", file=sys.stderr)
    return reading


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text())
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidInput(f"{file} is not JSON: {error}") from error


def _latest(steps: Iterable[tuple[Deployment, Snapshot]], span_s: float) -> tuple[Deployment, list[Snapshot]]:
    seen = list(steps)
    if not seen:
        raise InvalidInput("the run was over before anything was seen")
    end_s = seen[-1][1].end_s
    return seen[-1][0], [snapshot for _, snapshot in seen if snapshot.start_s >= end_s - span_s]


def _watched(engine: SparkEngine, span_s: float) -> tuple[Deployment, list[Snapshot]]:
    """The first look brings what happened before: it is no step."""
    engine.observe()
    print(f"measuring for {span_s:g} s ...", file=sys.stderr)
    until_s, snapshots = time.monotonic() + span_s, []
    while time.monotonic() < until_s:
        Event().wait(LOOK_S)
        if (snapshot := engine.observe()) is not None:
            snapshots.append(snapshot)
    return engine.describe(), snapshots


def apply(source: Source, extra: Mapping[ComponentId, int], why: str) -> Receipt:
    """One change for all of them: taken whole, or refused whole."""
    if source.engine is None or source.deployment is None:
        raise InvalidInput("--apply changes a topology that runs: name it with --attach")
    wanted = {t: extra[t.component] for t in source.deployment.targets if extra.get(t.component)}
    parts = tuple(Rescale(t, source.deployment.parallelism(t) + more) for t, more in wanted.items())
    receipt = source.engine.apply(Change(ChangeId(f"scale-{time.time():.0f}"), parts, why, "scale-out"))
    source.engine.release()
    if receipt.status is Status.REFUSED:
        raise ChangeRefused(f"the change was refused: {receipt.reason}")
    return receipt
