from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.files import read_yaml_text
from penstock.objectives.objective import Latency, Throughput
from penstock.objectives.utility import Promise, Shape, Utility
from penstock.policies.chaos import Chaos
from penstock.policies.rule import Regulation, Rule
from penstock.policies.schedule import Appointment, Schedule
from penstock.policies.static import Static
from penstock.regulation import (
    objectives_of,
    own_policies,
    read_policy_named,
    read_regulation,
    read_topology,
    regulation_of,
)
from penstock.topology.build import TopologyBuilder

WHOLE = """\
version: 1
queries:
  counts:
    objectives:
      - p95 latency < 2s
      - objective: throughput >= 60 rows/min
        utility: {worth: 35, shape: step}
    policy: {name: chaos, every_batches: 5}
    max_parallelism: 8
    reads_from: [lines]
  "*":
    objectives: [max latency < 5s]
    policy: static
    min_parallelism: 2
"""


def file_in(folder: Path, text: str, name: str = "penstock.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def problems(text: str) -> list[str]:
    written = read_yaml_text(text, "penstock.yaml")
    regulation_of(written, {}, Path())
    return written.problems


def under_counts(line: str) -> list[str]:
    return problems(f"version: 1\nqueries:\n  counts:\n    {line}\n")


def test_a_query_has_its_own_rule_and_the_rest_of_the_star(tmp_path: Path) -> None:
    regulation = read_regulation(file_in(tmp_path, WHOLE))
    promises = (Promise(Latency(2.0, 0.95)), Promise(Throughput(1.0), Utility(35.0, Shape.STEP)))
    assert regulation.for_query("counts") == Rule(promises, Chaos(5), 2, 8, ("lines",))
    assert regulation.for_query("another") == Rule((Promise(Latency(5.0, 1.0)),), Static(), 2)
    assert regulation.policy_of("counts") == ("counts", Chaos(5))
    assert regulation.policy_of("another") == ("*", Static())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("objective: [p95 latency < 2s]", ":4: nothing is called 'objective' here: did you mean 'objectives'?"),
        ("objectives: p95 latency < 2s", ":4: queries.counts.objectives is 'p95 latency < 2s', it must be a list"),
        ("objectives: [p95 latency < 2]", ":4: objective 'p95 latency < 2': '2' has no unit"),
        ("objectives: [7]", ":4: queries.counts.objectives.0 is 7, it must be a mapping"),
        ("objectives: [{utility: {}}]", "does not say 'objective'"),
        ("objectives: [{objective: [], utility: {}}]", "objectives.0.objective is [], it must be a text"),
        ("objectives: [{objective: juice >= 0.9, utility: {worth: 0}}]", "worth is 0, it must be a number above 0"),
        ("objectives: [{objective: juice >= 0.9, utility: {shape: nee}}]", "shape is 'nee': did you mean 'knee'?"),
        ("policy: caos", ":4: there is no policy 'caos': did you mean 'chaos'?"),
        ("policy: {nam: chaos}", "queries.counts.policy does not say 'name'"),
        ("policy: {name: chaos, every: 3}", ":4: nothing is called 'every' here: did you mean 'every_batches'?"),
        ("policy: {name: chaos, every_batches: 0}", "every_batches is 0, it must be a whole number of at least 1"),
        ("policy: schedule", "queries.counts.policy does not say 'changes'"),
        ("policy: {name: schedule, changes: [{at_s: 3}]}", "changes.0 does not say 'component'"),
        (
            "policy: {name: schedule, changes: [{at_s: -1, component: a, parallelism: 2}]}",
            "at_s is -1, it must be a number of at least 0",
        ),
        ("policy: {name: schedule, file: nowhere.yaml}", "nowhere.yaml: there is no such file"),
        ("policy: {name: schedule, file: 3}", "policy.file is 3, it must be a text"),
        ("policy: 3", "queries.counts.policy is 3, it must be a mapping"),
        ("min_parallelism: none", "min_parallelism is 'none', it must be a whole number"),
        ("{min_parallelism: 4, max_parallelism: 2}", "min_parallelism 4 is above max_parallelism 2"),
        ("reads_from: [counts]", ":4: query 'counts' reads from itself"),
        ("reads_from: lines", "reads_from is 'lines', it must be a list: [lines]"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line: str, problem: str) -> None:
    found = under_counts(line)
    assert any(problem in p for p in found), found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("queries: {}", "penstock.yaml:1: the file does not say 'version'"),
        ("version: 2\nqueries: {}", "penstock.yaml:1: version is 2: this Penstock reads version 1"),
        ("version: true\nqueries: {}", "version is True"),
        ("version: 1\nquerys: {}", "penstock.yaml:2: nothing is called 'querys' here: did you mean 'queries'?"),
        ('version: 1\nqueries:\n  "*": {reads_from: [a]}', "penstock.yaml:3: reads_from says where one query reads"),
        ('version: 1\nqueries:\n  "*": {min_parallelism: 4}\n  a: {max_parallelism: 2}', ":4: queries.a: min_para"),
    ],
)
def test_a_file_that_regulates_nothing_right_is_refused(text: str, problem: str) -> None:
    assert any(problem in p for p in problems(text))


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    text = WHOLE.replace("p95 latency", "latency").replace("chaos", "caos").replace("[lines]", "[counts]")
    with pytest.raises(InvalidInput) as refused:
        read_regulation(file_in(tmp_path, text))
    assert sorted(p.split(":")[1] for p in refused.value.problems) == ["10", "5", "8"]


