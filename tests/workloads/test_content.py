"""Row i has the same key and value in every run with the same seed, in whatever portions rows are made."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.workloads.content import Content, Lines, Records, uniform, word
from penstock.workloads.keys import HotKey, Keys, Uniform, Zipf

COUNTS = st.integers(2, 500)
KEYS: st.SearchStrategy[Keys] = st.one_of(
    st.builds(Uniform, COUNTS),
    st.builds(Zipf, COUNTS, st.floats(0, 3)),
    st.builds(HotKey, COUNTS, st.floats(0, 1), st.floats(0.1, 100)),
)
CONTENT: st.SearchStrategy[Content] = st.one_of(
    st.builds(Records, KEYS, st.integers(1, 200), st.integers(-5, 2**64)),
    st.builds(Lines, KEYS, st.integers(1, 12), st.integers(0, 5)),
)
IDS = np.arange(20_000)


def rows(content: Content, first: int, last: int) -> list[tuple[bytes, bytes]]:
    ids = np.arange(first, last)
    keys, values = content.make(ids, ids.astype(np.float64) / 100)
    return list(zip(keys.tolist(), values.tolist(), strict=True))


@given(CONTENT, st.integers(0, 10**12), st.integers(1, 60), st.data())
@settings(deadline=None)
def test_rows_are_the_same_in_any_portions(content: Content, first: int, count: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(first, first + count))
    assert rows(content, first, cut) + rows(content, cut, first + count) == rows(content, first, first + count)


@given(KEYS, st.lists(st.floats(0, 1, exclude_max=True), min_size=1), st.floats(0, 1e6))
@settings(deadline=None)
def test_keys_are_below_their_count(keys: Keys, drawn: list[float], due_s: float) -> None:
    numbers = keys.draw(np.array(drawn), np.full(len(drawn), due_s))
    assert numbers.min() >= 0
    assert numbers.max() < keys.count


def test_another_seed_gives_other_rows() -> None:
    assert rows(Records(Uniform(1000), seed=1), 0, 50) != rows(Records(Uniform(1000), seed=2), 0, 50)


@given(st.integers(1, 300), st.integers(0, 10))
@settings(deadline=None)
def test_payloads_have_the_size_that_was_asked_for(payload_bytes: int, seed: int) -> None:
    for _, value in rows(Records(Uniform(9), payload_bytes, seed), 0, 20):
        assert len(value) == payload_bytes
        assert value.isalnum()


def test_lines_have_the_words_that_were_asked_for() -> None:
    vocabulary = {word(i) for i in range(50)}
    for key, line in rows(Lines(Zipf(50, 1.0), words_per_line=7), 0, 100):
        words = line.decode().split(" ")
        assert (key, len(words)) == (b"", 7)
        assert set(words) <= vocabulary


def test_words_differ() -> None:
    assert len({word(i) for i in range(100_000)}) == 100_000


def test_numbers_are_uniform_and_series_apart() -> None:
    one, other = uniform(3, "key", IDS), uniform(3, "payload", IDS)
    counts = np.bincount((one * 20).astype(int), minlength=20)
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # chi-square with 19 degrees of freedom: 1 in 10,000 is above 50
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 0.03


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.5])
def test_zipf_keys_have_the_shares_of_the_law(exponent: float) -> None:
    keys = Zipf(50, exponent)
    seen = np.bincount(keys.draw(uniform(1, "key", IDS), np.zeros(IDS.size)), minlength=50) / IDS.size
    assert np.abs(seen - keys.shares).max() < 0.012  # three deviations of a share of a half, from 20,000 rows
    assert keys.shares[0] / keys.shares[9] == pytest.approx(10**exponent)


def test_the_hot_key_has_its_share_and_moves() -> None:
    keys = HotKey(count=20, hot_share=0.5, move_s=50.0)
    due_s = IDS / 100  # 200 s: four spans of 5000 rows
    drawn = keys.draw(uniform(1, "key", IDS), due_s)
    hot = []
    for span in np.split(drawn, 4):
        (key, rows_of_it), *others = Counter(span.tolist()).most_common()
        assert rows_of_it / span.size == pytest.approx(0.5, abs=0.03)
        assert len(others) == 19
        assert max(n for _, n in others) / span.size < 0.05
        hot.append(key)
    assert len(set(hot)) == 4
    assert hot == keys.hot_at(np.array([0.0, 50.0, 100.0, 150.0])).tolist()


@given(COUNTS)
@settings(deadline=None)
def test_every_key_has_its_turn_to_be_hot(count: int) -> None:
    moves = HotKey(count, 0.5, 1.0).hot_at(np.arange(0.5, count))
    assert sorted(moves.tolist()) == list(range(count))


def test_all_rows_hot_is_a_share_of_1() -> None:
    assert set(HotKey(5, 1.0, 10.0).draw(uniform(0, "key", IDS), np.zeros(IDS.size)).tolist()) == {0}


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidInput, match="a payload has 1 to"):
        Records(Uniform(1), payload_bytes=0)
    with pytest.raises(InvalidInput, match="a line has 1 to"):
        Lines(Uniform(1), words_per_line=0)
