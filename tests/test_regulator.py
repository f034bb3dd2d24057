from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.action_log import ActionLog, Entry, Event, entry_of, json_of, read_log
from penstock.changes import Assign, Change, Part, Receipt, Rescale, Status, Target
from penstock.deployment import Deployment
from penstock.ids import ChangeId, ComponentId, TopologyId
from penstock.objectives.objective import Latency
from penstock.objectives.utility import Promise
from penstock.observe.snapshot import Snapshot
from penstock.policies.chaos import Chaos
from penstock.policies.cycle import State
from penstock.policies.policy import Decision, Memory, Policy, View
from penstock.policies.rule import Regulation, Rule
from penstock.policies.schedule import Appointment, Schedule
from penstock.policies.static import Static
from penstock.regulator import Regulator
from penstock.replay import replay
from tests.fake_engine import COUNT, SPLIT, FakeEngine, deployment, snapshot, steps
from tests.strategies import changes, receipts


@dataclass(frozen=True)
class Fixed:
    """Asks for the same parts at every step."""

    parts: tuple[Part, ...] = ()
    alerts: tuple[str, ...] = ()
    name: str = "fixed"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        asked = int(memory.get("asked", 0)) + 1
        return Decision(self.parts, self.alerts, f"decision {asked}", {"asked": asked})


@dataclass(frozen=True)
class Raising:
    name: str = "raising"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        raise ValueError(f"at {view.now_s}")


def regulator(engine: FakeEngine, policy: Policy, **rule: int) -> Regulator:
    return Regulator(engine, Regulation.of(Rule(policy=policy, **rule)), ActionLog(), lambda: 7.0)  # type: ignore[arg-type]


def run(made: Regulator, count: int) -> None:
    for _ in range(count):
        made.step()


def events(made: Regulator) -> list[Event]:
    return [entry.event for entry in reversed(made.log.newest(100))]


def test_a_change_is_applied_logged_and_answered() -> None:
    engine = FakeEngine(steps(3))
    made = regulator(engine, Static(4))
    (outcome,) = made.step()
    assert outcome.change is not None
    assert list(made.unanswered) == [outcome.change.id]
    run(made, 2)
    assert engine.deployment.parallelism(COUNT) == 4
    assert engine.applied == [outcome.change]
    assert events(made) == [Event.CHANGE, Event.RECEIPT]
    asked, answered = reversed(made.log.newest(2))
    assert (asked.by, asked.why, asked.change) == ("static", "parallelism 4 was asked for", outcome.change)
    assert (answered.by, answered.change) == ("engine", outcome.change)
    assert answered.receipt is not None and answered.receipt.status is Status.IN_FORCE
    assert made.unanswered == {}


def test_nothing_is_done_without_fresh_data() -> None:
    engine = FakeEngine([None, snapshot(0), None, snapshot(0)])
    made = regulator(engine, Fixed())
    assert [len(made.step()) for _ in range(6)] == [0, 1, 0, 0, 0, 0]
    assert made.state.cycles == 1


def test_a_policy_that_raises_is_told_once_and_the_others_go_on() -> None:
    engine = FakeEngine(steps(5))
    rules = {"*": Rule(policy=Static(2)), "split": Rule(policy=Raising())}
    made = Regulator(engine, Regulation(rules), ActionLog(), lambda: 7.0)
    run(made, 5)
    alerts = [e for e in made.log.newest(100) if e.event is Event.ALERT]
    assert [a.by for a in alerts] == ["raising"]
    assert alerts[0].why.startswith("policy raising raised ValueError in test_regulator.py:")
    assert engine.deployment.parallelism(COUNT) == 2


def test_a_decision_that_makes_no_sense_is_like_raising() -> None:
    made = regulator(FakeEngine(steps(1)), Fixed(parts=("rescale",)))  # type: ignore[arg-type]
    (outcome,) = made.step()
    assert outcome.change is None
    assert events(made) == [Event.ALERT]


def test_an_alert_is_told_again_only_after_quiet() -> None:
    times_s = [0, 1, 2, 900, 901]
    made = regulator(FakeEngine([snapshot(t) for t in times_s]), Fixed(alerts=("no data",)))
    told = [made.step()[0].alerts for _ in times_s]
    assert told == [("no data",), (), (), ("no data",), ()]


@pytest.mark.parametrize("raises", [False, True])
def test_what_the_engine_refuses_is_logged_with_its_reason(raises: bool) -> None:
    made = regulator(FakeEngine(steps(1), refuses="stale plan version", raises=raises), Static(4))
    made.step()
    (entry,) = made.log.newest(9)
    assert (entry.event, entry.by, entry.why) == (Event.REFUSED, "engine", "stale plan version")
    assert made.unanswered == {}


def test_what_cannot_be_is_refused_before_the_engine_sees_it() -> None:
    engine = FakeEngine(steps(1))
    nobody = Target(TopologyId("words"), ComponentId("nobody"))
    made = regulator(engine, Fixed((Rescale(COUNT, 5), Rescale(nobody, 2))), max_parallelism=4)
    (outcome,) = made.step()
    (entry,) = made.log.newest(9)
    assert engine.applied == []
    assert (entry.event, entry.by, entry.change) == (Event.REFUSED, "fixed", outcome.change)
    assert entry.why == (
        "words/count: parallelism 5 is not at least 1 and at most 4; words/nobody: there is no such component"
    )


def test_a_receipt_of_another_hand_is_logged_as_such() -> None:
    receipt = Receipt(ChangeId("other-1"), Status.IN_FORCE, 0.5)
    made = regulator(FakeEngine([snapshot(0, [receipt])]), Fixed())
    made.step()
    (entry,) = made.log.newest(9)
    assert (entry.event, entry.change) == (Event.RECEIPT, None)
    assert "did not ask for it" in entry.why


