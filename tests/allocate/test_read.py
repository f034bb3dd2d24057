"""What a file may say, and what is said of one that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.allocate.capacity import Linear, Stepped, substream_curve
from penstock.allocate.read import read
from penstock.errors import InvalidInput

SOURCE = {"name": "1", "resources": 1, "output_rate": 500, "children": {"2": 1.0}}
SINK = {"name": "2", "resources": 2, "input_rate": 500, "output_rate": 400, "max_processing_rate": 400}


def problems(*parts: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidInput) as error:
        read({"components": list(parts)})
    return error.value.problems


def test_components_come_in_topological_order_whatever_the_order_of_the_file() -> None:
    topology = read({"components": [SINK, SOURCE]}).topology
    source, sink = topology.components
    assert (source.id, source.is_source, source.curve) == ("1", True, Linear(500))
    assert (sink.id, sink.units, sink.curve, sink.out_in_ratio) == ("2", 2, Linear(200), 1.0)


def test_unknown_keys_are_ignored_with_a_notice() -> None:
    notices = read({"components": [SOURCE, {**SINK, "parents": ["1"]}], "made_by": "hand"}).notices
    assert notices == (
        "the key 'made_by' is not known and was ignored",
        "component '2': the key 'parents' is not known and was ignored",
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"input_rate": -5}, "component '2': input_rate is -5, it is at least 0"),
        ({"max_processing_rate": float("nan")}, "component '2': max_processing_rate is nan, it is a finite number"),
        ({"output_rate": "many"}, "component '2': output_rate is 'many', it is a finite number"),
        ({"resources": 0}, "component '2': resources is 0, it is a whole number of at least 1"),
        ({"resources": True}, "component '2': resources is True, it is a whole number of at least 1"),
        ({"children": {"9": 1.0}}, "component '2': its child '9' does not exist"),
        ({"children": ["9"]}, "component '2': children is ['9'], it maps names to ratios"),
        ({"children": {"1": 1}}, "components form a cycle: '1' -> '2' -> '1'"),
        ({"input_rate": 400}, "component '2': input_rate is 400, but its parents send 500"),
        ({"max_resources": 1}, "component '2': resources is 2, but max_resources is 1"),
        ({"capacity": [300, 400, 350]}, "component '2': its capacity falls from 400 at 2 units to 350 at 3"),
        ({"capacity": [300]}, "component '2': resources is 2, but its capacity list ends at 1"),
        ({"capacity": [200, 300]}, "component '2': max_processing_rate is 400, but its capacity at 2 units is 300"),
        ({"substreams": 1}, "component '2': resources is 2, but substreams is 1"),
        ({"substreams": 3, "shares": [0.5, 0.5]}, "component '2': it has 3 substreams, but 2 shares"),
        ({"substreams": 2, "shares": [0.5, 0.2]}, "component '2': its shares add up to 0.7, not to 1"),
        ({"capacity": 400}, "component '2': capacity is 400, it is a list of numbers"),
        ({"capacity": [200, None]}, "component '2': capacity[1] is None, it is a finite number"),
        ({"capacity": [200, -1]}, "component '2': capacity[1] is -1, it is at least 0"),
        ({"children": {"1": None}}, "component '2': the ratio of child '1' is None, it is a finite number"),
        ({"children": {"1": 1}, "output_rate": None}, "component '2': output_rate is missing, and it has children"),
        ({"shares": [0.5, 0.5]}, "component '2': shares need substreams: how many there are"),
        (
            {"substreams": 2, "capacity": [200, 400]},
            "component '2': it has both capacity and substreams, one of them says how it grows",
        ),
    ],
)
def test_what_is_wrong_is_said_with_name_and_numbers(change: dict[str, Any], sentence: str) -> None:
    assert sentence in problems(SOURCE, {**SINK, **change})


def test_all_problems_are_reported_at_once() -> None:
    wrong = {"name": "3", "resources": 1, "input_rate": 1, "output_rate": -1, "max_processing_rate": -2}
    found = problems({**SOURCE, "children": {"2": 0.5, "7": 1}}, SINK, wrong)
    assert found == (
        "component '3': output_rate is -1, it is at least 0",
        "component '3': max_processing_rate is -2, it is at least 0",
        "component '1': its child '7' does not exist",
        "component '2': input_rate is 500, but its parents send 250",
    )


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([SOURCE, SINK, SINK], "component '2' is described twice"),
        ([{"resources": 1}], "components[0] has no name (a text)"),
        ([], '"components" is empty'),
        ([{"name": "1", "resources": 1}], "output_rate is missing"),
        ([SOURCE, {"name": "2", "output_rate": 1, "resources": 1}], "it has no input_rate, but its parents send 500"),
        ([{**SINK, "name": "3"}], "component '3': input_rate is 500, but it has no parent, so that 0 arrive"),
        ([SOURCE, {**SINK, "input_rate": 0}], "component '2': output_rate is 400, but it processes 0"),
        ([{k: v for k, v in SINK.items() if k != "input_rate"}], "component '2': input_rate is missing"),
        ([{k: v for k, v in SINK.items() if k != "resources"}], "component '2': resources is missing"),
        ([{k: v for k, v in SINK.items() if "max" not in k}], "component '2': max_processing_rate is missing"),
    ],
)
def test_files_that_cannot_be_are_refused(parts: list[Any], sentence: str) -> None:
    assert any(sentence in problem for problem in problems(*parts))


@pytest.mark.parametrize("document", [None, [], {}, {"components": {}}])
def test_a_file_without_a_list_of_components_is_refused(document: Any) -> None:
    with pytest.raises(InvalidInput, match='a list "components"'):
        read(document)


def test_an_input_may_differ_by_half_a_percent_from_what_the_parents_send() -> None:
    assert read({"components": [SOURCE, {**SINK, "input_rate": 502.4}]}).topology.units == 3
    assert problems(SOURCE, {**SINK, "input_rate": 503}) == (
        "component '2': input_rate is 503, but its parents send 500",
    )


def test_a_sink_without_output_counts_what_it_processes() -> None:
    for output in ({}, {"output_rate": 0}):
        writer = {"name": "2", "resources": 1, "input_rate": 500, "max_processing_rate": 400, **output}
        assert read({"components": [SOURCE, writer]}).topology.components[1].out_in_ratio == 1.0


def test_substreams_over_instances_make_a_staircase() -> None:
    [_, even] = read({"components": [SOURCE, {**SINK, "substreams": 8}]}).topology.components
    assert isinstance(even.curve, Stepped)
    assert [even.curve.at(p) / even.curve.at(1) for p in range(1, 9)] == pytest.approx([1, 2, 8 / 3, 4, 4, 4, 4, 8])
    assert even.units_bound == 8
    skewed = {**SINK, "substreams": 4, "shares": [0.55, 0.15, 0.15, 0.15]}
    [_, component] = read({"components": [SOURCE, skewed]}).topology.components
    assert isinstance(component.curve, Stepped)
    assert component.curve.rows_per_s == pytest.approx((220, 400, 400, 400))


def test_more_instances_never_lower_the_capacity() -> None:
    curve = substream_curve(100.0, 1, [0.3, 0.25, 0.2, 0.15, 0.1])
    assert list(curve.rows_per_s) == sorted(curve.rows_per_s)
    assert curve.at(0) == 0.0


def test_max_resources_bounds_units() -> None:
    [_, sink] = read({"components": [SOURCE, {**SINK, "max_resources": 3}]}).topology.components
    assert (sink.units_bound, sink.units_left) == (3, 1)
