"""Where a run keeps what it saw and did: one folder, readable by its owner only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.errors import InvalidInput

Json = Mapping[str, Any]


def home() -> Path:
    """Where runs are kept that named no `--out`."""
    return Path(os.environ.get("PENSTOCK_HOME") or Path.home() / ".penstock") / "runs"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    path: Path

    @classmethod
    def fresh(cls, name: str, started_s: float, out: Path | None) -> RunDirectory:
        """A new folder; one that was named, and holds a run already, is not written over."""
        stamp = datetime.fromtimestamp(started_s, UTC).strftime("%Y%m%d-%H%M%S")
        path = out or home() / f"{stamp}-{os.getpid()}-{name}"
        if (path / "run.json").exists():
            raise InvalidInput(f"{path} holds a run already: name another folder, or remove it")
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(path)

    def write(self, name: str, content: Json) -> None:
        (self.path / name).write_text(json.dumps(content, indent=1) + "\n")

    def read(self, name: str) -> dict[str, Any]:
        file = self.path / name
        if not file.exists():
            raise InvalidInput(f"{self.path} holds no run: {name} is missing")
        content: dict[str, Any] = json.loads(file.read_text())
        return content

    @property
    def log(self) -> Path:
        return self.path / "actions.jsonl"

    @property
    def report(self) -> Path:
        return self.path / "report.html"


def kept_runs() -> Iterator[RunDirectory]:
    """Newest first."""
    folders = sorted(home().glob("*/run.json"), reverse=True) if home().exists() else []
    return (RunDirectory(f.parent) for f in folders)
