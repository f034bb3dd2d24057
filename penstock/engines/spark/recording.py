"""A recorded run: every fact in the order it came, with a mark where each step ended. Folded again it gives the same
deployments and snapshots, which is what reports and replay read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from penstock.deployment import Deployment
from penstock.engines.spark.ledger import Ledger
from penstock.errors import InvalidInput
from penstock.files import read_json_lines
from penstock.observe.snapshot import Snapshot

FACTS = "facts.jsonl"
STEP = "step_end_s"
Json = Mapping[str, Any]


@dataclass(slots=True)
class Recorder:
    file: IO[str]

    @classmethod
    def into(cls, run: Path) -> Recorder:
        return cls((run / FACTS).open("a", buffering=1))

    def fact(self, fact: Json) -> None:
        self.file.write(json.dumps(fact, separators=(",", ":")) + "\n")

    def step(self, deployment: Deployment, snapshot: Snapshot) -> None:
        self.fact({STEP: snapshot.end_s})

    def close(self) -> None:
        self.file.close()


def recorded(run: Path) -> Iterator[tuple[Deployment, Snapshot]]:
    """What the regulator saw, step by step."""
    if not (run / FACTS).exists():
        raise InvalidInput(f"{run} holds no recorded run: {FACTS} is missing")
    ledger = Ledger()
    for line in read_json_lines(run / FACTS):
        if STEP in line:
            snapshot = ledger.snapshot(line[STEP])
            yield ledger.deployment(), snapshot
        else:
            ledger.fold(line)
