"""penstock runs: the runs that were kept, newest first."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.cli.live import count, seconds, table
from penstock.run_directory import RunDirectory, home, kept_runs

COLUMNS = ("when", "name", "took", "rows in", "mean latency", "success", "changes", "exit", "folder")
UNKNOWN = "-"


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "runs",
        help="list the runs that were kept",
        description="Lists the runs that were kept, newest first. A dash is: unknown, or (exit) not ended.",
    )
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="the newest so many (default 20; 0: all)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    found = list(kept_runs())
    if not found:
        print(f"no run is kept in {home()} yet; `penstock run job.py` keeps one")
        return 0
    shown = found[: arguments.limit or None]
    print("\n".join(table([COLUMNS, *map(row, shown)])))
    if len(shown) < len(found):
        print(f"and {len(found) - len(shown)} older; --limit 0 lists all")
    return 0


def row(kept: RunDirectory) -> tuple[str, ...]:
    """A run that was cut off has no summary."""
    started, summary = _read(kept, "run.json"), _read(kept, "summary.json")
    at_s = started.get("started_s")
    share = summary.get("success_share")
    return (
        datetime.fromtimestamp(at_s).astimezone().strftime("%Y-%m-%d %H:%M:%S") if at_s else UNKNOWN,
        str(started.get("name", UNKNOWN)),
        took(at_s, summary.get("ended_s")),
        _or_unknown(count, summary.get("rows_in")),
        seconds((summary.get("latency_s") or {}).get("mean")),
        UNKNOWN if share is None else f"{share:.1%}",
        _or_unknown(str, len(summary["changes"]) if "changes" in summary else None),
        _or_unknown(str, summary.get("exit")),
        short_path(kept.path),
    )


def _read(kept: RunDirectory, name: str) -> Mapping[str, Any]:
    """What cannot be read is as unknown as what is missing: one torn file must not hide the other runs."""
    try:
        content = json.loads((kept.path / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _or_unknown(form: Any, value: Any) -> str:
    return UNKNOWN if value is None else str(form(value))


def took(started_s: float | None, ended_s: float | None) -> str:
    """
    >>> took(100.0, 175.4), took(100.0, 5000.0), took(100.0, None)
    ('1:15', '1:21:40', '-')
    """
    if started_s is None or ended_s is None:
        return UNKNOWN
    whole_s = round(ended_s - started_s)
    hours = f"{whole_s // 3600}:{whole_s // 60 % 60:02d}" if whole_s >= 3600 else f"{whole_s // 60}"
    return f"{hours}:{whole_s % 60:02d}"


def short_path(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
