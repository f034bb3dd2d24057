"""What the Spark engine refuses before it asks the agent, on a recorded run; and an agent that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.changes import Assign, Cap, Change, Part, Place, Receipt, Rescale, Revert, Status, Target
from penstock.engines.spark.agent import Agent
from penstock.engines.spark.engine import SparkEngine
from penstock.errors import NotAttached
from penstock.ids import ChangeId, ComponentId, ContainerId
from penstock.topology.assignment import Assignment
from tests.engines.recorded import COUNTS, LINES, NOBODY, engine_over, facts, while_it_runs

DRIVER = ContainerId("driver")


def apply(engine: SparkEngine, *parts: Part) -> Receipt:
    return engine.apply(Change(ChangeId("change"), parts, "the test asks", "tester"))


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (Rescale(COUNTS, 0), "query-1 cannot run as 0 instances: 1 to 4 are possible"),
        (Rescale(COUNTS, 5), "query-1 cannot run as 5 instances: 1 to 4 are possible (4 slots, 4 state partitions)"),
        (Rescale(LINES, 5), "lines cannot run as 5 instances: 1 to 4 are possible (4 slots, no state partitions)"),
        (Rescale(Target(COUNTS.topology, ComponentId("count")), 1), "there are: chain/lines, chain/query-1"),
        (Assign(LINES, Assignment((0, 1))), "chain/lines holds no state"),
        (Assign(COUNTS, Assignment((0, 1))), "substreams"),
        (Place(COUNTS, (DRIVER, ContainerId("7"))), "there is no executor 7"),
        (Place(COUNTS, (DRIVER,)), "chain/query-1 has 2 instances, 1 places were given"),
        (Cap(COUNTS, 10), "Spark's engine cannot cap"),
        (Revert(ChangeId("never")), "there is no change never to go back from"),
    ],
)
def test_a_change_that_cannot_be_is_refused_with_the_reason(part: Part, why: str) -> None:
    engine = while_it_runs()
    receipt = apply(engine, part)
    assert receipt.status is Status.REFUSED
    assert why in (receipt.reason or "")
    assert "does not answer" not in (receipt.reason or ""), "the agent was asked"
    assert not engine.ledger.awaited


def test_one_bad_part_refuses_the_whole_change() -> None:
    receipt = apply(while_it_runs(), Rescale(COUNTS, 1), Rescale(LINES, 9))
    assert receipt.status is Status.REFUSED
    assert "lines cannot run as 9 instances" in (receipt.reason or "")


def test_a_query_that_ended_or_is_left_alone_takes_no_change() -> None:
    ended = next(f for f in facts() if f["fact"] == "query-ended")
    started = next(f for f in facts() if f["fact"] == "query-started" and f["query"] == ended["query"])
    target = LINES if started["name"] == "lines" else COUNTS
    receipt = apply(engine_over(facts()), Rescale(target, 1))
    assert receipt.status is Status.REFUSED
    assert f"no query {target} is running" in (receipt.reason or "")
    told = facts(until="query-ended")
    told += [{"fact": "unregulated", "query": ended["query"], "why": "continuous", "at_ms": told[-1]["at_ms"]}]
    receipt = apply(engine_over(told), Rescale(target, 1))
    assert f"{target} is not regulated: continuous" in (receipt.reason or "")


def test_a_good_change_that_no_agent_takes_is_refused_too() -> None:
    receipt = apply(while_it_runs(), Rescale(COUNTS, 3))
    assert receipt.status is Status.REFUSED
    assert "the agent at http://127.0.0.1:9 does not answer" in (receipt.reason or "")


def test_an_agent_that_is_not_there_is_not_attached(tmp_path: Path) -> None:
    with pytest.raises(NotAttached, match="does not answer"):
        NOBODY.state()
    with pytest.raises(NotAttached, match="does not answer"):
        Agent("no address", "").state()
    with pytest.raises(NotAttached, match="url is missing"):
        Agent.in_directory(tmp_path)
    (tmp_path / "url").mkdir()
    with pytest.raises(NotAttached, match="url cannot be read"):
        Agent.in_directory(tmp_path)
