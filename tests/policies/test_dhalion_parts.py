"""E7 to E10: resolvers, Table 1 and its reading for micro-batches, the blacklist."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.policies.blacklist import Blacklist, Health, Outcome, judged
from penstock.policies.diagnosers import table_1, table_1_of_batches
from penstock.policies.resolvers import scaled_down, scaled_sources, scaled_up
from penstock.policies.symptoms import DiagnosisKind

UNDER, SLOW = DiagnosisKind.UNDER_PROVISIONING, DiagnosisKind.SLOW_INSTANCES
SKEW, UNEXPLAINED = DiagnosisKind.DATA_SKEW, DiagnosisKind.UNEXPLAINED


@pytest.mark.parametrize(
    ("parallelism", "share", "becomes"),
    [(8, 0.2, 10), (10, 0.2, 13), (4, 0.2, 5), (1, 0.05, 2), (11, 0.9, 55), (3, 1, 15)],
)
def test_e7_scale_up(parallelism: int, share: float, becomes: int) -> None:
    assert scaled_up(parallelism, share) == becomes


def test_e7_on_durable_streams_the_unmet_share_counts_and_the_backlog() -> None:
    arrived, completed = 1.25, 1.0
    assert scaled_up(8, 1 - completed / arrived) == 10
    assert scaled_up(8, 0.0, backlog_share=0.25) == 10


@pytest.mark.parametrize(("parallelism", "becomes"), [(11, 9), (9, 8), (5, 4), (4, 3), (2, 1), (1, 1)])
def test_e7_scale_down(parallelism: int, becomes: int) -> None:
    assert scaled_down(parallelism) == becomes


def test_e8_sources() -> None:
    assert [scaled_sources(p, 0.1 * p, 4.0) for p in (1, 4, 16)] == [4, 16, 40]
    assert scaled_sources(40, 3.75, 4.0) == 43
    assert scaled_sources(3, 0.0, 4.0) == 12


def flags(count: int, *at_fault: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.isin(np.arange(count), at_fault)


PENDING = [1000.0, 10, 12, 9]


@pytest.mark.parametrize(
    ("rates", "pending", "at_fault", "expected"),
    [
        ([100, 102, 98, 100], [900, 950, 1000, 880], (2,), UNDER),
        ([100, 101, 99, 100], PENDING, (0,), SLOW),
        ([250, 100, 100, 100], PENDING, (0,), SKEW),
        ([40, 100, 100, 100], PENDING, (0,), UNEXPLAINED),
        ([100, 102, 98, 100], [900, 950, 1000, 880], (0, 1, 2, 3), UNDER),
        ([100, 300, 98, 100], [900, 9000, 1000, 880], (0, 1, 2, 3), UNEXPLAINED),
        ([250, 100, 100, 100], [10, 12, 9, 11], (0,), UNEXPLAINED),
        ([100, 100, 100, 100], [3, 0, 0, 0], (0,), SLOW),
        ([100, 100, 100, 100], [2, 0, 0, 0], (0,), UNDER),
        ([100], [1e6], (0,), UNDER),
        ([100, 100], [5, 5], (), None),
    ],
)
def test_e9_table_1(
    rates: list[float], pending: list[float], at_fault: tuple[int, ...], expected: DiagnosisKind | None
) -> None:
    found = table_1(np.array(rates, dtype=float), np.array(pending, dtype=float), flags(len(rates), *at_fault))
    assert found is expected


@pytest.mark.parametrize(
    ("rows", "useful_s", "expected"),
    [
        ([1000] * 4, [1.0, 0.5, 0.5, 0.5], (SLOW,)),
        ([1000] * 4, [0.6667, 0.5, 0.5, 0.5], (SLOW,)),
        ([2500, 1000, 1000, 1000], [1.25, 0.5, 0.5, 0.5], (SKEW,)),
        ([2500, 1000, 1000, 1000], [2.5, 0.5, 0.5, 0.5], (SLOW, SKEW)),
        ([1000] * 4, [0.5, 0.52, 0.5, 0.49], (UNDER,)),
        ([1300, 1000, 1000, 1000], [0.66, 0.5, 0.5, 0.5], (UNEXPLAINED,)),
    ],
)
def test_e9_micro_batches(rows: list[float], useful_s: list[float], expected: tuple[DiagnosisKind, ...]) -> None:
    useful = np.array(useful_s)
    assert table_1_of_batches(np.array(rows, dtype=float), useful, useful >= 0.9 * useful.max()) == expected


def test_e9_a_thousand_instances() -> None:
    rates, pending = np.full(1000, 100.0), np.full(1000, 5.0)
    pending[17] = 4000.0
    assert table_1(rates, pending, flags(1000, 17)) is SLOW
    assert table_1(np.where(np.arange(1000) == 17, 400.0, rates), pending, flags(1000, 17)) is SKEW


S, F = Outcome.HELPED, Outcome.FRUITLESS


@pytest.mark.parametrize(
    ("outcomes", "listed"),
    [([F], True), ([S, F], False), ([S, F, F], True), ([S, S, F, F], False), ([S, S, F, F, F], True)],
)
def test_e10_the_ratio_lists(outcomes: list[Outcome], listed: bool) -> None:
    blacklist = Blacklist()
    for outcome in outcomes:
        blacklist = blacklist.counted("slow|c|restart", 100.0, outcome)
    assert blacklist.lists("slow|c|restart", 100.0, 0.5) == listed
    assert not blacklist.lists("slow|c|restart", 100.0, 1.0)
    assert not blacklist.lists("slow|other|restart", 100.0, 0.5)
    assert Blacklist.of(blacklist.json) == blacklist


def test_only_a_similar_load_is_the_same_case() -> None:
    blacklist = Blacklist().counted("x", 100.0, F).counted("x", 300.0, S)
    assert [blacklist.lists("x", load, 0.5) for load in (85.0, 100.0, 120.0, 150.0, 300.0)] == [
        True, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "was_down", "outcome"),
    [
        (Health(1.0, 0.0, 100), Health(1.0, 0.0, 95), True, Outcome.HELPED),
        (Health(1.0, 0.0, 100), Health(1.0, 0.0, 100, 0.98), True, Outcome.FRUITLESS),
        (Health(1.2, 0.0, 100, 1.2), Health(1.0, 0.0, 100, 1.0), True, Outcome.HELPED),
        (Health(1.0, 0.0, 100), Health(1.0, 0.1, 100), True, Outcome.FRUITLESS),
        (Health(1.0, 0.0, 100), Health(1.0, 0.0, 50), True, Outcome.UNCLEAR),
        (Health(0.8, 0.4, 100), Health(0.8, 0.2, 100), False, Outcome.HELPED),
        (Health(0.8, 0.4, 100), Health(0.83, 0.4, 100), False, Outcome.HELPED),
        (Health(0.8, 0.4, 100), Health(0.81, 0.3, 100), False, Outcome.FRUITLESS),
    ],
)
def test_c12_what_counts_as_helpful(before: Health, after: Health, was_down: bool, outcome: Outcome) -> None:
    assert judged(before, after, was_down) is outcome
