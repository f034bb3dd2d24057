"""penstock attach: regulate a driver that runs already."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from penstock import __version__
from penstock.action_log import ActionLog
from penstock.cli.live import Live
from penstock.cli.options import add_regulation_options, regulation_of
from penstock.cli.session import Session, conclude, regulate, stop_on_signals
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.engine import SparkEngine
from penstock.engines.spark.recording import Recorder
from penstock.errors import InvalidInput, NotAttached
from penstock.run_directory import RunDirectory


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "attach",
        help="regulate a driver that runs already",
        description="Attaches to a driver that was started with what `penstock conf` prints."
        " Leaving it changes nothing: the last plan stays in force.",
    )
    parser.add_argument("where", metavar="DIR|URL", help="the run directory, or the agent's address with --token-file")
    parser.add_argument("--token-file", type=Path, metavar="FILE")
    add_regulation_options(parser)
    parser.add_argument("--duration", type=float, metavar="S", help="leave after so many seconds")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the run here (else under ~/.penstock/runs)")
    parser.add_argument("--json", action="store_true", help="end standard output with one JSON object")
    parser.add_argument("--quiet", action="store_true", help="no live view")
    parser.set_defaults(run=run)


def agent_of(where: str, token_file: Path | None) -> Agent:
    if not where.startswith(("http://", "https://")):
        return Agent.in_directory(Path(where))
    if token_file is None:
        raise InvalidInput("an address needs --token-file: the file `token` in the driver's run directory")
    try:
        return Agent(where.rstrip("/"), token_file.read_text().strip())
    except OSError as error:
        raise InvalidInput(f"--token-file {token_file} cannot be read: {error.strerror}") from None


def run(arguments: argparse.Namespace) -> int:
    engine = SparkEngine(agent_of(arguments.where, arguments.token_file))
    engine.agent.state()  # an agent that does not answer is said before anything is written
    started_s = time.time()
    directory = RunDirectory.fresh("attached", started_s, arguments.out)
    where = ["penstock", "attach", arguments.where]
    directory.write("run.json", {"command": where, "started_s": started_s, "penstock": __version__, "name": "attached"})
    log = ActionLog(directory.log)
    session = Session(directory, regulation_of(arguments), Live.on_terminal(log, arguments.quiet), log, arguments.seed)
    recorder = Recorder.into(directory.path)
    engine.recorder = recorder.fact
    stop_on_signals(session)
    ended = regulate(session, engine, recorder, arguments.duration, _gone(engine))
    if not ended:
        engine.release()
    recorder.close()
    conclude(session, None, "the driver has ended" if ended else "left; the last plan stays in force", arguments.json)
    return 0


def _gone(engine: SparkEngine) -> Any:
    """Whether the driver has gone, asked after a pause of so many seconds."""

    def gone(pause_s: float) -> bool:
        try:
            engine.agent.facts(engine.next_fact, wait_ms=int(pause_s * 1000))
        except NotAttached:
            return True
        return False

    return gone
