"""What somebody laid down: for each query by name, and under `*` for the rest.

rule         objectives, policy and bounds of one query
regulation   all rules; what a query's own rule does not say, `*` says
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from penstock.changes import PartKind, Target
from penstock.deployment import Deployment
from penstock.objectives.utility import Promise
from penstock.policies.policy import Bounds, Policy

REST = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """None is: nothing said. `reads_from` are edges that nobody can see from outside, as `foreachBatch` hides them."""

    promises: tuple[Promise, ...] | None = None
    policy: Policy | None = None
    min_parallelism: int | None = None
    max_parallelism: int | None = None
    reads_from: tuple[str, ...] | None = None

    def over(self, other: Rule) -> Rule:
        """This rule, and the other one where this says nothing.

        >>> Rule(max_parallelism=4).over(Rule(min_parallelism=2, max_parallelism=8))
        Rule(promises=None, policy=None, min_parallelism=2, max_parallelism=4, reads_from=None)
        """
        said = {f.name: v for f in fields(self) if (v := getattr(self, f.name)) is not None}
        return replace(other, **said)


@dataclass(frozen=True, slots=True)
class Regulation:
    """
    >>> regulation = Regulation({"*": Rule(max_parallelism=8), "counts": Rule(min_parallelism=2)})
    >>> regulation.for_query("counts").max_parallelism, regulation.for_query("other").min_parallelism
    (8, None)
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)

    @classmethod
    def of(cls, rule: Rule) -> Regulation:
        """The same for every query."""
        return cls({REST: rule})

    def for_query(self, name: str) -> Rule:
        return self.rules.get(name, Rule()).over(self.rules.get(REST, Rule()))

    def policy_of(self, name: str) -> tuple[str, Policy] | None:
        """The policy that regulates a query, and under which name it was laid down: one policy, one memory."""
        for rule_name in (name, REST):
            policy = self.rules.get(rule_name, Rule()).policy
            if policy is not None:
                return rule_name, policy
        return None

    def over(self, other: Regulation) -> Regulation:
        """Both; name by name what this one says goes first."""
        names = {**other.rules, **self.rules}
        return Regulation({n: self.rules.get(n, Rule()).over(other.rules.get(n, Rule())) for n in names})


def bounds_of(deployment: Deployment, target: Target, rule: Rule) -> Bounds:
    """What the component can be, within what was laid down. Slots are a bound where containers cannot be had; an engine
    that cannot rescale binds each component to what it is."""
    component, assignment = deployment.component(target), deployment.assignments.get(target)
    if PartKind.RESCALE not in deployment.capabilities.parts:
        return Bounds(deployment.parallelism(target), deployment.parallelism(target))
    elastic = PartKind.CONTAINERS in deployment.capabilities.parts
    limits = (
        component.parallelism_bound,
        assignment.substreams if assignment else None,
        rule.max_parallelism,
        None if elastic else deployment.slots or None,
    )
    highest = min((limit for limit in limits if limit is not None), default=None)
    lowest = rule.min_parallelism or 1
    return Bounds(lowest if highest is None else max(1, min(lowest, highest)), highest)
