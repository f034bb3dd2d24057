"""The commands, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from penstock.allocate.registry import ALGORITHMS
from penstock.cli import scale_out
from tests.allocate.topologies import EXAMPLES

KEYS = [
    "algorithm",
    "allocation",
    "safe_allocation",
    "unspent",
    "throughput_before",
    "throughput",
    "throughput_increase",
    "upper_bound",
    "gap",
    "per_component",
    "why",
]


def last_line(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert scale_out.main(words) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def file(name: str) -> str:
    return str(EXAMPLES / f"{name}.json")


def test_the_command_offers_every_algorithm() -> None:
    assert list(scale_out.ALGORITHMS) == list(ALGORITHMS)
    assert set(scale_out.COMPARED) <= set(ALGORITHMS)


@pytest.mark.parametrize("algorithm", scale_out.ALGORITHMS)
def test_the_last_line_has_all_keys(capsys: pytest.CaptureFixture[str], algorithm: str) -> None:
    words = ("scale-out", file("topology_17"), "--resources", "3", "--algorithm", algorithm, "--json")
    found = last_line(capsys, *words)
    assert list(found) == KEYS
    assert found["algorithm"] == algorithm
    assert found["throughput_increase"] == pytest.approx(found["throughput"] - found["throughput_before"])
    assert (found["safe_allocation"] is None) == (algorithm in ("stela", "exact", "greedy-bound"))
    assert found["upper_bound"] >= found["throughput"]
    assert 0 <= found["gap"] < 0.2
    assert found["per_component"]["1"]["input_rate"] is None
    assert found["per_component"]["4"]["dropped_rate"] == pytest.approx(found["per_component"]["4"]["input_rate"] - 400)


def test_the_loss_is_named_after_the_semantics(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("scale-out", file("diamond"), "--resources", "1", "--json", "--semantics")
    assert last_line(capsys, *words, "backlog")["per_component"]["2"]["backlog_growth"] == pytest.approx(100)
    throttled = last_line(capsys, *words, "throttle")
    assert throttled["throughput"] == pytest.approx(800)
    assert throttled["per_component"]["2"]["dropped_rate"] == 0


def test_sources_margin_and_tolerance_reach_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("scale-out", file("linear"), "--resources", "4", "--algorithm", "stela", "--json")
    assert last_line(capsys, *words, "--sources")["allocation"] == {"1": 1, "2": 1, "3": 2}
    assert last_line(capsys, *words, "--tolerance", "0.99")["unspent"] == 4
    assert last_line(capsys, *words, "--margin", "0.5")["allocation"] == {"2": 1, "3": 3}


def test_text_says_what_goes_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert scale_out.main(("scale-out", file("diamond"), "--resources", "2", "--algorithm", "predictive")) == 0
    out = capsys.readouterr().out
    assert "allocation       {3: 2}" in out
    assert "safe allocation  {3: 2}" in out
    assert "600 -> 900 rows/s" in out
    assert "still congested  2 (100 rows/s too many)" in out


def test_compare_prints_a_table_and_draws_a_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "increase.svg"
    words = ("scale-out", file("topology_17"), "--resources", "3", "--compare", "--plot", str(picture), "--json")
    assert scale_out.main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["units", *scale_out.COMPARED, "at", "most"]
    row = dict(zip(lines[0].removesuffix(" most").split(), map(float, lines[3].split()), strict=True))
    assert (row["units"], row["stela"], row["combined"], row["exact"], row["at"]) == (3, 200, 1000, 1040, 1040)
    assert json.loads(lines[-1])["throughput_increase"] == pytest.approx(1040)
    assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_scale_in_says_which_units_go(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("scale-in", file("over_provisioned"), "--resources", "2")
    for algorithm in scale_out.RELEASES:
        found = last_line(capsys, *words, "--algorithm", algorithm, "--json")
        assert found["removal"] == {"3": 2}
        assert found["throughput_decrease"] == 0
    assert scale_out.main(words) == 0
    assert "remove {3: 2}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("scale-out", file("linear"), "--resources", "-1"), "--resources is -1, it is at least 0"),
        (("scale-out", file("linear"), "--resources", "1", "--margin", "1"), "--margin is 1, it is at least 0"),
        (("scale-out", "no.json", "--resources", "1"), "no.json cannot be read: No such file"),
        (("scale-out", __file__, "--resources", "1"), "is not JSON"),
        (("scale-in", file("linear"), "--resources", "1"), "1 units cannot go"),
    ],
)
def test_what_cannot_be_is_said_and_exits_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert scale_out.main(words) == 2
    assert sentence in capsys.readouterr().err


def test_unknown_keys_are_named_on_standard_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = json.loads(Path(file("linear")).read_text())
    named = tmp_path / "named.json"
    named.write_text(json.dumps({**document, "made_by": "hand"}))
    assert scale_out.main(("scale-out", str(named), "--resources", "1", "--json")) == 0
    assert "notice: the key 'made_by' is not known and was ignored" in capsys.readouterr().err
