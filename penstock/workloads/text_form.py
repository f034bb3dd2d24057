"""Shapes and keys as a person types them. An error is one sentence: what was wrong, and what was probably meant."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Generic, TypeVar

from penstock.errors import InvalidInput
from penstock.workloads.keys import HotKey, Keys, Uniform, Zipf
from penstock.workloads.shape import Shape, burst, constant, reverse_sawtooth, sawtooth, sinusoid, steps

T = TypeVar("T")

_NUMBER = r"-?(?:\d[\d_]*(?:\.\d+)?|\.\d+)"
_RATE = rf"({_NUMBER}[kM]?)(?:\s*(?:rows)?/s)?"
_TIME = rf"({_NUMBER}\s*(?:ms|s|min|m|h)?)"
_COUNT = r"(\d[\d_]*[kM]?)"
_VALUE = rf"{_NUMBER}(?:[A-Za-z]+|%)?"
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_MULTIPLE = {"k": 1e3, "M": 1e6}


@dataclass(frozen=True, slots=True)
class _Form(Generic[T]):
    """`template` has a `{}` for each value; what was typed goes into it, to say what was probably meant."""

    pattern: str
    template: str
    example: tuple[str, ...]
    make: Callable[..., T]

    def probably(self, text: str) -> str:
        typed = re.findall(_VALUE, re.sub(r"\.\.|(?<=\w)-(?=\d)", " ", text))
        return self.template.format(*(typed if len(typed) == len(self.example) else self.example))


def parse_shape(text: str) -> Shape:
    """
    >>> parse_shape("steps 1000@0 4k@1min").rows(61.0).item()
    64000.0
    >>> parse_shape("burst 1000 8000 5s 60s")
    Traceback (most recent call last):
    ...
    penstock.errors.InvalidInput: shape `burst 1000 8000 5s 60s`: did you mean `burst 1000 to 8000 for 5s every 60s`?
    """
    return _parse("shape", text, _SHAPES)


def parse_keys(text: str) -> Keys:
    """
    >>> parse_keys("hot 50% over 1000 every 30s")
    HotKey(count=1000, hot_share=0.5, move_s=30.0)
    >>> parse_keys("ziff 1.1 over 1000")
    Traceback (most recent call last):
    ...
    penstock.errors.InvalidInput: keys `ziff 1.1 over 1000`: there is no `ziff`: did you mean `zipf 1.1 over 1000`?
    """
    return _parse("keys", text, _KEYS)


def parse_rate(text: str) -> float:
    """
    >>> parse_rate("1.5k"), parse_rate("1_000 rows/s")
    (1500.0, 1000.0)
    """
    match = re.fullmatch(_RATE, text.strip())
    if not match:
        raise InvalidInput(f"`{text}` is not a rate: rows per second are written 1000, 2.5k or 1M")
    return _number(match[1])


def parse_duration_s(text: str) -> float:
    """
    >>> parse_duration_s("90"), parse_duration_s("1.5 min"), parse_duration_s("200ms")
    (90.0, 90.0, 0.2)
    """
    match = re.fullmatch(_TIME, text.strip())
    if not match:
        raise InvalidInput(f"`{text}` is not a time: write 90, 90s, 1.5min, 2h or 200ms")
    return _seconds(match[1])


def _parse(what: str, text: str, forms: Mapping[str, _Form[T]]) -> T:
    typed = re.sub(r"^reverse\s+", "reverse ", text.strip())
    for name, form in forms.items():
        if typed.split(maxsplit=name.count(" ") + 1)[: name.count(" ") + 1] == name.split():
            return _parse_form(f"{what} `{text}`", typed, form)
    raise InvalidInput(f"{what} `{text}`: {_unknown(typed, forms)}")


def _parse_form(where: str, typed: str, form: _Form[T]) -> T:
    match = re.fullmatch(form.pattern, typed)
    if not match:
        raise InvalidInput(f"{where}: did you mean `{form.probably(typed)}`?")
    try:
        return form.make(*match.groups())
    except InvalidInput as problem:
        raise InvalidInput(f"{where}: {problem}") from None


def _unknown(typed: str, forms: Mapping[str, _Form[T]]) -> str:
    first = next(iter(forms.values()))
    if re.match(_NUMBER, typed):
        return f"a number alone does not say how: did you mean `{first.probably(typed)}`?"
    name = " ".join(re.findall(r"^[A-Za-z\s-]*[A-Za-z]", typed)) or typed
    close = get_close_matches(name.split(" every")[0].lower(), forms, n=1, cutoff=0.5)
    if close:
        return f"there is no `{name}`: did you mean `{forms[close[0]].probably(typed)}`?"
    known = ", ".join(f"`{form.probably('')}`" for form in forms.values())
    return f"there is no `{name}`: write one of {known}"


def _number(text: str) -> float:
    return float(text.rstrip("kM").replace("_", "")) * _MULTIPLE.get(text[-1], 1)


def _count(text: str) -> int:
    return round(_number(text))


def _share(text: str) -> float:
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _seconds(text: str) -> float:
    match = re.fullmatch(rf"({_NUMBER})\s*([a-z]*)", text)
    assert match
    return float(match[1].replace("_", "")) * _SECONDS[match[2] or "s"]


def _steps(text: str) -> Shape:
    return steps([_step(word) for word in text.split()])


def _step(word: str) -> tuple[float, float]:
    match = re.fullmatch(rf"{_RATE}@{_TIME}", word)
    if not match:
        raise InvalidInput(f"`{word}` is not a rate at a time, like `4000@60`")
    return _seconds(match[2]), _number(match[1])


def _trace(path: str) -> Shape:
    """A CSV file with the header `t_s,rows_per_s`; each rate holds until the next line's time, the last for ever."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            return steps([_trace_point(path, i, row) for i, row in _trace_rows(path, csv.reader(file))])
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the trace file: {error}") from None


