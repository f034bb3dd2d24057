"""penstock run: start a job as it is, measure it, and regulate it where that is asked."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock import __version__
from penstock.action_log import ActionLog
from penstock.cli.live import Live
from penstock.cli.options import add_regulation_options, regulation_of
from penstock.cli.session import Session, conclude, last_words, regulate, stop_on_signals
from penstock.engines.spark import declared, door
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.application import read_application
from penstock.engines.spark.engine import SparkEngine
from penstock.engines.spark.java import find_java
from penstock.engines.spark.job import Job, command_of, start
from penstock.engines.spark.recording import Recorder
from penstock.errors import InvalidInput
from penstock.policies.rule import Regulation, Rule
from penstock.regulation import read_topology
from penstock.run_directory import RunDirectory

HANGS_AFTER_S = 120.0  # a driver on a busy laptop is up in 20 s; a cluster may queue it, so this is only said

TOPOLOGY = (".yaml", ".yml")

EPILOG = """examples:
  penstock run job.py input/ output/                       watch it: nothing is changed
  penstock run --objective "p95 latency < 2s" --policy chaos job.py
  penstock run --config penstock.yaml --out results -- spark-submit --master yarn job.py
  penstock run topology.yaml --work /data/work             a declared topology: one query for each component
  penstock run --duration 60 --json job.py | tail -1
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "run",
        help="run a job under Penstock, not a line of it changed",
        description="Runs a streaming job as it is, measures it, and regulates it where that is asked.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_regulation_options(parser)
    parser.add_argument("--duration", type=float, metavar="S", help="stop the job after so many seconds")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the run here (else under ~/.penstock/runs)")
    parser.add_argument("--json", action="store_true", help="end standard output with one JSON object")
    parser.add_argument("--quiet", action="store_true", help="no live view")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="job.py ...", help="the job and its arguments")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    words = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not words:
        raise InvalidInput("say which job to run: penstock run job.py")
    find_java()
    regulation, started_s = regulation_of(arguments), time.time()
    words, regulation = declared_job(words, regulation)
    command_of(words)  # what cannot be started is said before anything is written
    name = next((Path(w).stem for w in words if w.endswith((".py", ".jar", *TOPOLOGY))), Path(words[0]).name)
    directory = RunDirectory.fresh(name, started_s, arguments.out)
    directory.write("run.json", {"command": words, "started_s": started_s, "penstock": __version__, "name": name})
    log = ActionLog(directory.log)
    session = Session(directory, regulation, Live.on_terminal(log, arguments.quiet), log, arguments.seed)
    return conduct(session, words, arguments.duration, arguments.json)


def declared_job(words: Sequence[str], regulation: Regulation) -> tuple[Sequence[str], Regulation]:
    """A topology file stands for the job that runs it. It states objectives, and edges that Kafka hides."""
    if not words[0].endswith(TOPOLOGY):
        return words, regulation
    topology, stated = read_topology(Path(words[0]))
    read_application(Path(words[0]))
    edges = {str(c.id): Rule(reads_from=topology.topology.parents(c.id)) for c in topology.topology.components}
    return declared.command(words), regulation.over(stated).over(Regulation(edges))


def conduct(session: Session, words: Sequence[str], duration_s: float | None, as_json: bool) -> int:
    door.prepare(session.directory.path)
    recorder = Recorder.into(session.directory.path)
    job = start(words, session.directory.path, echo=not session.live.repaint)
    stop_on_signals(session)
    ended, engine = False, None
    try:
        engine = _attached(session, job, duration_s)
        if engine is not None:
            engine.recorder = recorder.fact
            ended = regulate(session, engine, recorder, duration_s, job.wait)
    finally:
        ended = ended or job.exit is not None
        job.stop()
    if engine is not None:
        last_words(session, engine, recorder)
    recorder.close()
    if ended and job.exit and job.tail:
        session.live.say("the end of its output:\n  " + "\n  ".join(job.tail))
    conclude(session, job.exit, _how_it_ended(session, job, ended), as_json)
    return (job.exit or 0) if ended else 0


def _attached(session: Session, job: Job, duration_s: float | None) -> SparkEngine | None:
    """Once the driver announces its agent, from when the duration counts; None where the job is over before.

    Where the door is shut no agent ever comes, and the duration counts from the start.
    """
    started_s, told = time.monotonic(), False
    until_s = started_s + (duration_s if duration_s and door.is_off(os.environ) else float("inf"))
    while not (session.directory.path / "url").exists():
        if job.wait(0.1) or session.interrupted or time.monotonic() > until_s:
            return None
        if not told and time.monotonic() - started_s > HANGS_AFTER_S:
            told = True
            session.live.say(f"no Spark driver has come up in {HANGS_AFTER_S:.0f} s; still waiting")
    return SparkEngine(Agent.in_directory(session.directory.path))


def _how_it_ended(session: Session, job: Job, ended: bool) -> str:
    if not ended:
        return "the job was stopped, as asked"
    how = f"with exit code {job.exit}" if job.exit else "by itself"
    if session.deployment is None:
        return f"the job ended {how}, and never started Spark with Penstock's jar on its class path"
    if not session.totals.components:
        return f"the job ended {how}, and never started a streaming query"
    return f"the job ended {how}"
