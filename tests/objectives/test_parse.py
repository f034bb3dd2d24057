import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.objectives.objective import Juice, Latency, Objective, Throughput
from penstock.objectives.parse import parse_objective, text_of
from tests.strategies import objectives

UNDERSTOOD: dict[str, Objective] = {
    "mean latency < 2s": Latency(2.0),
    "p95 latency < 2s over 1s per substream": Latency(2.0, 0.95, 1.0, True),
    "max latency < 5s": Latency(5.0, 1.0),
    "p100 latency < 5s": Latency(5.0, 1.0),
    "p99.9 latency<1500 ms over 1min": Latency(1.5, 0.999, 60.0),
    "  mean   latency <0.5h ": Latency(1800.0),
    "throughput >= 4M rows/min": Throughput(4e6 / 60),
    "throughput >= 100k rows/s": Throughput(1e5),
    "throughput >= 1.5Grows/h": Throughput(1.5e9 / 3600),
    "juice >= 0.99": Juice(0.99),
    "juice >= 1": Juice(1.0),
}

REFUSED = {
    "": "it ends where an objective such as 'p95 latency < 2s' belongs",
    "latency < 2s": "did you mean 'mean latency', 'p95 latency' or 'max latency'?",
    "p95 latnecy < 2s": "'latnecy' stands where 'latency' belongs",
    "thruput >= 1 rows/s": "did you mean 'throughput'?",
    "mean latency <= 2s": "'<=' stands where '<' belongs",
    "mean latency <": "'nothing' stands where a quantity such as '2s' belongs",
    "mean latency < soon": "'soon' stands where a quantity such as '2s' belongs",
    "mean latency < 2": "'2' has no unit that is known here: write it as in '2s'",
    "mean latency < 2mins": "did you mean 'min'?",
    "mean latency < 0s": "'0s' is not above 0",
    "mean latency < 1e400s": "too large to mean anything",
    "mean latency < 1e9999999s": "too large to mean anything",
    "p0 latency < 1s": "'p0' is not a percentile",
    "p101 latency < 1s": "'p101' is not a percentile",
    "p95 latency < 2s per": "it ends where 'substream' belongs",
    "p95 latency < 2s per partition": "'partition' stands where 'substream' belongs",
    "p95 latency < 2s over 1s ovr": "no unit",
    "p95 latency < 2s per substream over 1s": "'over 1s' is too much",
    "throughput > 4M rows/min": "'>' stands where '>=' belongs",
    "throughput >= 4M row/min": "did you mean 'Mrows/min'?",
    "throughput >= 4M rows/min per substream": "'per substream' is too much",
    "juice >= most": "'most' stands where a share such as 0.99 belongs",
    "juice >= 99": "did you mean 0.99?",
    "juice >= 99%": "did you mean 0.99?",
    "juice >= 0": "write one such as 0.99",
    "juice >= 0.9 per substream": "'per substream' is too much",
}


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_objective_is_understood(text: str) -> None:
    assert parse_objective(text) == UNDERSTOOD[text]


@pytest.mark.parametrize("text", REFUSED)
def test_objective_is_refused_with_one_clear_sentence(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_objective(text)
    assert len(refused.value.problems) == 1
    assert repr(text) in str(refused.value)
    assert REFUSED[text] in str(refused.value)


@given(objectives())
def test_text_is_read_back_as_the_same_objective(objective: Objective) -> None:
    assert parse_objective(text_of(objective)) == objective


@pytest.mark.parametrize("text", ["mean latency < 2s", "p95 latency < 25ms over 10s per substream", "juice >= 0.99"])
def test_what_a_person_types_stays_as_it_is(text: str) -> None:
    assert text_of(parse_objective(text)) == text


@given(st.text(alphabet="pmeanlatcy<>=0123456789. skMGrows/in", max_size=40))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        objective = parse_objective(text)
    except InvalidInput as error:
        assert error.problems
    else:
        assert math.isfinite(getattr(objective, "limit_s", 1.0))
