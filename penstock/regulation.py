"""The regulation file, `penstock.yaml`: what is asked of each query, by name, and under "*" of the rest.

version: 1
queries:
  counts:
    objectives:
      - p95 latency < 2s
      - {objective: throughput >= 4M rows/min, utility: {worth: 35, shape: knee}}
    policy: {name: chaos, every_batches: 5}
    max_parallelism: 8
  "*":
    policy: static
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from penstock.errors import InvalidInput
from penstock.files import read_yaml
from penstock.objectives.parse import parse_objective
from penstock.objectives.utility import Promise, Shape, Utility
from penstock.policies.policy import Policy
from penstock.policies.registry import ENTRY_POINTS, OwnPolicies, read_policy, read_schedule
from penstock.policies.rule import REST, Regulation, Rule
from penstock.policies.schedule import Schedule
from penstock.reading import Written
from penstock.topology.parse import Declared, read_declared

VERSION = 1
T = TypeVar("T")
_RULE = ("objectives", "policy", "min_parallelism", "max_parallelism", "reads_from")


def read_regulation(path: Path) -> Regulation:
    """Raises InvalidInput with every problem, each with file and line."""
    written = read_yaml(path)
    regulation = regulation_of(written, own_policies(), path.parent)
    return _unless_wrong(regulation, written)


def read_topology(path: Path) -> tuple[Declared, Regulation]:
    """A declared topology, and the objectives that it states. Raises InvalidInput with every problem."""
    written = read_yaml(path)
    declared = read_declared(written)
    rules = {
        name: Rule(promises=_promises(fields["objectives"]))
        for name, fields in _components(written)
        if "objectives" in fields
    }
    if declared is None:
        raise InvalidInput(written.problems)
    return _unless_wrong(declared, written), Regulation(rules)


def objectives_of(declared: Declared) -> Regulation:
    """The same for a topology that was built in Python."""
    written = Written(dict(declared.objectives), lambda trail: f"component {trail[0]!r}" if trail else "topology")
    rules = {name: Rule(promises=_promises(objectives)) for name, objectives in written.fields().items()}
    return _unless_wrong(Regulation(rules), written)


def read_policy_named(name: str, settings: Mapping[str, Any], where: str = "--policy") -> Policy:
    """A policy as a command line names it; `{"file": path}` is a schedule's list."""
    written = Written({"name": name, **settings}, lambda trail: where)
    policy = _policy(written, own_policies(), Path())
    return _unless_wrong(policy, written)


def own_policies() -> OwnPolicies:
    """The policies that other installed packages bring."""
    return {point.name: _loaded_when_used(point) for point in entry_points(group=ENTRY_POINTS)}


def _loaded_when_used(point: Any) -> Any:
    return lambda settings: point.load()(settings)


def _unless_wrong(result: T | None, written: Written) -> T:
    if written.problems or result is None:
        raise InvalidInput(written.problems)
    return result


def _components(written: Written) -> list[tuple[str, dict[str, Written]]]:
    """Only what is well-formed: what is not has been told already."""
    top = written.value.get("components") if isinstance(written.value, dict) else None
    parts = top if isinstance(top, dict) else {}
    at = written.at("components", parts)
    return [
        (name, {key: at.at(name, part).at(key, value) for key, value in part.items()})
        for name, part in parts.items()
        if isinstance(name, str) and isinstance(part, dict)
    ]


def regulation_of(written: Written, own: OwnPolicies, folder: Path) -> Regulation:
    """Its problems are those that `written` then holds; files that it names are found from `folder`."""
    top = written.fields(known=("version", "queries"), required=("version", "queries"))
    if "version" in top and (top["version"].value != VERSION or isinstance(top["version"].value, bool)):
        top["version"].wrong(f"version is {top['version'].value!r}: this Penstock reads version {VERSION}")
    queries = top["queries"].fields() if "queries" in top else {}
    regulation = Regulation({name: _rule(query, own, folder) for name, query in queries.items()})
    for name, query in queries.items():
        own_rule = regulation.rules[name]
        if own_rule.min_parallelism or own_rule.max_parallelism:
            _check_bounds(query, regulation.for_query(name))
    return regulation


def _rule(written: Written, own: OwnPolicies, folder: Path) -> Rule:
    fields = written.fields(known=_RULE)
    return Rule(
        promises=_promises(fields["objectives"]) if "objectives" in fields else None,
        policy=_policy(fields["policy"], own, folder) if "policy" in fields else None,
        min_parallelism=fields["min_parallelism"].whole() if "min_parallelism" in fields else None,
        max_parallelism=fields["max_parallelism"].whole() if "max_parallelism" in fields else None,
        reads_from=_reads_from(written, fields["reads_from"]) if "reads_from" in fields else None,
    )


def _check_bounds(written: Written, rule: Rule) -> None:
    least, most = rule.min_parallelism, rule.max_parallelism
    if least is not None and most is not None and least > most:
        written.wrong(f"{written.name}: min_parallelism {least} is above max_parallelism {most}")


def _reads_from(query: Written, written: Written) -> tuple[str, ...]:
    name = query.trail[-1]
    if name == REST:
        written.wrong('reads_from says where one query reads: it cannot stand under "*"')
    names = tuple(text for item in written.items() if (text := item.text()))
    if name in names:
        written.wrong(f"query {name!r} reads from itself")
    return names


def _promises(written: Written) -> tuple[Promise, ...]:
    return tuple(p for item in written.items() if (p := _promise(item)))


def _promise(written: Written) -> Promise | None:
    if isinstance(written.value, str):
        return _kept(written, Utility())
    fields = written.fields(known=("objective", "utility"), required=("objective",))
    utility = _utility(fields["utility"]) if "utility" in fields else Utility()
    return _kept(fields["objective"], utility) if "objective" in fields else None


def _kept(written: Written, utility: Utility) -> Promise | None:
    text = written.text()
    try:
        return Promise(parse_objective(text), utility) if text is not None else None
    except InvalidInput as error:
        written.wrong(str(error))
        return None


def _utility(written: Written) -> Utility:
    fields = written.fields(known=("worth", "shape"))
    worth = fields["worth"].number(above=0) if "worth" in fields else None
    shape = fields["shape"].one_of([s.value for s in Shape]) if "shape" in fields else None
    return Utility(Utility().worth if worth is None else worth, Shape(shape) if shape else Shape.KNEE)


def _policy(written: Written, own: OwnPolicies, folder: Path) -> Policy | None:
    value = written.value
    if not (isinstance(value, dict) and value.get("name") == "schedule" and "file" in value):
        return read_policy(written, own)
    fields = written.fields(known=("name", "file"))
    name = fields["file"].text()
    return _schedule(written, folder / name) if name else None


def _schedule(written: Written, path: Path) -> Schedule | None:
    try:
        listed = read_yaml(path)
    except InvalidInput as error:
        written.problems.extend(error.problems)
        return None
    schedule = read_schedule(listed)
    written.problems.extend(listed.problems)
    return schedule
