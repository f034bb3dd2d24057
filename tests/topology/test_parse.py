"""Declared topologies, from YAML and from Python: read, or refused with every problem at its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.files import read_yaml_text
from penstock.ids import ComponentId
from penstock.topology.build import TopologyBuilder, by_key
from penstock.topology.parse import Declared, parse_topology, read_declared
from penstock.topology.topology import Grouping, Stream, Topology
from tests.strategies import topologies

WORD_COUNT = """\
topology: word-count
components:
  lines:
    source: {format: rate, rowsPerSecond: 10}
  split:
    function: words:split
    inputs: [lines]
    parallelism: 2
  count:
    function: words.counting:count
    inputs:
      - {from: split, grouping: key, key: word}
    substreams: 8
    max_parallelism: 4
    objectives: [p95 latency < 2s]
    sink: {format: console}
"""


def declared(text: str) -> Declared:
    written = read_yaml_text(text, "t.yaml")
    found = read_declared(written)
    if found is None:
        raise InvalidInput(written.problems)
    return found


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        declared(text)
    return sorted(refused.value.problems)


def with_components(*lines: str) -> str:
    return "topology: t\ncomponents:\n  a: {source: {format: rate}}\n" + "".join(f"  {line}\n" for line in lines)


def test_word_count_is_read_whole() -> None:
    found = declared(WORD_COUNT)
    assert found.topology.in_order == ("lines", "split", "count")
    assert Stream(*found.topology.in_order[1:], Grouping.KEY, ("word",)) in found.topology.streams
    count = found.topology.components[2]
    assert (count.substreams, count.max_parallelism, count.parallelism_bound) == (8, 4, 4)
    assert dict(found.functions) == {"split": "words:split", "count": "words.counting:count"}
    assert dict(found.sources) == {"lines": {"format": "rate", "rowsPerSecond": 10}}
    assert dict(found.sinks) == {"count": {"format": "console"}}
    assert dict(found.objectives) == {"count": ["p95 latency < 2s"]}


def test_a_builder_gives_the_same_as_yaml() -> None:
    built = (
        TopologyBuilder("word-count")
        .component("lines", source={"format": "rate", "rowsPerSecond": 10})
        .component("split", "words:split", ["lines"], parallelism=2)
        .component(
            "count",
            "words.counting:count",
            [by_key("split", "word")],
            substreams=8,
            max_parallelism=4,
            objectives=["p95 latency < 2s"],
            sink={"format": "console"},
        )
        .build()
    )
    read = declared(WORD_COUNT)
    assert built.topology == read.topology
    for part in ("functions", "sources", "sinks", "objectives"):
        assert dict(getattr(built, part)) == dict(getattr(read, part))


def split_words() -> None:
    """A component's function, given as itself."""


def test_a_builder_takes_functions_themselves() -> None:
    with_function = TopologyBuilder("t").component("a", split_words, source={"format": "rate"}).build()
    assert with_function.functions[ComponentId("a")] == f"{__name__}:split_words"


