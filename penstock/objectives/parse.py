"""Objectives as a person types them, and back.

mean latency < 2s                              p95 latency < 2s over 1s per substream
max latency < 5s                               throughput >= 4M rows/min
juice >= 0.99
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from penstock.errors import InvalidInput
from penstock.objectives.objective import DEFAULT_WINDOW_S, Juice, Latency, Objective, Throughput
from penstock.reading import probably_meant

_SECONDS = {"s": Decimal(1), "ms": Decimal("0.001"), "min": Decimal(60), "h": Decimal(3600)}
_SCALES = {"": Decimal(1), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9)}
_ROWS_PER_S = {
    f"{scale}rows/{unit}": factor / _SECONDS[unit] for unit in ("s", "min", "h") for scale, factor in _SCALES.items()
}
_WORD = re.compile(r"[<>]=?|=+|[^\s<>=]+")
_QUANTITY = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*(.*)")
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
_SUBJECTS = ("mean", "max", "p95", "throughput", "juice")


def parse_objective(text: str) -> Objective:
    """
    >>> parse_objective("p95 latency < 500ms per substream")
    Latency(limit_s=0.5, quantile=0.95, window_s=1.0, per_substream=True)
    >>> parse_objective("throughput >= 4M rows/min")
    Throughput(at_least_rows_per_s=66666.66666666667)
    >>> parse_objective("mean latncy < 2s")
    Traceback (most recent call last):
    ...
    penstock.errors.InvalidInput: objective 'mean latncy < 2s': 'latncy' stands where 'latency' belongs
    """
    words = _Words(text, _WORD.findall(text))
    subject = words.take("an objective such as 'p95 latency < 2s'")
    if subject == "throughput":
        return _throughput(words)
    if subject == "juice":
        return _juice(words)
    return _latency(words, _quantile(words, subject))


def text_of(objective: Objective) -> str:
    """The shortest text that is read back as the same objective.

    >>> text_of(Latency(600.0, quantile=0.999, window_s=0.025))
    'p99.9 latency < 600s over 25ms'
    >>> text_of(Throughput(4e6 / 60))
    'throughput >= 4M rows/min'
    """
    match objective:
        case Throughput(at_least_rows_per_s=rate):
            return f"throughput >= {_shortest(rate, _ROWS_PER_S).replace('rows', ' rows')}"
        case Juice(at_least_share=share):
            return f"juice >= {share!r}"
        case _:
            return _text_of_latency(objective)


def _text_of_latency(latency: Latency) -> str:
    over = "" if latency.window_s == DEFAULT_WINDOW_S else f" over {_shortest(latency.window_s, _SECONDS)}"
    per = " per substream" if latency.per_substream else ""
    return f"{_statistic(latency.quantile)} latency < {_shortest(latency.limit_s, _SECONDS)}{over}{per}"


@dataclass(slots=True)
class _Words:
    text: str
    left: list[str]

    def wrong(self, what: str) -> NoReturn:
        raise InvalidInput(f"objective {self.text!r}: {what}")

    def take(self, wanted: str) -> str:
        return self.left.pop(0) if self.left else self.wrong(f"it ends where {wanted} belongs")

    def expect(self, word: str) -> None:
        if (found := self.take(repr(word))) != word:
            self.wrong(f"{found!r} stands where {word!r} belongs")

    def has(self, word: str) -> bool:
        found = self.left[:1] == [word]
        del self.left[:found]
        return found

    def quantity(self, units: Mapping[str, Decimal], example: str) -> float:
        """Everything up to `over`, `per` or the end: a number and its unit, with or without blanks."""
        stop = next((i for i, word in enumerate(self.left) if word in ("over", "per")), len(self.left))
        words, self.left = self.left[:stop], self.left[stop:]
        found = _QUANTITY.fullmatch("".join(words))
        if not found:
            self.wrong(f"{' '.join(words) or 'nothing'!r} stands where a quantity such as {example!r} belongs")
        if found[2] not in units:
            meant = probably_meant(found[2], units)
            hint = meant if meant.startswith("did") else f"write it as in {example!r}"
            self.wrong(f"{' '.join(words)!r} has no unit that is known here: {hint}")
        value = _product(found[1], units[found[2]])
        if not 0 < value < math.inf:
            self.wrong(f"{' '.join(words)!r} is not above 0, or too large to mean anything")
        return value

    def end(self, *could_follow: str) -> None:
        if self.left:
            hint = probably_meant(self.left[0], could_follow) if could_follow else "it is complete without"
            self.wrong(f"{' '.join(self.left)!r} is too much: {hint}")


def _throughput(words: _Words) -> Throughput:
    words.expect(">=")
    rate = words.quantity(_ROWS_PER_S, "4M rows/min")
    words.end()
    return Throughput(rate)


def _juice(words: _Words) -> Juice:
    words.expect(">=")
    given = words.take("a share such as 0.99")
    try:
        share = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
    except ValueError:
        words.wrong(f"{given!r} stands where a share such as 0.99 belongs")
    if given.endswith("%") or not 0 < share <= 1:
        meant = share if share <= 1 else share / 100
        words.wrong(f"{given!r} is not a share above 0 and up to 1: " + _maybe_meant(meant))
    words.end()
    return Juice(share)


def _maybe_meant(share: float) -> str:
    return f"did you mean {share:g}?" if 0 < share <= 1 else "write one such as 0.99"


def _quantile(words: _Words, subject: str) -> float | None:
    if subject in ("mean", "max"):
        return None if subject == "mean" else 1.0
    found = _PERCENTILE.fullmatch(subject)
    if subject == "latency":
        words.wrong("it does not say which latency: did you mean 'mean latency', 'p95 latency' or 'max latency'?")
    if not found:
        words.wrong(f"it begins with {subject!r}: {probably_meant(subject, _SUBJECTS)}")
    quantile = float(Decimal(found[1]) / 100)
    if not 0 < quantile <= 1:
        words.wrong(f"{subject!r} is not a percentile above p0 and up to p100: did you mean 'p95'?")
    return quantile


def _latency(words: _Words, quantile: float | None) -> Latency:
    words.expect("latency")
    words.expect("<")
    limit_s = words.quantity(_SECONDS, "2s")
    window_s = words.quantity(_SECONDS, "1s") if words.has("over") else DEFAULT_WINDOW_S
    per_substream = words.has("per")
    if per_substream:
        words.expect("substream")
    words.end("over", "per substream")
    return Latency(limit_s, quantile, window_s, per_substream)


def _statistic(quantile: float | None) -> str:
    if quantile is None:
        return "mean"
    return "max" if quantile == 1.0 else f"p{_plain(Decimal(repr(quantile)) * 100)}"


def _plain(number: Decimal) -> str:
    digits = f"{number:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _shortest(value: float, units: Mapping[str, Decimal]) -> str:
    """Of all ways to write a value in some unit that are read back exactly; in the first unit there is always one."""
    exact = Decimal(repr(value))
    ways = [f"{float(exact / factor):.15g}{unit}" for unit, factor in units.items()]
    right = [way for way in ways if _read(way, units) == value]
    return min([*right, f"{value!r}{next(u for u, f in units.items() if f == 1)}"], key=len)


def _read(text: str, units: Mapping[str, Decimal]) -> float | None:
    found = _QUANTITY.fullmatch(text)
    return _product(found[1], units[found[2]]) if found else None


def _product(number: str, factor: Decimal) -> float:
    """In decimals, so that 0.1ms is the float next to 0.0001, and what is written is what is read back."""
    try:
        return float(Decimal(number) * factor)
    except ArithmeticError:
        return math.inf
