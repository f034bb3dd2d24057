"""One run, live: what `penstock run` and `penstock attach` have in common."""

from __future__ import annotations

import json
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.action_log import ActionLog, Entry, Event
from penstock.changes import Target
from penstock.cli.live import Live
from penstock.deployment import Deployment
from penstock.engines.spark.advice import advice
from penstock.engines.spark.engine import SparkEngine
from penstock.engines.spark.recording import Recorder
from penstock.errors import NotAttached
from penstock.objectives.objective import Objective
from penstock.objectives.parse import text_of
from penstock.observe.snapshot import Snapshot
from penstock.observe.summary import RunTotals
from penstock.policies.cycle import State
from penstock.policies.rule import Regulation
from penstock.regulator import Regulator
from penstock.report.write import write_report
from penstock.run_directory import RunDirectory

STEP_S = 0.5


@dataclass(slots=True)
class Session:
    directory: RunDirectory
    regulation: Regulation
    live: Live
    log: ActionLog
    seed: int
    totals: RunTotals = field(default_factory=RunTotals)
    deployment: Deployment | None = None
    interrupted: bool = False
    advised: set[str] = field(default_factory=set)

    @property
    def objectives(self) -> dict[Target, tuple[Objective, ...]]:
        targets = self.deployment.targets if self.deployment else ()
        promised = {t: self.regulation.for_query(t.component).promises or () for t in targets}
        return {t: tuple(p.objective for p in promises) for t, promises in promised.items() if promises}

    def saw(self, deployment: Deployment, snapshot: Snapshot) -> None:
        self.deployment = deployment
        self.totals.add(snapshot)
        self.live.objectives = self.objectives
        self.live.show(deployment, snapshot)

    def advise(self, engine: SparkEngine) -> None:
        """Each sentence once."""
        for what, sentence in advice(engine.ledger).items():
            if what not in self.advised:
                self.advised.add(what)
                self.live.say(f"warning: {sentence}")
                self.log.append(Entry(time.time(), Event.ALERT, "advice", sentence))


def stop_on_signals(session: Session) -> None:
    def stop(number: int, frame: object) -> None:
        session.interrupted = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def regulate(
    session: Session,
    engine: SparkEngine,
    recorder: Recorder,
    duration_s: float | None,
    over: Callable[[float], bool],
) -> bool:
    """Until it is over (then True), the time is up or somebody interrupts. `over` waits up to so many seconds."""

    def sink(deployment: Deployment, snapshot: Snapshot) -> None:
        recorder.step(deployment, snapshot)
        session.saw(deployment, snapshot)

    started = State(f"{session.directory.path.name}-change")
    _state_edges(session.regulation, engine, recorder)
    regulator = Regulator(engine, session.regulation, session.log, time.time, session.seed, sink, started)
    until_s = time.monotonic() + (duration_s or float("inf"))
    while not session.interrupted and time.monotonic() < until_s:
        try:
            regulator.step()
            session.advise(engine)
        except NotAttached as error:
            if over(1.0):
                return True
            session.live.say(str(error))
        except Exception as error:
            _step_aside(session, error)
        if over(STEP_S):
            return True
    return False


def _step_aside(session: Session, error: Exception) -> None:
    """A fault of ours never ends the job: it is said once, kept with its trace, and the next step begins anew."""
    sentence = f"a step of Penstock failed, the job goes on: {error!r}"
    if sentence not in session.advised:
        session.advised.add(sentence)
        session.live.say(sentence)
        session.log.append(Entry(time.time(), Event.ALERT, "penstock", sentence))
        with (session.directory.path / "faults.log").open("a") as file:
            traceback.print_exception(error, file=file)


def _state_edges(regulation: Regulation, engine: SparkEngine, recorder: Recorder) -> None:
    """A fact like the others, so that a recorded run has it too."""
    stated = {name: rule.reads_from for name, rule in regulation.rules.items() if rule.reads_from}
    if stated:
        fact = {"fact": "reads-from", "edges": stated}
        recorder.fact(fact)
        engine.ledger.fold(fact)


def last_words(session: Session, engine: SparkEngine, recorder: Recorder) -> None:
    """What the driver had to say after the last look, which it wrote down when it ended."""
    file = session.directory.path / "last-facts"
    if not file.exists():
        return
    head, *facts = (json.loads(line) for line in file.read_text().splitlines())
    unread = facts[max(0, len(facts) - (head["next"] - engine.next_fact)) :]
    snapshot = engine.take(tuple(unread), head["next"], 0)
    if snapshot is not None:
        recorder.step(engine.describe(), snapshot)
        session.saw(engine.describe(), snapshot)
    file.unlink()


def conclude(session: Session, exit_code: int | None, sentence: str, as_json: bool) -> None:
    streams = session.deployment.streams if session.deployment else ()
    summary = {**session.totals.json(session.objectives, streams), "changes": changes(session.log), "exit": exit_code}
    summary["ended"], summary["ended_s"] = sentence, time.time()
    promised = session.objectives.items()
    summary["objectives"] = {str(t.component): [text_of(o) for o in found] for t, found in promised}
    session.directory.write("summary.json", summary)
    write_report(session.directory)
    session.live.say(sentence)
    session.live.say(f"report: {session.directory.report}")
    if as_json:
        sys.stdout.write(json.dumps(summary) + "\n")


def changes(log: ActionLog) -> list[dict[str, Any]]:
    """Every change with the last that is known of it."""
    told: dict[str, dict[str, Any]] = {}
    for entry in reversed(log.newest(10_000)):
        if entry.change is not None and entry.event in (Event.CHANGE, Event.REFUSED):
            told[entry.change.id] = {"id": entry.change.id, "at_s": entry.at_s, "by": entry.by, "why": entry.why}
        if entry.receipt is not None:
            receipt = entry.receipt
            known = {name: getattr(receipt, name) for name in ("status", "reason", "batch", "cost_s")}
            told.setdefault(receipt.change, {"id": receipt.change}).update(known)
    return list(told.values())
