"""What each kind of query must have put out in the end, computed from the whole input in plain Python."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq

Row = dict[str, Any]
Rows = Counter[tuple[tuple[str, Any], ...]]
FLUSH = "flush"  # a last row far ahead in event time, which closes every window before it


def as_counter(rows: Iterable[Row]) -> Rows:
    return Counter(tuple(sorted(row.items(), key=lambda item: item[0])) for row in rows)


def committed(folder: Path) -> list[Row]:
    """What Spark's file sink has committed: not what lies about."""
    paths: dict[str, bool] = {}
    log = folder / "_spark_metadata"
    for file in sorted(log.glob("[0-9]*"), key=lambda f: int(f.name.split(".")[0])):
        for line in file.read_text().splitlines()[1:]:
            paths[json.loads(line)["path"]] = True
    tables = [pq.read_table(unquote(urlparse(path).path), partitioning=None) for path in paths]
    return [row for table in tables for row in table.to_pylist()]


def batches(folder: Path) -> list[Row]:
    """What a foreachBatch function wrote under its batch ids, in their order."""
    files = sorted(folder.glob("[0-9]*.json"), key=lambda f: int(f.stem))
    return [row for file in files for row in json.loads(file.read_text())]


def last_batch(folder: Path) -> list[Row]:
    return list(json.loads(max(folder.glob("[0-9]*.json"), key=lambda f: int(f.stem)).read_text()))


def newest(rows: Iterable[Row], key: Callable[[Row], Any]) -> list[Row]:
    """Update mode: of each key the last."""
    return list({key(row): row for row in rows}.values())


def stateless(rows: list[Row]) -> list[Row]:
    return [{"id": r["id"], "twice": r["value"] * 2} for r in rows if r["value"] % 3 != 0]


def adaptive(rows: list[Row]) -> list[Row]:
    return [{"id": r["id"]} for r in rows]


def aggregation(rows: list[Row]) -> list[Row]:
    n: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for r in rows:
        n[r["key"]] += 1
        total[r["key"]] += r["value"]
    return [{"key": k, "n": n[k], "total": total[k]} for k in n]


def union(rows: list[Row]) -> list[Row]:
    found = aggregation(rows)
    counts = [{"what": "n", "key": r["key"], "n": r["n"]} for r in found]
    return counts + [{"what": "total", "key": r["key"], "n": r["total"]} for r in found]


def windowed(rows: list[Row]) -> list[Row]:
    n = Counter((int(r["ts"].timestamp()) // 10 * 10, r["key"]) for r in rows if r["key"] != FLUSH)
    return [{"start": start, "key": key, "n": count} for (start, key), count in n.items()]


def several(rows: list[Row]) -> list[Row]:
    n: Counter[int] = Counter()
    keys: Counter[int] = Counter()
    for row in windowed(rows):
        outer = row["start"] // 30 * 30
        n[outer] += row["n"]
        keys[outer] += 1
    return [{"start": start, "n": n[start], "keys": keys[start]} for start in n]


def dedupe(rows: list[Row]) -> list[Row]:
    return list({r["id"]: {"id": r["id"], "value": r["value"]} for r in rows}.values())


def sessions(rows: list[Row]) -> list[Row]:
    by_key = defaultdict(list)
    for r in rows:
        if r["key"] != FLUSH:
            by_key[r["key"]].append(round(r["ts"].timestamp() * 1000))
    found = []
    for key, times in by_key.items():
        start = last = None
        n = 0
        for t in sorted(times):
            if last is not None and t - last >= 3000:
                found.append({"start": start, "key": key, "n": n})
                start, n = None, 0
            start, last, n = t if start is None else start, t, n + 1
        found.append({"start": start, "key": key, "n": n})
    return found


def _pairs(rows: list[Row]) -> tuple[list[Row], list[tuple[int, int]]]:
    left = [r for r in rows if r["value"] % 2 == 0]
    right = defaultdict(list)
    for r in rows:
        if r["value"] % 5 == 0:
            right[r["key"]].append(r)
    pairs = [
        (a["id"], b["id"]) for a in left for b in right[a["key"]] if abs(b["ts"].timestamp() - a["ts"].timestamp()) <= 2
    ]
    return left, pairs


def inner(rows: list[Row]) -> list[Row]:
    return [{"left_id": a, "right_id": b} for a, b in _pairs(rows)[1]]


def outer(rows: list[Row]) -> list[Row]:
    left, pairs = _pairs(rows)
    matched = {a for a, _ in pairs}
    alone = [{"left_id": r["id"], "right_id": None} for r in left if r["id"] not in matched and r["key"] != FLUSH]
    return inner(rows) + alone


def pandas_state(rows: list[Row]) -> list[Row]:
    return [{"key": r["key"], "n": r["n"]} for r in aggregation(rows)]


def timers(rows: list[Row]) -> list[Row]:
    return [r for r in pandas_state(rows) if r["key"] != FLUSH]


def put_out(kind: str, folder: Path) -> list[Row]:
    if (folder / "_spark_metadata").exists():
        return committed(folder)
    if kind == "ordered":
        return last_batch(folder)
    if kind == "timers":
        return batches(folder)
    return newest(batches(folder), lambda r: (r.get("what"), r["key"]))


ORACLES: dict[str, Callable[[list[Row]], list[Row]]] = {
    "stateless": stateless,
    "adaptive": adaptive,
    "aggregation": aggregation,
    "actions": aggregation,
    "ordered": aggregation,
    "union": union,
    "windowed": windowed,
    "several": several,
    "dedupe": dedupe,
    "sessions": sessions,
    "inner": inner,
    "outer": outer,
    "pandas_state": pandas_state,
    "timers": timers,
}