def test_a_builder_names_the_component_that_is_wrong() -> None:
    builder = TopologyBuilder("t").component("a", source={"format": "rate"}).component("b", inputs=["c"])
    with pytest.raises(InvalidInput, match="component 'b': there is no component 'c'"):
        builder.build()
    with pytest.raises(InvalidInput, match="'b' is declared twice"):
        builder.component("b")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("b: {inputs: [A]}", "t.yaml:4: there is no component 'A': did you mean 'a'?"),
        ("b: {imputs: [a]}", "t.yaml:4: nothing is called 'imputs' here: did you mean 'inputs'?"),
        ("b: {inputs: a}", "t.yaml:4: components.b.inputs is 'a', it must be a list: [a]"),
        ("b: {inputs: []}", "t.yaml:4: component 'b' names no input"),
        ("b: {inputs: [a, a]}", "t.yaml:4: component 'b' reads 'a' twice"),
        ("b: {inputs: [b]}", "t.yaml:4: components form a cycle: b -> b"),
        ("b: {parallelism: 2}", "t.yaml:4: component 'b' has neither inputs nor a source: it reads one or the other"),
        ("b: {inputs: [a], source: {}}", "t.yaml:4: component 'b' has both inputs and a source"),
        ("b: {inputs: [a], source: here}", "t.yaml:4: components.b.source is 'here', it must be a mapping"),
        ("b: {inputs: [a], parallelism: 0}", "components.b.parallelism is 0, it must be a whole number of at least 1"),
        ("b: {inputs: [a], parallelism: true}", "parallelism is True, it must be a whole number"),
        (
            "b: {inputs: [a], parallelism: 9, substreams: 8}",
            "t.yaml:4: component 'b': parallelism 9 is above its substreams, 8",
        ),
        (
            "b: {inputs: [a], parallelism: 9, max_parallelism: 8}",
            "t.yaml:4: component 'b': parallelism 9 is above its max_parallelism, 8",
        ),
        ("b: {inputs: [a], function: words.count}", "did you mean 'words:count'?"),
        ("b: {inputs: [a], function: count}", "components.b.function is 'count': write module:function"),
        ("b: {inputs: [a], function:}", "components.b.function is empty, it must be a text"),
        ("b: {inputs: [{from: a, grouping: key}]}", "t.yaml:4: stream a -> b: grouping by key names no key"),
        ("b: {inputs: [{from: a, key: word}]}", "stream a -> b: a key goes with `grouping: key`"),
        ("b: {inputs: [{from: a, grouping: keyed}]}", "grouping is 'keyed': did you mean 'key'?"),
        ("b: {inputs: [{grouping: all}]}", "components.b.inputs.0 does not say 'from'"),
        ("b: {inputs: [{form: a}]}", "nothing is called 'form' here: did you mean 'from'?"),
        ("b: {inputs: [3]}", "components.b.inputs.0 is 3, it must be a mapping"),
        ("b: {inputs: [{from: a, grouping: key, key: [1]}]}", "key.0 is 1, it must be a text"),
        ("b: {inputs: [a], cpu_cores: 0}", "components.b.cpu_cores is 0, it must be a number above 0"),
        ("b: count", "components.b is 'count', it must be a mapping"),
        ("7: {inputs: [a]}", "t.yaml:4: the name 7 is not a text: write it in quotes"),
        ("a: {source: {}}", "t.yaml:4: 'a' stands here a second time, first in line 3"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line: str, problem: str) -> None:
    found = problems(with_components(line))
    assert any(problem in p for p in found), found


def test_every_problem_is_told_at_once() -> None:
    text = with_components(
        "b: {inputs: [nobody], parallelism: 3, substreams: 2}",
        "c: {inputs: [d]}",
        "d: {inputs: [c], sinc: {}}",
        "d: {inputs: [c]}",
    )
    found = problems(text)
    assert [p.split(":")[1] for p in found] == ["4", "4", "5", "7"]
    assert "components form a cycle: " in found[2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "t.yaml:1: the file is empty, it must be a mapping"),
        ("- a", "the file is ['a'], it must be a mapping"),
        ("topology: t", "t.yaml:1: the file does not say 'components'"),
        ("components: {}\ntopology: t", "components is empty"),
        ("topology: 3\ncomponents: {a: {source: {}}}", "topology is 3, it must be a text"),
        ("topology: t\ncomponents:", "components is empty, it must be a mapping"),
    ],
)
def test_a_file_without_a_topology_is_refused(text: str, problem: str) -> None:
    assert any(problem in p for p in problems(text))


def mapping_of(topology: Topology) -> dict[str, Any]:
    def inputs(target: str) -> dict[str, Any]:
        made = [_input(s) for s in topology.streams if s.target == target]
        return {"inputs": made} if made else {"source": {"format": "rate"}}

    numbers = ("parallelism", "substreams", "max_parallelism")
    given = {
        c.id: {**{n: v for n in numbers if (v := getattr(c, n)) is not None}, **inputs(c.id)}
        for c in topology.components
    }
    return {"topology": topology.id, "components": given}


def _input(stream: Stream) -> str | dict[str, Any]:
    if stream.grouping is Grouping.SHUFFLE:
        return stream.source
    key = {"key": list(stream.key)} if stream.key else {}
    return {"from": stream.source, "grouping": stream.grouping.value, **key}


@given(topologies())
def test_every_topology_is_read_back(topology: Topology) -> None:
    found = declared(yaml.safe_dump(mapping_of(topology), sort_keys=False)).topology
    assert (found.id, found.components) == (topology.id, topology.components)
    assert set(found.streams) == set(topology.streams)


KEYS = st.sampled_from(
    ["topology", "components", "a", "b", "inputs", "source", "from", "key", "grouping", "parallelism", "function", 3]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 20) | st.sampled_from(["a", "key", "m:f", "x.y", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(ANYTHING | st.fixed_dictionaries({"topology": st.just("t"), "components": ANYTHING}))
def test_any_mapping_is_read_or_refused(mapping: object) -> None:
    try:
        found = parse_topology(mapping, lambda trail: "here")
    except InvalidInput as error:
        assert error.problems
    else:
        assert found.topology.components


def test_examples_in_the_reference_are_read() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/topology-file.md").read_text()
    examples = [block.split("```")[0] for block in page.split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        assert declared(example).topology.components
