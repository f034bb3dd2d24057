"""The policies that keep objectives, by name, with their settings as somebody wrote them: `registry.py` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, fields, replace
from typing import Any

from penstock.policies import dhalion
from penstock.policies.batch_ratio import BatchRatio
from penstock.policies.drs import Drs
from penstock.policies.ds2 import Ds2
from penstock.policies.end_to_end import EndToEnd
from penstock.policies.flink_like import FlinkLike
from penstock.policies.health_policy import Pace
from penstock.policies.policy import Policy
from penstock.policies.streamswitch import StreamSwitch
from penstock.reading import Written

Read = Callable[[Written], Policy | None]


def _settings(written: Written, of: type[Any], without: tuple[str, ...] = ()) -> dict[str, float | int] | None:
    """Whole numbers and numbers, as the record's own fields say; None where there are problems."""
    known = {f.name: f for f in fields(of) if f.name not in without}
    given = written.fields(known=tuple(known))
    found = {name: _value(value, known[name]) for name, value in given.items() if name in known}
    complete = {name: value for name, value in found.items() if value is not None}
    return complete if len(complete) == len(found) and not written.problems else None


def _value(written: Written, field: Field[Any]) -> float | int | None:
    if str(field.type).startswith("int"):
        return written.whole()
    value = written.number()
    if field.name == "margin" and value is not None and value >= 1:
        written.must_be("a share below 1")
        return None
    return value


def _drs(balances: bool) -> Read:
    def read(written: Written) -> Policy | None:
        found = _settings(written, Drs, without=("balances",))
        return None if found is None else Drs(balances=balances, **found)

    return read


def _plain(of: type[Any]) -> Read:
    def read(written: Written) -> Policy | None:
        found = _settings(written, of)
        policy: Policy | None = None if found is None else of(**found)
        return policy

    return read


def _streamswitch(written: Written) -> Policy | None:
    """With `end_to_end_s` the components share one bound."""
    given = written.fields()
    bound = given["end_to_end_s"].number(above=0) if "end_to_end_s" in given else None
    rest = {name: value.value for name, value in given.items() if name != "end_to_end_s"}
    found = _settings(replace(written, value=rest), StreamSwitch)
    if found is None:
        return None
    inner = StreamSwitch(**found)  # type: ignore[arg-type]
    return inner if bound is None else EndToEnd(bound, inner=inner)


def _dhalion(make: Callable[[Pace], Policy]) -> Read:
    def read(written: Written) -> Policy | None:
        found = _settings(written, Pace)
        return None if found is None else make(Pace(**found))

    return read


REGULATING: Mapping[str, Read] = {
    "streamswitch": _streamswitch,
    "dhalion": _dhalion(dhalion.provisioning),
    "dhalion-throughput": _dhalion(dhalion.throughput),
    "drs": _drs(balances=False),
    "drs-lb": _drs(balances=True),
    "ds2": _plain(Ds2),
    "flink-like": _plain(FlinkLike),
    "batch-ratio": _plain(BatchRatio),
}
