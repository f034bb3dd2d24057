from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.workloads.keys import HotKey, Uniform, Zipf
from penstock.workloads.shape import burst, constant, reverse_sawtooth, sawtooth, sinusoid, steps
from penstock.workloads.text_form import parse_duration_s, parse_keys, parse_rate, parse_shape


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("constant 1000", constant(1000)),
        ("  constant   1_000 rows/s ", constant(1000)),
        ("constant 2.5k/s", constant(2500)),
        ("burst 1000 to 8000 for 5s every 60s", burst(1000, 8000, 5, 60)),
        ("burst 1k to 8k for 500ms every 1min", burst(1000, 8000, 0.5, 60)),
        ("sinusoid 1000..4000 every 60s", sinusoid(1000, 4000, 60)),
        ("sinusoid 1k .. 4k every 1 h", sinusoid(1000, 4000, 3600)),
        ("sawtooth 0..5000 every 30s", sawtooth(0, 5000, 30)),
        ("reverse sawtooth 0..5000 every 30s", reverse_sawtooth(0, 5000, 30)),
        ("steps 1000@0 4000@60 1000@2min", steps([(0, 1000), (60, 4000), (120, 1000)])),
    ],
)
def test_a_shape_is_read_as_a_person_types_it(text: str, shape: object) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "there is no ``: write one of `constant 1000`, `burst"),
        ("1000", "a number alone does not say how: did you mean `constant 1000`?"),
        ("constnat 500", "there is no `constnat`: did you mean `constant 500`?"),
        ("sinus 1..4 every 60s", "did you mean `sinusoid 1..4 every 60s`?"),
        ("Burst 1 to 8 for 5s every 60s", "did you mean `burst 1 to 8 for 5s every 60s`?"),
        ("burst 1000 8000 5s 60s", "did you mean `burst 1000 to 8000 for 5s every 60s`?"),
        ("sinusoid 1k-4k 60", "did you mean `sinusoid 1k..4k every 60`?"),
        ("sinusoid 4000..1000 every 60s", "did you mean 1000..4000?"),
        ("constant fast", "did you mean `constant 1000`?"),
        ("constant -5", "did you mean 5?"),
        ("steps 1000@0 4000", "`4000` is not a rate at a time, like `4000@60`"),
        ("steps", "did you mean `steps 1000@0 4000@60`?"),
        ("reverse-sawtooth 0..5 every 3s", "did you mean `reverse sawtooth 0..5 every 3s`?"),
        ("trace nowhere.csv", "cannot read the trace file"),
    ],
)
def test_what_is_wrong_with_a_shape_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_shape(text)
    assert str(refused.value).startswith(f"shape `{text}`: ")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_trace_holds_each_rate_until_the_next_line(tmp_path: Path) -> None:
    path = tmp_path / "my load.csv"
    path.write_text("t_s,rows_per_s\n0,1000\n60,4000\n\n120,0\n", encoding="utf-8")
    assert parse_shape(f"trace {path}") == steps([(0, 1000), (60, 4000), (120, 0)])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,rate\n0,1\n", "line 1: the header must be `t_s,rows_per_s`, not `time,rate`"),
        ("t_s,rows_per_s\n0,1\n5,fast\n", "line 3: `5,fast` is not two numbers, like `60,4000`"),
        ("t_s,rows_per_s\n0,1,2\n", "line 2: `0,1,2` is not two numbers"),
        ("t_s,rows_per_s\n", "must hold from second 0 on"),
        ("t_s,rows_per_s\n0,1\n9,1\n3,1\n", "3 comes after 9"),
        ("t_s,rows_per_s\n0,nan\n", "a rate is 0 rows/s or more"),
    ],
)
def test_what_is_wrong_with_a_trace_names_the_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "load.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        parse_shape(f"trace {path}")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("uniform over 1000", Uniform(1000)),
        ("uniform over 1M", Uniform(1_000_000)),
        ("zipf 1.1 over 1000", Zipf(1000, 1.1)),
        ("hot 0.5 over 1000 every 30s", HotKey(1000, 0.5, 30)),
        ("hot 25% over 1k every 2min", HotKey(1000, 0.25, 120)),
    ],
)
def test_keys_are_read_as_a_person_types_them(text: str, keys: object) -> None:
    assert parse_keys(text) == keys


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1000", "did you mean `uniform over 1000`?"),
        ("uniform 1000", "did you mean `uniform over 1000`?"),
        ("zipf 1.1 1000", "did you mean `zipf 1.1 over 1000`?"),
        ("zipf -1 over 10", "a Zipf exponent is 0 or more"),
        ("hot 0.5 of 1000 keys every 30s", "did you mean `hot 0.5 over 1000 every 30s`?"),
        ("hot 5 over 1000 every 30s", "share is between 0 and 1"),
        ("hot 0.5 over 1 every 30s", "at least 2 keys"),
        ("uniform over 0", "there are 1 to 10000000 keys"),
        ("random", "write one of `uniform over 1000`, `zipf 1.1 over 1000`"),
    ],
)
def test_what_is_wrong_with_keys_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_keys(text)
    assert str(refused.value).startswith(f"keys `{text}`: ")
    assert sentence in str(refused.value)


def test_rates_and_times_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidInput, match="`fast` is not a rate"):
        parse_rate("fast")
    with pytest.raises(InvalidInput, match="`soon` is not a time"):
        parse_duration_s("soon")
