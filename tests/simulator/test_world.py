"""Whole worlds: nothing is lost, both fidelities agree, and a seed says it all."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.changes import Assign, Change, Execution, Part, Rescale, Restart, Revert, Status
from penstock.ids import ChangeId, ComponentId
from penstock.observe.latency import merged
from penstock.observe.snapshot import ComponentSeen, Snapshot
from penstock.simulator.arrays import Fleet, Rows, Span
from penstock.simulator.arrivals import Offered, RowArrivals
from penstock.simulator.component import Service
from penstock.simulator.count_queue import CountQueues
from penstock.simulator.route import joined
from penstock.simulator.row_queue import RowQueues
from penstock.simulator.scenario import (
    Fault,
    FaultKind,
    Fidelity,
    Pause,
    Pressure,
    PressureKind,
    Scenario,
    Skew,
    Switching,
    TopologyModel,
)
from penstock.simulator.simulation import Simulation
from penstock.topology.assignment import spread
from penstock.topology.topology import Component, Grouping
from tests.simulator.worlds import BATCH, COUNTS, ROWS, chain, operator, rest_of, simulated, source, target

KEYED = Component(ComponentId("count"), parallelism=3, substreams=8)


def three_stages(execution: Execution, pressure: PressureKind, rate: float) -> TopologyModel:
    models = {
        "read": source(rate, 3000.0, cv=1.0),
        "split": operator(400.0, emits=2.5, cv=0.5, costs=BATCH),
        "count": operator(500.0, costs=BATCH, skew=Skew(exponent=0.8)),
    }
    components = {"split": Component(ComponentId("split"), parallelism=2), "count": KEYED}
    switching = Switching(Pause.INVOLVED, fixed_s=0.4)
    return chain(
        models, components, execution, Grouping.KEY, pressure=Pressure(pressure, 300, 100), switching=switching
    )


def conserved(snapshots: list[Snapshot]) -> bool:
    for name in snapshots[-1].components:
        seen = [s.components[name] for s in snapshots]
        arrived, completed, dropped = (_total(seen, f"rows_{kind}") for kind in ("arrived", "completed", "dropped"))
        assert seen[-1].rows_pending is not None
        if arrived != completed + dropped + seen[-1].rows_pending or seen[-1].rows_pending < 0:
            return False
    return True


def _total(seen: list[ComponentSeen], name: str) -> float:
    return float(sum(getattr(s, name) for s in seen))


parts = st.one_of(
    st.builds(lambda p: Rescale(target("split"), p), st.integers(1, 6)),
    st.builds(lambda p: Rescale(target("count"), p), st.integers(1, 8)),
    st.builds(lambda p: Assign(target("count"), spread(8, p)), st.integers(1, 8)),
    st.just(Restart(target("count"), 0)),
    st.just(Revert(ChangeId("0"))),
)
faults = st.builds(
    Fault,
    at_s=st.floats(0, 8),
    kind=st.sampled_from([FaultKind.SLOW_INSTANCE, FaultKind.FAILED_INSTANCE]),
    for_s=st.floats(0.1, 5),
    target=st.sampled_from(["t/count/0", "t/count/2", "t/split", "t/read/0"]),
    loses_rows=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(
    fidelity=st.sampled_from(list(Fidelity)),
    execution=st.sampled_from(list(Execution)),
    pressure=st.sampled_from(list(PressureKind)),
    rate=st.floats(1, 1200),
    changes=st.lists(parts, max_size=6),
    broken=st.lists(faults, max_size=3),
    observe_steps=st.integers(1, 4),
)
def test_rows_are_conserved_through_changes_and_failures(
    fidelity: Fidelity,
    execution: Execution,
    pressure: PressureKind,
    rate: float,
    changes: list[Part],
    broken: list[Fault],
    observe_steps: int,
) -> None:
    model = three_stages(execution, pressure, rate)
    scenario = Scenario(10.0, (model,), 0.25, observe_steps, fidelity, seed=3, faults=tuple(broken))
    simulation = Simulation(scenario)
    snapshots = []
    for n, part in enumerate(changes):
        snapshots += rest_of(simulation, until_s=1.5 * (n + 1))
        simulation.apply(Change(ChangeId(str(n)), (part,), "a test", "a test"))
    snapshots += rest_of(simulation)
    assert conserved(snapshots)
    sent = sum(s.streams[target("read"), target("split")].rows_sent or 0 for s in snapshots)
    assert sent == _total([s.components[target("split")] for s in snapshots], "rows_arrived")


@pytest.mark.parametrize("execution", list(Execution))
@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_what_goes_in_comes_out_in_the_stated_ratio(fidelity: Fidelity, execution: Execution) -> None:
    simulation, snapshots = simulated(three_stages(execution, PressureKind.UNBOUNDED, 200.0), 20.0, fidelity=fidelity)
    split, count = (simulation.world.running[target(c)] for c in ("split", "count"))
    assert count.arrived_rows == int(split.completed_rows * 2.5)
    assert conserved(snapshots)


@pytest.mark.parametrize("cv", [0.0, 1.0])
@pytest.mark.parametrize("rho", [0.3, 0.9, 1.2])
def test_counts_are_within_a_step_of_rows_on_the_same_arrivals(rho: float, cv: float) -> None:
    step_s, k, p, per_s = 0.1, 16, 4, 1000.0
    offered = Offered(lambda t_s: np.full(t_s.shape, rho * per_s * p), np.full(k, 1 / k), cv)
    arrivals = RowArrivals(offered, np.random.default_rng(1))
    assigned = np.arange(k) % p
    rows = RowQueues(Service(1 / per_s), Fleet.of(assigned), None, np.random.default_rng(2))
    counts = CountQueues(Service(1 / per_s), Fleet.of(assigned), None, step_s, np.random.default_rng(2))
    exact, coarse = [], []
    for n in range(600):
        span = Span(n * step_s, (n + 1) * step_s, n)
        came = arrivals.within(span)
        exact.append(rows.advance(came, span).latency)
        coarse.append(counts.advance(np.bincount(came.substream, minlength=k)[None], span).latency)
    one, other = merged(exact), merged(coarse)
    assert one.mean_s is not None and other.mean_s is not None
    assert abs(one.mean_s - other.mean_s) < step_s
    for q in (0.5, 0.95, 0.99):
        assert abs((one.quantile_s(q) or 0) - (other.quantile_s(q) or 0)) < step_s + 0.02 * (one.quantile_s(q) or 0)


def test_regular_rows_take_exactly_their_service_time_in_both_fidelities() -> None:
    for fidelity in (ROWS, COUNTS):
        _, snapshots = simulated(chain({"a": source(800.0, 1000.0)}), 10.0, fidelity=fidelity)
        latency = merged(s.components[target("a")].latency for s in snapshots)  # type: ignore[misc]
        assert latency.mean_s == pytest.approx(0.001)
        assert latency.max_s == pytest.approx(0.001)


def test_a_union_brings_the_rows_of_all_its_streams_in_order_of_time() -> None:
    one = Rows(np.array([1.0, 3.0]), np.array([0, 0]))
    other = Rows(np.array([2.0]), np.array([1]))
    both = joined([one, other])
    assert isinstance(both, Rows)
    assert both.arrival_s.tolist() == [1.0, 2.0, 3.0]
    assert both.substream.tolist() == [0, 1, 0]


def test_the_heaviest_substream_has_its_share() -> None:
    models = {"read": source(5000.0), "count": operator(1e5, skew=Skew(exponent=0.6))}
    for fidelity in (ROWS, COUNTS):
        _, snapshots = simulated(chain(models, {"count": KEYED}, grouping=Grouping.KEY), 20.0, fidelity=fidelity)
        arrived = np.sum([_of_count(s) for s in snapshots], axis=0)
        assert arrived / arrived.sum() == pytest.approx(Skew(exponent=0.6).weights(8), abs=0.01)


def _of_count(snapshot: Snapshot) -> np.ndarray:
    substreams = snapshot.components[target("count")].substreams
    assert substreams is not None and substreams.rows_arrived is not None
    return substreams.rows_arrived


def test_hot_substreams_move() -> None:
    models = {"read": source(1000.0), "count": operator(1e5, skew=Skew(hot={0: 0.9}, moves_every_s=5.0))}
    _, snapshots = simulated(chain(models, {"count": KEYED}, grouping=Grouping.KEY), 10.0)
    assert [int(np.argmax(_of_count(s))) for s in snapshots] == [0] * 5 + [1] * 5


def test_latency_of_each_substream_adds_up_to_that_of_all() -> None:
    model = three_stages(Execution.CONTINUOUS, PressureKind.UNBOUNDED, 100.0)
    _, snapshots = simulated(model, 10.0, fidelity=ROWS)
    for snapshot in snapshots:
        seen = snapshot.components[target("count")]
        assert seen.substreams is not None and seen.substreams.latency is not None and seen.latency is not None
        assert merged(seen.substreams.latency).sum_s == pytest.approx(seen.latency.sum_s)


_PRINT_RUN = """
from tests.simulator.test_world import fingerprint
print(fingerprint())
"""


def fingerprint() -> str:
    found = []
    for execution in Execution:
        for fidelity in Fidelity:
            simulation = Simulation(
                Scenario(6.0, (three_stages(execution, PressureKind.UNBOUNDED, 300.0),), 0.5, 1, fidelity, seed=11)
            )
            snapshots = rest_of(simulation, until_s=3.0)
            taken = simulation.apply(Change(ChangeId("c"), (Rescale(target("count"), 5),), "a test", "a test"))
            assert taken.status is Status.TAKEN
            for s in [*snapshots, *rest_of(simulation)]:
                for seen in s.components.values():
                    assert seen.latency is not None
                    found += [float(seen.latency.sum_s).hex(), str(seen.rows_pending), str(seen.oldest_pending_s)]
    return " ".join(found)


def test_a_seed_gives_the_same_bits_in_every_process() -> None:
    other = subprocess.run([sys.executable, "-c", _PRINT_RUN], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == fingerprint() == fingerprint()


def test_another_seed_gives_another_world() -> None:
    totals = set()
    for seed in range(3):
        model = three_stages(Execution.CONTINUOUS, PressureKind.UNBOUNDED, 300.0)
        simulation, _ = simulated(model, 5.0, seed=seed)
        totals.add(simulation.world.running[target("read")].arrived_rows)
    assert len(totals) == 3
