"""YAML and JSON-lines files: the only place, besides stores, that opens them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.errors import InvalidInput
from penstock.reading import Trail, Written

_Place = tuple[str, ...]  # a trail as text: YAML's names can be numbers or dates
_Lines = dict[_Place, int]


def read_yaml(path: Path) -> Written:
    """What a file says, each value with its line. Names that stand twice are problems already; syntax errors raise."""
    return read_yaml_text(_content(path), str(path))


def read_yaml_text(text: str, name: str) -> Written:
    """
    >>> written = read_yaml_text("a: 1\\nb:\\n  c: two\\n", "x.yaml")
    >>> written.fields()["b"].fields()["c"].whole()
    >>> written.problems
    ["x.yaml:3: b.c is 'two', it must be a whole number of at least 1"]
    """
    lines: _Lines = {(): 1}

    def where(trail: Trail) -> str:
        """The line of the value, or of the nearest thing around it that has one."""
        place = tuple(map(str, trail))
        return f"{name}:{next(lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines)}"

    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        problems = _note_lines(root, lines, name) if root else []
        value = loader.construct_document(root) if root else None
    except yaml.YAMLError as error:
        raise InvalidInput(_sentence(error, name)) from error
    finally:
        loader.dispose()
    return Written(value, where, problems=problems)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        there = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, there, n=1)
        meant = f": did you mean {path.parent / close[0]}?" if close else ""
        raise InvalidInput(f"{path}: there is no such file{meant}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read: {error}") from error


def _note_lines(root: yaml.Node, lines: _Lines, name: str) -> list[str]:
    """Fills `lines`; returns the names that stand twice. A value that contains itself would never end."""
    problems: list[str] = []
    left: list[tuple[yaml.Node, _Place, tuple[yaml.Node, ...]]] = [(root, (), ())]
    while left:
        node, place, above = left.pop()
        if node in above:
            raise InvalidInput(f"{name}:{node.start_mark.line + 1}: a value contains itself")
        problems += _note_names(node, place, lines, name)
        left += [(child, below, (*above, node)) for child, below in _children(node, place)]
    return problems


def _note_names(node: yaml.Node, place: _Place, lines: _Lines, name: str) -> list[str]:
    twice = []
    keys = [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    first_lines: dict[str, int] = {}
    for key in (k for k in keys if isinstance(k, yaml.ScalarNode)):
        line = key.start_mark.line + 1
        if key.value in first_lines:
            twice.append(
                f"{name}:{line}: {key.value!r} stands here a second time, first in line {first_lines[key.value]}"
            )
        first_lines.setdefault(key.value, line)
        lines[(*place, key.value)] = line
    for i, item in enumerate(node.value if isinstance(node, yaml.SequenceNode) else []):
        lines[(*place, str(i))] = item.start_mark.line + 1
    return twice


def _children(node: yaml.Node, place: _Place) -> list[tuple[yaml.Node, _Place]]:
    if isinstance(node, yaml.MappingNode):
        return [(value, (*place, str(key.value))) for key, value in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [(item, (*place, str(i))) for i, item in enumerate(node.value)]
    return []


def _sentence(error: yaml.YAMLError, name: str) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f"{name}:{mark.line + 1}" if mark else name
    what = getattr(error, "problem", None) or str(error)
    if getattr(error, "context", None) == "while scanning an alias":
        return f'{place}: a bare * means something else in YAML: write "*" in quotes'
    if "'\\t'" in what:
        return f"{place}: a tab where YAML wants blanks"
    return f"{place}: this is not YAML: {what}"


def append_json_line(path: Path, record: Mapping[str, Any]) -> None:
    """One write of one line, so that a crash can tear the last line only."""
    line = json.dumps(record, allow_nan=False, separators=(",", ":"))
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line; a last line that a crash has torn is left out."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)
