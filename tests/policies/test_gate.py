from __future__ import annotations

import pytest

from penstock.changes import (
    Assign,
    Cap,
    Capabilities,
    Containers,
    Execution,
    Part,
    PartKind,
    Place,
    Rescale,
    Restart,
    Revert,
    Target,
)
from penstock.deployment import Deployment
from penstock.ids import ChangeId, ComponentId, ContainerId, TopologyId
from penstock.observe.history import History
from penstock.policies.gate import why_refused
from penstock.policies.policy import Bounds, View
from penstock.policies.rule import Rule, bounds_of
from penstock.topology.assignment import spread
from tests.fake_engine import COUNT, SPLIT, deployment

ALL = Capabilities(Execution.MICRO_BATCH, frozenset(PartKind))
NOTHING = Capabilities(Execution.MICRO_BATCH, frozenset())
NOBODY = Target(TopologyId("words"), ComponentId("nobody"))
C = ContainerId("c")


def view(known: Deployment) -> View:
    return View(known, History(60.0), {SPLIT: Bounds(), COUNT: Bounds(2, 6)}, 0.0)


@pytest.mark.parametrize(
    "part",
    [
        Rescale(COUNT, 6),
        Rescale(SPLIT, 500),
        Assign(COUNT, spread(8, 2)),
        Place(COUNT, (C,)),
        Restart(COUNT),
        Restart(COUNT, 0),
        Cap(COUNT, 1),
        Cap(COUNT, None),
        Containers(1),
        Revert(ChangeId("x")),
    ],
    ids=str,
)
def test_what_can_be_done_passes(part: Part) -> None:
    assert why_refused([part], view(deployment(capabilities=ALL))) is None


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (Rescale(COUNT, 7), "words/count: parallelism 7 is not at least 2 and at most 6"),
        (Rescale(COUNT, 1), "words/count: parallelism 1 is not at least 2 and at most 6"),
        (Rescale(SPLIT, 0), "words/split: parallelism 0 is not at least 1"),
        (Rescale(NOBODY, 2), "words/nobody: there is no such component"),
        (Assign(COUNT, spread(7, 2)), "words/count: the assignment names 7 substreams, it has 8"),
        (Assign(COUNT, spread(8, 8)), "words/count: parallelism 8 is not at least 2 and at most 6"),
        (Assign(SPLIT, spread(8, 2)), "words/split: its substreams are not known yet"),
        (Place(COUNT, (C, C)), "words/count: 2 places for 1 instances"),
        (Place(COUNT, (ContainerId("x"),)), "words/count: there is no container 'x'"),
        (Restart(COUNT, 1), "words/count: there is no instance 1, it has 1"),
        (Cap(COUNT, 0), "words/count: a cap is at least 1 row a batch"),
        (Containers(0), "0 containers: at least 1"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_with_its_reason(part: Part, reason: str) -> None:
    assert why_refused([part], view(deployment(capabilities=ALL))) == reason


def test_an_engine_is_not_asked_for_what_it_cannot() -> None:
    assert why_refused([Containers(2)], view(deployment())) == "this engine cannot do 'containers'"


def test_a_component_that_is_left_alone_or_that_another_policy_regulates_is_not_touched() -> None:
    left_alone = view(deployment(unregulated={COUNT: "real-time mode"}))
    assert why_refused([Rescale(COUNT, 2)], left_alone) == "words/count: it is not regulated: real-time mode"
    others = View(deployment(), History(60.0), {SPLIT: Bounds()}, 0.0)
    assert why_refused([Rescale(COUNT, 2)], others) == "words/count: another policy, or none, regulates it"


def test_every_reason_is_told() -> None:
    found = why_refused([Rescale(NOBODY, 2), Rescale(COUNT, 9), Rescale(COUNT, 9)], view(deployment()))
    assert found is not None
    assert len(found.split("; ")) == 4
    assert found.endswith("the same is asked twice in one change")


@pytest.mark.parametrize(
    ("known", "rule", "bounds"),
    [
        (deployment(), Rule(), Bounds(1, 8)),
        (deployment(slots=4), Rule(), Bounds(1, 4)),
        (deployment(slots=4, capabilities=ALL), Rule(), Bounds(1, 8)),
        (deployment(), Rule(max_parallelism=3, min_parallelism=2), Bounds(2, 3)),
        (deployment(substreams=2), Rule(min_parallelism=4), Bounds(2, 2)),
        (deployment(containers=()), Rule(), Bounds(1, 8)),
        (deployment(capabilities=NOTHING), Rule(min_parallelism=4), Bounds(1, 1)),
    ],
)
def test_bounds_are_what_can_be_within_what_was_laid_down(known: Deployment, rule: Rule, bounds: Bounds) -> None:
    assert bounds_of(known, COUNT, rule) == bounds
