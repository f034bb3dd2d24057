"""Algorithms 1 and 2 against the naive reference of the specification (section E), and its worked cases E3 to E5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.models.latency_law import LatencyLaw
from penstock.models.microbatch import BatchLaw
from penstock.models.mm1 import QueueLaw
from penstock.policies import streamswitch_moves, streamswitch_scale_in
from penstock.policies.streamswitch_moves import best_balance, best_scale_out
from penstock.policies.streamswitch_scale_in import best_scale_in
from penstock.policies.streamswitch_setting import Setting, Strategy

MM1, BATCH = QueueLaw(0.2), BatchLaw(0.2, 0.02, margin=0.2)


def setting(
    law: LatencyLaw, assigned: Sequence[Sequence[float]], service: Sequence[float], order: Sequence[float] | None = None
) -> Setting:
    rates = np.array([r for rates in assigned for r in rates], dtype=float)
    where = np.array([i for i, rates in enumerate(assigned) for _ in rates], dtype=np.intp)
    pause = np.zeros(rates.size) if order is None else np.array(order, dtype=float)
    return Setting(law, rates, pause, where, np.array(service, dtype=float))


# the reference: everything tried, every vector sorted ----------------------------------------------------------------


def vector(at: Setting) -> list[float]:
    return sorted(at.levels_s.tolist(), reverse=True)


def naive_scale_in(at: Setting) -> tuple[int, int]:
    pairs = [(s, d) for s in range(at.instances) for d in range(at.instances) if s != d]

    def result(s: int, d: int) -> list[float]:
        merged = at.law.level_s(
            at.loads[s : s + 1] + at.loads[d : d + 1], at.service_rows_per_s[d : d + 1], at.counts[s] + at.counts[[d]]
        )
        rest = [float(at.levels_s[i]) for i in range(at.instances) if i not in (s, d)]
        return sorted([*rest, float(merged[0])], reverse=True)

    return min(pairs, key=lambda p: (result(*p), float(at.loads[p[0]]), *p))


def naive_prefix(at: Setting, s: int, d: int) -> tuple[float, int, list[int]]:
    mine = [k for k in range(at.rows_per_s.size) if at.instance_of[k] == s and at.rows_per_s[k] > 0]
    order = sorted(mine, key=lambda k: (at.pause_order[k], k))
    moved = np.cumsum(at.rows_per_s[order])

    def level(i: int, load: float, count: float) -> float:
        one = at.law.level_s(np.array([load]), at.service_rows_per_s[[i]], np.array([count]))
        return float(one[0])

    best = (max(float(at.levels_s[s]), float(at.levels_s[d])), 0)
    for n in range(1, len(order)):
        left = level(s, float(moved[-1] - moved[n - 1]), float(at.counts[s]) - n)
        right = level(d, float(at.loads[d] + moved[n - 1]), float(at.counts[d]) + n)
        if max(left, right) < best[0]:
            best = (max(left, right), n)
    return best[0], best[1], order[: best[1]]


def naive_balance(at: Setting, s: int) -> tuple[int, list[int]] | None:
    found = []
    for d in range(at.instances):
        if d == s:
            continue
        worst, n, moved = naive_prefix(at, s, d)
        if n:
            found.append((worst, vector(moved_to(at, moved, d)), d, moved))
    return min(found)[2:] if found else None


def moved_to(at: Setting, substreams: Sequence[int], d: int) -> Setting:
    where = at.instance_of.copy()
    where[list(substreams)] = d
    return Setting(at.law, at.rows_per_s, at.pause_order, where, at.service_rows_per_s)


# worked cases --------------------------------------------------------------------------------------------------------


def pair(found: Strategy | None) -> tuple[int, int]:
    assert found is not None
    return found.source, found.destination


def test_e3_the_two_lightest_merge() -> None:
    at = setting(MM1, [[100], [150], [200]], [1000] * 3)
    found = best_scale_in(at)
    assert found is not None
    assert pair(found) == (0, 1)
    assert vector(at.merged(found)) == pytest.approx([1 / 550, 1 / 600])


def test_e3_the_merge_that_overloads_is_not_the_best() -> None:
    at = setting(MM1, [[300], [100], [200]], [500, 2000, 1000])
    found = best_scale_in(at)
    assert found is not None
    assert pair(found) == (0, 1)
    assert vector(at.merged(found)) == pytest.approx([1 / 600, 1 / 1200])


def test_e3_two_that_are_full_do_not_merge_well() -> None:
    found = best_scale_in(setting(MM1, [[500], [600]], [1000, 1000]))
    assert found is not None
    assert found.worst_s >= 1e9


E4 = [[300, 200, 150, 130], [100, 150], [200, 100]]
E4_LATENCY = [0.5, 0.3, 0.2, 0.4, 0, 0, 0, 0]


def test_e4_balance() -> None:
    at = setting(MM1, E4, [1000] * 3, E4_LATENCY)
    assert at.levels_s[0] == pytest.approx(1 / 20)
    found = best_balance(at, 0)
    assert found is not None
    assert (pair(found), found.substreams.tolist()) == ((0, 1), [2, 1])
    assert found.worst_s == pytest.approx(0.0050, abs=1e-4)


def test_e4_only_to_the_third() -> None:
    at = setting(MM1, [E4[0], [790], E4[2]], [1000] * 3, [0.5, 0.3, 0.2, 0.4, 0, 0, 0])
    found = best_balance(at, 0)
    assert found is not None
    assert (pair(found), found.substreams.tolist()) == ((0, 2), [2])
    assert found.worst_s == pytest.approx(0.00588, abs=1e-5)


def test_e4_an_overloaded_source_is_relieved_too() -> None:
    found = best_balance(setting(MM1, [[300, 200, 150, 160], *E4[1:]], [1000] * 3, E4_LATENCY), 0)
    assert found is not None
    assert (pair(found), found.substreams.tolist()) == ((0, 1), [2, 1])


def test_e4_scale_out() -> None:
    at = setting(MM1, E4, [1000] * 3, E4_LATENCY)
    found = best_scale_out(at, 0)
    assert found is not None
    assert (pair(found), found.substreams.tolist()) == ((0, 3), [2, 1])
    assert found.worst_s == pytest.approx(1 / 370)
    assert at.after(found).instances == 4


def test_e4_idle_substreams_stay() -> None:
    at = setting(MM1, [[*E4[0], 0], *E4[1:]], [1000] * 3, [0.5, 0.3, 0.2, 0.4, 0, 0, 0, 0, 0])
    found = best_balance(at, 0)
    assert found is not None
    assert found.substreams.tolist() == [2, 1]


def test_e5_micro_batches() -> None:
    at = setting(BATCH, E4, [1000] * 3, E4_LATENCY)
    assert at.levels_s / 1.5 == pytest.approx([11.2, 0.349, 0.384], abs=1e-3)
    found, out = best_balance(at, 0), best_scale_out(at, 0)
    assert found is not None and out is not None
    assert (pair(found), found.substreams.tolist()) == ((0, 1), [2, 1])
    assert at.after(found).levels_s[:2] / 1.5 == pytest.approx([0.519, 1.120], abs=1e-3)
    assert found.worst_s == pytest.approx(1.68)
    assert out.worst_s == pytest.approx(0.778, abs=1e-3)
    assert at.after(out).levels_s[[0, 3]] / 1.5 == pytest.approx([0.519, 0.427], abs=1e-3)


def test_one_substream_cannot_be_divided() -> None:
    at = setting(MM1, [[900, 0], [10]], [1000, 1000])
    assert best_balance(at, 0) is None
    assert best_scale_out(at, 0) is None
    assert best_scale_in(setting(MM1, [[10]], [1000])) is None


# against the reference -----------------------------------------------------------------------------------------------

TIES = st.sampled_from([0.0, 1.0, 5.0, 40.0, 100.0])
ANY = st.floats(0, 400)


@st.composite
def settings(draw: st.DrawFn, rates: st.SearchStrategy[float]) -> Setting:
    laws: list[LatencyLaw] = [MM1, BATCH, QueueLaw(), BatchLaw(0.2, 0.02, trigger_s=1.0, quantile=0.95)]
    law = draw(st.sampled_from(laws))
    assigned = draw(st.lists(st.lists(rates, min_size=1, max_size=8), min_size=2, max_size=7))
    speeds = st.sampled_from([500.0, 1000.0]) | st.floats(100, 2000)
    service = draw(st.lists(speeds, min_size=len(assigned), max_size=len(assigned)))
    size = sum(map(len, assigned))
    order = draw(st.lists(st.sampled_from([0.0, 0.1, 0.2]) | st.floats(0, 1), min_size=size, max_size=size))
    return setting(law, assigned, service, order)


@pytest.mark.parametrize("few", [0, 20_000])
@given(at=settings(TIES) | settings(ANY))
def test_balance_is_what_trying_everything_finds(few: int, at: Setting) -> None:
    source = int(np.argmax(at.levels_s))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamswitch_moves, "FEW", few)
        found = best_balance(at, source)
    expected = naive_balance(at, source)
    assert (None if found is None else (found.destination, found.substreams.tolist())) == expected


@pytest.mark.parametrize("few", [0, 1000])
@given(at=settings(TIES) | settings(ANY))
def test_scale_in_is_what_trying_everything_finds(few: int, at: Setting) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamswitch_scale_in, "FEW", few)
        found = best_scale_in(at)
    assert pair(found) == naive_scale_in(at)


@pytest.mark.parametrize("law", [MM1, BATCH], ids=["mm1", "batch"])
@pytest.mark.parametrize("speeds", ["equal", "two kinds", "any", "as the load"])
def test_scale_in_of_many_is_what_all_pairs_give(law: LatencyLaw, speeds: str) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        where = np.concatenate([np.arange(120), rng.integers(0, 120, 400)])
        rates = rng.gamma(0.5, 20.0, where.size)
        loads = np.bincount(where, weights=rates)
        kinds = {
            "equal": np.full(120, 1500.0),
            "two kinds": np.where(rng.random(120) < 0.3, 700.0, 1500.0),
            "any": rng.uniform(500, 3000, 120),
            "as the load": loads * 2.5 + 1,
        }
        at = Setting(law, rates, np.zeros(where.size), where, kinds[speeds])
        search = streamswitch_scale_in._Search.of(at)
        search.try_all(np.arange(120))
        assert search.best is not None
        assert pair(best_scale_in(at)) == search.best[4:]


@given(at=settings(ANY))
def test_a_strategy_keeps_instances_without_a_gap(at: Setting) -> None:
    for found in (best_scale_in(at), best_balance(at, 0), best_scale_out(at, 0)):
        if found is not None:
            after = at.after(found)
            assert sorted(set(after.instance_of.tolist())) == list(range(after.instances))
