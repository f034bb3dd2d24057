"""The recorded run that these tests fold: how it was made, `tests/recordings/record.py` says."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from penstock.changes import Target
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.engine import SparkEngine
from penstock.ids import ComponentId, TopologyId

CHAIN = Path(__file__).resolve().parent.parent / "recordings" / "chain.jsonl"
LINES, COUNTS = (Target(TopologyId("chain"), ComponentId(name)) for name in ("lines", "query-1"))
NOBODY = Agent("http://127.0.0.1:9", "no token")  # the port that discards: nothing listens there

Fact = dict[str, Any]


def entries() -> list[Fact]:
    """Facts, and the marks between steps."""
    return [json.loads(line) for line in CHAIN.read_text().splitlines()]


def facts(until: str | None = None) -> list[Fact]:
    """All of them, or those before the first of a kind."""
    found = [copy.deepcopy(f) for f in entries() if "fact" in f]
    kinds = [f["fact"] for f in found]
    return found[: kinds.index(until)] if until else found


def engine_over(told: list[Fact]) -> SparkEngine:
    engine = SparkEngine(NOBODY, clock=lambda: told[-1]["at_ms"] / 1000)
    engine.take(tuple(told), len(told), 0)
    return engine


def while_it_runs() -> SparkEngine:
    """As the run was just before its driver stopped."""
    return engine_over(facts(until="query-ended"))