def test_a_change_that_is_only_taken_is_still_waited_for() -> None:
    taken = Receipt(ChangeId("change-1"), Status.TAKEN, 1.0)
    made = regulator(FakeEngine([snapshot(0), snapshot(1, [taken])], silent=True), Static(4))
    run(made, 2)
    assert list(made.unanswered) == ["change-1"]
    assert made.log.newest(1)[0].why == "change-1 is taken"


def test_components_without_a_policy_or_left_alone_by_the_engine_are_not_regulated() -> None:
    engine = FakeEngine(steps(2), deployment(unregulated={COUNT: "real-time mode"}))
    run(regulator(engine, Static(4)), 2)
    assert engine.deployment.parallelism(COUNT) == 1
    made = Regulator(FakeEngine(steps(1)), Regulation(), ActionLog(), lambda: 7.0)
    assert made.step() == ()


def test_a_policy_sees_objectives_bounds_and_its_own_components_only() -> None:
    seen: list[View] = []

    @dataclass(frozen=True)
    class Looking(Fixed):
        def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
            seen.append(view)
            return Decision(memory=memory)

    rule = Rule((Promise(Latency(2.0)),), Looking(), min_parallelism=2, max_parallelism=6)
    made = Regulator(FakeEngine(steps(2)), Regulation({"count": rule}), ActionLog(), lambda: 7.0)
    run(made, 2)
    view = seen[-1]
    assert view.targets == (COUNT,)
    assert not view.is_regulated(SPLIT)
    assert (view.bounds[COUNT].lowest, view.bounds[COUNT].highest) == (2, 6)
    assert view.deployment.objectives[COUNT] == (Latency(2.0),)
    assert (view.started_s, view.now_s, len(view.history.snapshots)) == (0.0, 2.0, 2)


def test_everything_fresh_is_handed_to_the_sink_and_replays_to_the_same_changes() -> None:
    recorded: list[tuple[Deployment, Snapshot]] = []
    engine = FakeEngine(steps(30))
    regulation = Regulation.of(Rule(policy=Chaos()))
    made = Regulator(
        engine, regulation, ActionLog(), lambda: 7.0, 11, lambda d, s: recorded.append((d, s)), State("run")
    )
    live = [made.step() for _ in range(30)]
    assert len(recorded) == 30
    assert len(engine.applied) == 10
    for _ in range(2):
        assert [outcomes for _, outcomes in replay(recorded, regulation, seed=11, run="run")] == live
    assert [outcomes for _, outcomes in replay(recorded, regulation, seed=12, run="run")] != live


def test_replay_passes_over_what_is_not_fresh() -> None:
    known = deployment()
    recorded = [(known, snapshot(0)), (known, snapshot(0)), (known, snapshot(1))]
    assert len(list(replay(recorded, Regulation.of(Rule(policy=Static()))))) == 2


def test_ids_of_changes_are_never_used_twice() -> None:
    engine = FakeEngine(steps(12))
    run(regulator(engine, Fixed((Rescale(COUNT, 2),))), 12)
    assert [c.id for c in engine.applied] == [f"change-{i}" for i in range(1, 13)]


def test_chaos_keeps_every_assignment_complete() -> None:
    engine = FakeEngine(steps(60))
    run(regulator(engine, Chaos(1)), 60)
    asked = [part.assignment for c in engine.applied for part in c.parts if isinstance(part, Assign)]
    assert {a.substreams for a in asked} == {8}
    assert {a.parallelism for a in asked} == set(range(1, 9))


def test_a_schedule_runs_from_the_start_of_regulation() -> None:
    late = Schedule((Appointment(2.0, "count", 4), Appointment(4.5, "count", 2)))
    engine = FakeEngine([snapshot(100 + i) for i in range(6)])
    made = regulator(engine, late)
    seen = []
    for _ in range(6):
        made.step()
        seen.append(engine.deployment.parallelism(COUNT))
    assert seen == [1, 4, 4, 4, 2, 2]


def test_the_log_keeps_a_bounded_number_in_memory_and_all_in_its_file(tmp_path: Path) -> None:
    log = ActionLog(tmp_path / "log.jsonl", kept=3)
    entries = [Entry(float(i * 1800), Event.ALERT, "p", f"{i}") for i in range(5)]
    for entry in entries:
        log.append(entry)
    assert [e.why for e in log.newest(2)] == ["4", "3"]
    assert [e.why for e in log.newest(9)] == ["4", "3", "2"]
    assert [e.why for e in log.last_hours(0.5, now_s=7200.0)] == ["4", "3"]
    assert read_log(tmp_path / "log.jsonl") == tuple(entries)
    assert read_log(tmp_path / "none.jsonl") == ()


entries = st.builds(
    Entry,
    st.floats(0, 2e9),
    st.sampled_from(Event),
    st.text(),
    st.text(),
    st.none() | changes(),
    st.none() | receipts(),
)


@given(entries)
def test_entries_are_read_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, entry: Entry) -> None:
    assert entry_of(json_of(entry)) == entry
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    ActionLog(path).append(entry)
    assert read_log(path) == (entry,)


def test_the_cycle_stays_on_one_screen() -> None:
    source = Path(__file__).parents[1] / "penstock/regulator.py"
    assert len(source.read_text().splitlines()) < 150


def test_a_change_taken_and_in_force_at_once_waits_for_nothing() -> None:
    class Prompt(FakeEngine):
        def apply(self, change: Change) -> Receipt:
            return replace(FakeEngine.apply(self, change), status=Status.IN_FORCE)

    made = regulator(Prompt(steps(1)), Static(4))
    made.step()
    assert made.unanswered == {}
