from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.files import append_json_line, read_json_lines, read_yaml, read_yaml_text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\n*: 2\n", 'x.yaml:2: a bare * means something else in YAML: write "*" in quotes'),
        ("a:\n\t- 1\n", "x.yaml:2: a tab where YAML wants blanks"),
        ("a: [1,\nb: 2", "x.yaml:2: this is not YAML: expected ',' or ']'"),
        ("a: &a\n  b: *a\n", "a value contains itself"),
        ("a: 1\n---\nb: 2\n", "x.yaml:2: this is not YAML: but found another document"),
        ("{[1]: 2}", "x.yaml:1: this is not YAML: found unhashable key"),
        ("a: !!python/object:os.system {}", "could not determine a constructor"),
    ],
)
def test_what_is_not_yaml_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_yaml_text(text, "x.yaml")
    assert problem in str(refused.value)


def test_names_that_stand_twice_are_problems_at_any_depth() -> None:
    written = read_yaml_text("a: {b: 1, b: 2}\nc:\n- d: 1\n  d: 2\na: 3\n", "x.yaml")
    assert sorted(p.split(" stands")[0] for p in written.problems) == [
        "x.yaml:1: 'b'",
        "x.yaml:4: 'd'",
        "x.yaml:5: 'a'",
    ]


def test_a_place_without_a_line_of_its_own_is_that_around_it() -> None:
    written = read_yaml_text("base: &base {x: 1}\nover:\n  <<: *base\n", "x.yaml")
    assert written.fields()["over"].fields()["x"].whole(at_least=2) is None
    assert written.problems == ["x.yaml:2: over.x is 1, it must be a whole number of at least 2"]


def test_a_missing_file_is_told_with_what_was_probably_meant(tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").touch()
    with pytest.raises(InvalidInput, match=r"there is no such file: did you mean .*penstock\.yaml\?"):
        read_yaml(tmp_path / "penstok.yaml")
    with pytest.raises(InvalidInput, match=r"there is no such file$"):
        read_yaml(tmp_path / "nowhere" / "x.yaml")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_yaml(tmp_path)


def test_json_lines_are_read_back_without_the_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    append_json_line(path, {"a": 1})
    append_json_line(path, {"b": "line\nbreak"})
    with path.open("a") as file:
        file.write('{"c": ')
    assert list(read_json_lines(path)) == [{"a": 1}, {"b": "line\nbreak"}]