def test_a_schedule_stands_in_the_file_or_in_its_own(tmp_path: Path) -> None:
    file_in(tmp_path, "- {at_s: 30, component: counts, parallelism: 4}\n", "times.yaml")
    text = 'version: 1\nqueries:\n  "*":\n    policy: {name: schedule, file: times.yaml}\n'
    expected = Schedule((Appointment(30.0, "counts", 4),))
    assert read_regulation(file_in(tmp_path, text)).for_query("any").policy == expected
    assert read_policy_named("schedule", {"file": str(tmp_path / "times.yaml")}) == expected
    file_in(tmp_path, "- {at_s: 30, component: counts}\n", "times.yaml")
    with pytest.raises(InvalidInput, match=r"times\.yaml:1: 0 does not say 'parallelism'"):
        read_regulation(file_in(tmp_path, text))


def test_a_policy_is_named_on_a_command_line() -> None:
    assert read_policy_named("chaos", {}) == Chaos()
    with pytest.raises(InvalidInput, match="--policy: there is no policy 'statik': did you mean 'static'"):
        read_policy_named("statik", {})


def test_policies_of_other_packages_are_found_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file_in(
        tmp_path,
        "from penstock.policies.static import Static\n\nmine = lambda settings: Static(settings['instances'])\n",
        "somebodys_policies.py",
    )
    (tmp_path / "somebodys-1.0.dist-info").mkdir()
    file_in(tmp_path / "somebodys-1.0.dist-info", "Name: somebodys\nVersion: 1.0\n", "METADATA")
    points = "[penstock.policies]\nmine = somebodys_policies:mine\n"
    file_in(tmp_path / "somebodys-1.0.dist-info", points, "entry_points.txt")
    monkeypatch.syspath_prepend(tmp_path)
    assert "mine" in own_policies()
    assert read_policy_named("mine", {"instances": 3}) == Static(3)
    with pytest.raises(InvalidInput, match="the policy does not take these settings: 'instances'"):
        read_policy_named("mine", {})


def test_a_declared_topology_states_its_objectives(tmp_path: Path) -> None:
    text = "topology: t\ncomponents:\n  a:\n    source: {}\n    objectives:\n      - mean latency < 1s\n"
    declared, regulation = read_topology(file_in(tmp_path, text))
    assert declared.topology.in_order == ("a",)
    assert regulation == Regulation({"a": Rule((Promise(Latency(1.0)),))})
    wrong = text.replace("1s", "1").replace("source: {}", "source: 3")
    with pytest.raises(InvalidInput) as refused:
        read_topology(file_in(tmp_path, wrong))
    assert [p.split(":")[1] for p in sorted(refused.value.problems)] == ["4", "6"]
    with pytest.raises(InvalidInput, match="it must be a mapping"):
        read_topology(file_in(tmp_path, "- 3"))


def test_a_built_topology_states_its_objectives() -> None:
    builder = TopologyBuilder("t").component("a", source={}, objectives=["mean latency < 1s"])
    assert objectives_of(builder.build()).for_query("a") == Rule((Promise(Latency(1.0)),))
    with pytest.raises(InvalidInput, match="component 'b': objective 'soon'"):
        objectives_of(builder.component("b", source={}, objectives=["soon"]).build())


def test_one_regulation_goes_over_another() -> None:
    file = Regulation({"*": Rule(policy=Static(), max_parallelism=8), "a": Rule(max_parallelism=2)})
    line = Regulation.of(Rule(policy=Chaos(), min_parallelism=1))
    both = line.over(file)
    assert both.for_query("a") == Rule(policy=Chaos(), min_parallelism=1, max_parallelism=2)
    assert both.for_query("b").max_parallelism == 8


def test_examples_in_the_reference_are_read() -> None:
    page = (Path(__file__).parents[1] / "docs/reference/regulation-file.md").read_text()
    for example in (block.split("```")[0] for block in page.split("```yaml\n")[1:]):
        if "queries:" in example:
            assert problems(example) == []
