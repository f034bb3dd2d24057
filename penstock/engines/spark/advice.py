"""What costs a user more than they know: said once, in one plain sentence each."""

from __future__ import annotations

import re

from penstock.engines.spark.ledger import Ledger
from penstock.engines.spark.query import Query

STOCK_PARTITIONS = 200
SEES_INSTANCES = {"FileSink": "files a batch", "ForeachWriter": "writers opened, and the partition ids they see"}


def advice(ledger: Ledger) -> dict[str, str]:
    """By what it is about, so that each is said once."""
    found: dict[str, str] = {}
    for query in ledger.queries.values():
        if query.running:
            found |= _of(query, ledger.slots)
    if ledger.driver.get("dynamic_allocation"):
        found["allocation"] = "Spark's own dynamic allocation is on: it changes the slots that Penstock counts on"
    return found


def _of(query: Query, slots: int) -> dict[str, str]:
    found = {}
    if query.state_partitions == STOCK_PARTITIONS and slots < STOCK_PARTITIONS:
        found[f"{query.name} partitions"] = (
            f"{query.name}: spark.sql.shuffle.partitions is the stock {STOCK_PARTITIONS}, and {slots} slots run them"
            f"{_spent(query)}; a new checkpoint with {max(8, 2 * slots)} would be faster"
        )
    kind = re.match(r"\w+", query.sink or "")
    if kind and kind[0] in SEES_INSTANCES:
        what = SEES_INSTANCES[kind[0]]
        found[f"{query.name} sink"] = f"{query.name}: its sink sees the parallelism, which sets the number of {what}"
    return found


def _spent(query: Query) -> str:
    """What a state partition costs beyond its rows is most of a small batch."""
    stateful = [s for s in query.stages if s["stateful"]]
    useful_s = [ns / 1e9 for s in stateful for ns in s["wall_ns"]]
    return f", {sum(useful_s) / len(useful_s) * 1000:.0f} ms each in the last batch" if useful_s else ""
