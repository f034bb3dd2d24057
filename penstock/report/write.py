"""Reads a run's folder, writes its page: the only place of the report that touches files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.action_log import read_log
from penstock.engines.spark.recording import recorded
from penstock.objectives.objective import Objective
from penstock.objectives.parse import parse_objective
from penstock.report.page import page
from penstock.report.record import RunRecord, seen_in
from penstock.run_directory import RunDirectory

Json = Mapping[str, Any]
SUMMARY = "summary.json"


def write_report(run: RunDirectory) -> None:
    run.report.write_text(page(read_run(run)), encoding="utf-8")


def read_run(run: RunDirectory) -> RunRecord:
    """A run that was cut off has no summary: what it saw until then is told all the same."""
    known = run.read("run.json")
    file = run.path / SUMMARY
    summary: Json = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return RunRecord(
        known["name"],
        tuple(known["command"]),
        known["started_s"],
        ended(summary),
        seen_in(recorded(run.path)),
        read_log(run.log),
        objectives(summary["objectives"]) if "objectives" in summary else None,
    )


def objectives(texts: Mapping[str, Sequence[str]]) -> dict[str, tuple[Objective, ...]]:
    return {name: tuple(parse_objective(text) for text in found) for name, found in texts.items()}


def ended(summary: Json) -> str:
    """
    >>> ended({}), ended({"exit": 0}), ended({"exit": 1}), ended({"exit": 130})
    ('how it ended is unknown', 'the job ended by itself', 'the job failed with exit code 1', 'the job was stopped')
    """
    if sentence := summary.get("ended"):
        return str(sentence)
    code = summary.get("exit")
    if code is None:
        return "how it ended is unknown"
    if code == 0:
        return "the job ended by itself"
    return "the job was stopped" if code in (130, 137, 143) else f"the job failed with exit code {code}"
