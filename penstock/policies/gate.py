"""The gate between policies and engines: what cannot be done is refused here, with every reason why."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.changes import Assign, Cap, Containers, Part, Place, Rescale, Restart, Revert, Target, kind_of
from penstock.policies.policy import View


def why_refused(parts: Sequence[Part], view: View) -> str | None:
    """None where all of it can be done."""
    reasons = [reason for part in parts for reason in _reasons(part, view)] + _repeated(parts)
    return "; ".join(reasons) or None


def _reasons(part: Part, view: View) -> list[str]:
    if kind_of(part) not in view.deployment.capabilities.parts:
        return [f"this engine cannot do {kind_of(part).value!r}"]
    if isinstance(part, Containers):
        return [f"{part.count} containers: at least 1"] if part.count < 1 else []
    if isinstance(part, Revert):
        return []
    unknown = _unknown_target(part.target, view)
    return [f"{part.target}: {reason}" for reason in ([unknown] if unknown else _wrong(part, view))]


def _unknown_target(target: Target, view: View) -> str | None:
    if target not in view.deployment.targets:
        return "there is no such component"
    if (why_not := view.deployment.unregulated.get(target)) is not None:
        return f"it is not regulated: {why_not}"
    return None if view.is_regulated(target) else "another policy, or none, regulates it"


def _wrong(part: Rescale | Assign | Place | Restart | Cap, view: View) -> list[str]:
    parallelism = view.deployment.parallelism(part.target)
    match part:
        case Rescale(parallelism=wanted):
            return _out_of_bounds(wanted, part.target, view)
        case Assign(assignment=wanted):
            return _incomplete(part, view) + _out_of_bounds(wanted.parallelism, part.target, view)
        case Place(containers=containers):
            known = {c.id for c in view.deployment.containers}
            strange = [f"there is no container {c!r}" for c in dict.fromkeys(containers) if c not in known]
            wrong_size = len(containers) != parallelism
            return strange + [f"{len(containers)} places for {parallelism} instances"] * wrong_size
        case Restart(instance=instance):
            missing = instance is not None and not 0 <= instance < parallelism
            return [f"there is no instance {instance}, it has {parallelism}"] * missing
        case _:
            return ["a cap is at least 1 row a batch"] * (part.rows is not None and part.rows < 1)


def _out_of_bounds(parallelism: int, target: Target, view: View) -> list[str]:
    bounds = view.bounds[target]
    highest = "" if bounds.highest is None else f" and at most {bounds.highest}"
    return [f"parallelism {parallelism} is not at least {bounds.lowest}{highest}"] * (parallelism not in bounds)


def _incomplete(part: Assign, view: View) -> list[str]:
    current = view.deployment.assignments.get(part.target)
    known = current.substreams if current else view.deployment.component(part.target).substreams
    if known is None:
        return ["its substreams are not known yet"]
    named = part.assignment.substreams
    return [f"the assignment names {named} substreams, it has {known}"] * (named != known)


def _repeated(parts: Sequence[Part]) -> list[str]:
    asked = [(type(p), getattr(p, "target", None)) for p in parts]
    return ["the same is asked twice in one change"] if len(set(asked)) < len(asked) else []
