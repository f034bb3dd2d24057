"""Hours of load on a virtual clock: nothing here waits."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.workloads.clock import RealClock, VirtualClock
from penstock.workloads.content import Batch, Records
from penstock.workloads.generator import Generator, Plan, generate
from penstock.workloads.generator_log import GeneratorLog
from penstock.workloads.keys import HotKey, Uniform
from penstock.workloads.shape import Shape, burst, constant, rows_due, sawtooth, sinusoid, steps
from penstock.workloads.writer import FileWriter

START_S = 1_700_000_000.0
CONTENT = Records(HotKey(50, 0.3, 2.0), payload_bytes=8, seed=1)


class KeptWriter:
    """Keeps batches, with when each could be read; a write takes the time that `cost_s` says."""

    def __init__(self, clock: VirtualClock, cost_s: Callable[[Batch], float] = lambda _: 0.0) -> None:
        self._clock, self._cost_s = clock, cost_s
        self.batches: list[Batch] = []
        self.readable_s: list[float] = []
        self.is_ready: Callable[[], bool] = lambda: True
        self.closed = False

    def prepare(self, sample: Batch) -> None:
        assert sample.id.size == 1

    def ready(self) -> bool:
        return self.is_ready()

    def write(self, batch: Batch) -> None:
        self._clock.advance(self._cost_s(batch))
        self.batches.append(batch)
        self.readable_s.append(self._clock.now_s())

    def close(self) -> None:
        self.closed = True

    @property
    def ids(self) -> list[int]:
        return [i for batch in self.batches for i in batch.id.tolist()]

    @property
    def content(self) -> list[tuple[bytes, bytes]]:
        return [row for b in self.batches for row in zip(b.key.tolist(), b.value.tolist(), strict=True)]

    @property
    def stamps_s(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.concatenate([batch.ingress_us for batch in self.batches]) / 1e6 - START_S


def start(cost_s: Callable[[Batch], float] = lambda _: 0.0) -> tuple[VirtualClock, KeptWriter]:
    clock = VirtualClock(START_S)
    return clock, KeptWriter(clock, cost_s)


SHAPES: list[Shape] = [
    constant(700),
    burst(100, 3000, for_s=2, every_s=7),
    sinusoid(0, 1500, every_s=5),
    sawtooth(10, 900, every_s=4),
    steps([(0, 500), (3, 0), (6, 2000)]),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_asked_for_are_exactly_the_rows_written(shape: Shape) -> None:
    clock, writer = start()
    summary = generate(Plan(shape, CONTENT, rows=5003), writer, clock)
    assert writer.ids == list(range(5003))
    assert (summary.rows_written, summary.rows_due) == (5003, 5003)
    assert summary.kept_its_rate
    assert writer.closed


@pytest.mark.parametrize("shape", SHAPES)
def test_a_duration_has_the_rows_that_its_shape_makes_due(shape: Shape) -> None:
    clock, writer = start()
    summary = generate(Plan(shape, CONTENT, duration_s=13.37), writer, clock)
    assert len(writer.ids) == rows_due(shape, 13.37)
    assert summary.seconds == pytest.approx(13.37)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_generator_that_keeps_up_stamps_rows_with_when_they_were_due(shape: Shape) -> None:
    clock, writer = start(lambda _: 0.05)
    generate(Plan(shape, CONTENT, duration_s=20.0), writer, clock)
    due_s = shape.due_s(np.arange(1, len(writer.ids) + 1, dtype=np.float64))
    assert np.abs(writer.stamps_s - due_s).max() < 5e-6
    lags_s = [
        readable - batch.ingress_us[0] / 1e6 for readable, batch in zip(writer.readable_s, writer.batches, strict=True)
    ]
    assert 0 < max(lags_s) <= 0.2 + 0.05 + 1e-5


@settings(deadline=None, max_examples=40)
@given(st.floats(0.005, 3.0), st.floats(0.0, 2.0), st.sampled_from(SHAPES))
def test_rows_are_the_same_whatever_the_timing(every_s: float, cost_s: float, shape: Shape) -> None:
    (calm_clock, calm), (clock, writer) = start(), start(lambda _: cost_s)
    generate(Plan(shape, CONTENT, rows=2000), calm, calm_clock)
    Generator(Plan(shape, CONTENT, rows=2000, every_s=every_s), writer, clock, warn=lambda _: None).run()
    assert writer.content == calm.content


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0.0, 1.5), min_size=1, max_size=40), st.sampled_from(SHAPES), st.floats(0.05, 1.0))
def test_no_stamp_is_before_its_row_was_due_or_after_it_could_be_read(
    costs_s: list[float], shape: Shape, every_s: float
) -> None:
    costs = iter(costs_s)
    clock, writer = start(lambda _: next(costs, 0.0))
    Generator(Plan(shape, CONTENT, duration_s=10.0, every_s=every_s), writer, clock, warn=lambda _: None).run()
    due_s = shape.due_s(np.arange(1, len(writer.ids) + 1, dtype=np.float64))
    assert (writer.stamps_s >= due_s - 5e-6).all()
    assert (np.diff(writer.stamps_s) >= 0).all()
    for batch, readable_s in zip(writer.batches, writer.readable_s, strict=True):
        assert batch.ingress_us[-1] <= readable_s * 1e6 + 1


def cannot_keep_up() -> tuple[KeptWriter, list[str], list[dict[str, Any]]]:
    """20,000 rows a second are wanted, 5000 can be written."""
    clock, writer = start(lambda batch: batch.id.size / 5000)
    file, warnings = io.StringIO(), list[str]()
    Generator(
        Plan(constant(20_000), CONTENT, duration_s=30.0), writer, clock, GeneratorLog(file), warnings.append
    ).run()
    return writer, warnings, [json.loads(line) for line in file.getvalue().splitlines()]


def test_a_rate_that_cannot_be_kept_is_said_once() -> None:
    _, warnings, _ = cannot_keep_up()
    assert len(warnings) == 1
    assert "cannot keep its rate" in warnings[0]
    assert "\n" not in warnings[0]


def test_a_rate_that_cannot_be_kept_shows_in_the_log() -> None:
    writer, _, lines = cannot_keep_up()
    behind = [line["rows_behind"] for line in lines[:-1]]
    assert behind[:25] == sorted(behind[:25])
    assert max(behind) == lines[-1]["summary"]["rows_behind_max"] > 300_000
    assert lines[-1]["summary"]["rows_late"] > 100_000
    assert lines[-1]["summary"]["rows_due"] - lines[-1]["summary"]["rows_written"] > 300_000
    assert lines[-1]["summary"]["rows_written"] == len(writer.ids)


def test_a_rate_that_cannot_be_kept_shows_in_the_stamps() -> None:
    writer, _, _ = cannot_keep_up()
    stamps_s = writer.stamps_s
    rows = np.count_nonzero((stamps_s >= 10) & (stamps_s < 25))
    assert rows / 15 == pytest.approx(5000, rel=0.2)


def test_a_hiccup_is_caught_up_and_what_was_late_is_counted() -> None:
    hiccup = iter([0.0, 0.0, 0.0, 3.0])
    clock, writer = start(lambda _: next(hiccup, 0.01))
    warnings = list[str]()
    summary = Generator(Plan(constant(30_000), CONTENT, duration_s=20.0), writer, clock, warn=warnings.append).run()
    assert summary.rows_written == summary.rows_due == 600_000
    assert 0 < summary.rows_late < 3.2 * 30_000
    assert not summary.kept_its_rate
    assert len(warnings) == 1


def test_the_log_tells_what_was_due_and_written_at_each_second() -> None:
    clock, writer = start(lambda _: 0.03)
    file = io.StringIO()
    generate(Plan(constant(1000), CONTENT, duration_s=4.5), writer, clock, GeneratorLog(file))
    *seconds, last, end = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [line["t_s"] for line in seconds] == [START_S + k for k in (1, 2, 3, 4)]
    assert [line["rows_due"] for line in seconds] == [1000, 2000, 3000, 4000]
    assert [line["rows_written"] for line in seconds] == [800, 1800, 2800, 3800]
    assert (last["rows_due"], last["rows_written"]) == (4500, 4500)
    assert end["summary"]["rows_written"] == 4500
    handed_over = [tuple(pair) for line in (*seconds, last) for pair in line["hand_overs"]]
    totals = np.cumsum([batch.id.size for batch in writer.batches]).tolist()
    assert handed_over == list(zip([round(t, 6) for t in writer.readable_s], totals, strict=True))


def test_time_goes_on_in_the_log_where_nothing_is_due() -> None:
    clock, writer = start()
    file = io.StringIO()
    generate(Plan(steps([(0, 100), (2, 0)]), CONTENT, duration_s=10.0), writer, clock, GeneratorLog(file))
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [line["rows_written"] for line in lines[:-1]] == [80, 180] + [200] * 8
    assert writer.ids == list(range(200))


def test_the_load_begins_when_somebody_reads() -> None:
    clock, writer = start()
    writer.is_ready = lambda: clock.now_s() >= START_S + 60
    generate(Plan(constant(100), CONTENT, rows=50), writer, clock)
    assert writer.stamps_s[0] == pytest.approx(60.01, abs=0.06)


def test_rows_stay_due_while_nobody_reads() -> None:
    clock, writer = start()
    writer.is_ready = lambda: not START_S + 5 < clock.now_s() < START_S + 8
    summary = Generator(Plan(constant(100), CONTENT, duration_s=20.0), writer, clock, warn=lambda _: None).run()
    assert writer.ids == list(range(2000))
    assert summary.rows_due == 2000


def test_every_second_of_a_day_has_its_rows() -> None:
    clock, writer = start()
    generate(Plan(constant(3), CONTENT, duration_s=86_400.0, every_s=60.0), writer, clock)
    rows_of_second = np.bincount(np.floor(writer.stamps_s + 1e-4).astype(int))
    assert rows_of_second[1:86_400].tolist() == [3] * 86_399


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Plan(constant(0), CONTENT, rows=5), "5 rows will never be due"),
        (lambda: Plan(steps([(0, 10), (9, 0)]), CONTENT, rows=91), "91 rows will never be due"),
        (lambda: Plan(constant(1), CONTENT, rows=0), "at least 1 row"),
        (lambda: Plan(constant(1), CONTENT, duration_s=0.0), "a duration is longer than 0 s"),
        (lambda: Plan(constant(1), CONTENT, every_s=0.0), "every 1 ms or more"),
    ],
)
def test_plans_that_cannot_be_are_refused(make: Callable[[], Plan], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make()


def test_a_load_in_its_own_thread_ends_when_the_block_does(tmp_path: Path) -> None:
    plan = Plan(constant(1000), Records(Uniform(9)), every_s=0.01)
    with Generator(plan, FileWriter(tmp_path, "csv", "a"), RealClock()) as load:
        while len(list(tmp_path.glob("rows-*.csv"))) < 3:
            Event().wait(0.005)
    summary = load.result()
    lines = [line for path in sorted(tmp_path.iterdir()) for line in path.read_text(encoding="ascii").splitlines()]
    assert summary.rows_written == len(lines) >= 20
    assert [int(line.split(",")[0]) for line in lines] == list(range(len(lines)))


def test_what_a_load_in_its_own_thread_dies_of_is_raised(tmp_path: Path) -> None:
    writer = FileWriter(tmp_path / "rows", "csv", "a")
    (tmp_path / "rows").rmdir()
    with pytest.raises(FileNotFoundError), Generator(Plan(constant(1000), CONTENT), writer):
        pass
