"""E11: DRS's M/M/k, by Erlang C."""

from __future__ import annotations

import pytest

from penstock.models.erlang import least_servers, sojourn_s, waiting_probability


@pytest.mark.parametrize(
    ("service", "servers", "expected_s"),
    [(100, 5, 0.02525), (100, 6, 0.01281), (80, 6, 0.04028), (80, 7, 0.01699), (80, 8, 0.01395)],
)
def test_sojourn(service: float, servers: int, expected_s: float) -> None:
    assert sojourn_s(450, service, servers) == pytest.approx(expected_s, abs=1e-5)


def test_too_few_servers_have_no_steady_state() -> None:
    assert sojourn_s(450, 80, 5) is None
    assert sojourn_s(500, 100, 5) is None


@pytest.mark.parametrize(("service", "least"), [(100, (5, 6, 6)), (80, (6, 7, 8))])
def test_least_servers(service: float, least: tuple[int, int, int]) -> None:
    assert tuple(least_servers(450, service, limit_s) for limit_s in (1, 0.02, 0.015)) == least


def test_no_number_of_servers_is_faster_than_one_row() -> None:
    assert least_servers(450, 100, 0.01) is None
    assert least_servers(450, 0, 1) is None


def test_one_server_is_a_queue_of_its_own() -> None:
    assert sojourn_s(50, 100, 1) == pytest.approx(1 / (100 - 50))
    assert waiting_probability(1, 0.9) == pytest.approx(0.9)


def test_a_thousand_servers_neither_overflow_nor_cancel() -> None:
    assert 0 < waiting_probability(1000, 950) < 0.2