def _trace_rows(path: str, lines: Iterable[list[str]]) -> Iterable[tuple[int, list[str]]]:
    for i, row in enumerate(lines, start=1):
        if i == 1 and [cell.strip() for cell in row] != ["t_s", "rows_per_s"]:
            raise InvalidInput(f"{path}, line 1: the header must be `t_s,rows_per_s`, not `{','.join(row)}`")
        if i > 1 and row:
            yield i, row


def _trace_point(path: str, line: int, row: list[str]) -> tuple[float, float]:
    try:
        t_s, rows_per_s = row
        return float(t_s), float(rows_per_s)
    except ValueError:
        raise InvalidInput(f"{path}, line {line}: `{','.join(row)}` is not two numbers, like `60,4000`") from None


def _ranged(name: str, make: Callable[[float, float, float], Shape]) -> _Form[Shape]:
    return _Form(
        rf"{name}\s+{_RATE}\s*\.\.\s*{_RATE}\s+every\s+{_TIME}",
        f"{name} {{}}..{{}} every {{}}",
        ("1000", "4000", "60s"),
        lambda low, high, every: make(_number(low), _number(high), _seconds(every)),
    )


_SHAPES: dict[str, _Form[Shape]] = {
    "constant": _Form(rf"constant\s+{_RATE}", "constant {}", ("1000",), lambda rate: constant(_number(rate))),
    "burst": _Form(
        rf"burst\s+{_RATE}\s+to\s+{_RATE}\s+for\s+{_TIME}\s+every\s+{_TIME}",
        "burst {} to {} for {} every {}",
        ("1000", "8000", "5s", "60s"),
        lambda low, high, length, every: burst(_number(low), _number(high), _seconds(length), _seconds(every)),
    ),
    "sinusoid": _ranged("sinusoid", sinusoid),
    "sawtooth": _ranged("sawtooth", sawtooth),
    "reverse sawtooth": _ranged("reverse sawtooth", reverse_sawtooth),
    "steps": _Form(r"steps\s+(.+)", "steps {}@{} {}@{}", ("1000", "0", "4000", "60"), _steps),
    "trace": _Form(r"trace\s+(.+)", "trace load.csv", (), _trace),
}

_KEYS: dict[str, _Form[Keys]] = {
    "uniform": _Form(rf"uniform\s+over\s+{_COUNT}", "uniform over {}", ("1000",), lambda n: Uniform(_count(n))),
    "zipf": _Form(
        rf"zipf\s+({_NUMBER})\s+over\s+{_COUNT}",
        "zipf {} over {}",
        ("1.1", "1000"),
        lambda exponent, n: Zipf(_count(n), float(exponent)),
    ),
    "hot": _Form(
        rf"hot\s+({_NUMBER}%?)\s+over\s+{_COUNT}\s+every\s+{_TIME}",
        "hot {} over {} every {}",
        ("0.5", "1000", "30s"),
        lambda share, n, every: HotKey(_count(n), _share(share), _seconds(every)),
    ),
}
