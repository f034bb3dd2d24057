"""The only list of policies: from a name and settings, as somebody wrote them, to a policy.

A user's own comes as an entry point of the group `penstock.policies`: something that takes the settings as one mapping
and returns the policy. What it raises as InvalidInput, TypeError, ValueError or KeyError is told with file and line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import InvalidInput
from penstock.policies.chaos import EVERY_BATCHES, Chaos
from penstock.policies.policy import Policy
from penstock.policies.regulating import REGULATING
from penstock.policies.schedule import Appointment, Schedule
from penstock.policies.static import Static
from penstock.reading import Written, probably_meant

ENTRY_POINTS = "penstock.policies"
OwnPolicies = Mapping[str, Callable[[Mapping[str, Any]], Policy]]


def read_policy(written: Written, own: OwnPolicies | None = None) -> Policy | None:
    """From `chaos` or `{name: chaos, every_batches: 5}`; None where there are problems, which `written` then holds.

    >>> read_policy(Written({"name": "chaos", "every_batches": 5}, lambda trail: "penstock.yaml:4"))
    Chaos(every_batches=5)
    """
    name, settings = _name_and_settings(written)
    if name is None:
        return None
    if name in POLICIES:
        return POLICIES[name](settings)
    if name in (own or {}):
        return _own(settings, (own or {})[name])
    written.wrong(f"there is no policy {name!r}: {probably_meant(name, [*POLICIES, *(own or {})])}")
    return None


def _name_and_settings(written: Written) -> tuple[str | None, Written]:
    if isinstance(written.value, str):
        return written.value, Written({}, written.where, written.trail, written.problems)
    fields = written.fields(required=("name",))
    settings = {k: w.value for k, w in fields.items() if k != "name"}
    name = fields["name"].text() if "name" in fields else None
    return name, Written(settings, written.where, written.trail, written.problems)


def _static(settings: Written) -> Policy:
    fields = settings.fields(known=("parallelism",))
    return Static(fields["parallelism"].whole() if "parallelism" in fields else None)


def _chaos(settings: Written) -> Policy:
    fields = settings.fields(known=("every_batches",))
    return Chaos((fields["every_batches"].whole() if "every_batches" in fields else None) or EVERY_BATCHES)


def _schedule(settings: Written) -> Policy | None:
    fields = settings.fields(known=("changes",), required=("changes",))
    return read_schedule(fields["changes"]) if "changes" in fields else None


def read_schedule(written: Written) -> Schedule:
    return Schedule(tuple(a for item in written.items() if (a := _appointment(item))))


def _appointment(written: Written) -> Appointment | None:
    names = ("at_s", "component", "parallelism")
    fields = written.fields(known=names, required=names)
    if len(fields) < len(names):
        return None
    at_s, component, parallelism = (
        fields["at_s"].number(),
        fields["component"].text(),
        fields["parallelism"].whole(),
    )
    if at_s is None or component is None or parallelism is None:
        return None
    return Appointment(at_s, component, parallelism)


def _own(settings: Written, factory: Callable[[Mapping[str, Any]], Policy]) -> Policy | None:
    assert isinstance(settings.value, dict)
    try:
        return factory(settings.value)
    except (InvalidInput, TypeError, ValueError, KeyError) as error:
        settings.wrong(f"the policy does not take these settings: {error}")
        return None


POLICIES: Mapping[str, Callable[[Written], Policy | None]] = {
    "static": _static,
    "schedule": _schedule,
    "chaos": _chaos,
    **REGULATING,
}
