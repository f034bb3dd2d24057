"""What people write in files, read with care: every problem is kept, with its place and what was probably meant.

written   a value as somebody wrote it, at a trail of keys from the root of its file
where     tells the place of a trail as a person would name it: "topology.yaml:12"
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

Trail = tuple[str | int, ...]
Where = Callable[[Trail], str]


def probably_meant(word: object, known: Iterable[str]) -> str:
    """The end of a sentence about a word that nobody knows.

    >>> probably_meant("paralelism", ["parallelism", "inputs"])
    "did you mean 'parallelism'?"
    >>> probably_meant("x", ["parallelism", "inputs"])
    'known are inputs, parallelism'
    """
    by_lower = {k.lower(): k for k in known}
    lower = str(word).lower()
    begun = [k for k in by_lower if len(lower) > 2 and k.startswith(lower)]
    if close := difflib.get_close_matches(lower, by_lower, n=1) or begun:
        return f"did you mean {by_lower[close[0]]!r}?"
    return f"known are {', '.join(sorted(by_lower.values()))}" if by_lower else "there are none"


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A reader asks for what it expects; what is not so becomes a problem, and the answer is None or empty.

    >>> root = Written({"parallelism": "two", "imputs": []}, lambda trail: "topology.yaml:3")
    >>> fields = root.fields(known=("parallelism", "inputs"))
    >>> fields["parallelism"].whole()
    >>> print(*root.problems, sep="\\n")
    topology.yaml:3: nothing is called 'imputs' here: did you mean 'inputs'?
    topology.yaml:3: parallelism is 'two', it must be a whole number of at least 1
    """

    value: object
    where: Where
    trail: Trail = ()
    problems: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return ".".join(str(key) for key in self.trail) or "the file"

    def wrong(self, what: str) -> None:
        self.problems.append(f"{self.where(self.trail)}: {what}")

    def must_be(self, what: str) -> None:
        found = "empty" if self.value is None else repr(self.value)
        self.wrong(f"{self.name} is {found}, it must be {what}")

    def at(self, key: str | int, value: object) -> Written:
        return Written(value, self.where, (*self.trail, key), self.problems)

    def fields(self, known: Collection[str] | None = None, required: Collection[str] = ()) -> dict[str, Written]:
        """A mapping's entries by name; without `known` every name will do."""
        if not isinstance(self.value, dict):
            self.must_be("a mapping of names to values")
            return {}
        for missing in (r for r in required if r not in self.value):
            self.wrong(f"{self.name} does not say {missing!r}")
        return {k: v for k, v in self._entries() if known is None or self._is_known(v, k, known)}

    def _entries(self) -> Iterable[tuple[str, Written]]:
        assert isinstance(self.value, dict)
        for key, value in self.value.items():
            entry = self.at(key, value)
            if isinstance(key, str):
                yield key, entry
            else:
                entry.wrong(f"the name {key!r} is not a text: write it in quotes")

    @staticmethod
    def _is_known(entry: Written, key: str, known: Collection[str]) -> bool:
        if key not in known:
            entry.wrong(f"nothing is called {key!r} here: {probably_meant(key, known)}")
        return key in known

    def items(self) -> list[Written]:
        if not isinstance(self.value, list | tuple):
            self.must_be(f"a list: [{self.value}]" if isinstance(self.value, str) else "a list")
            return []
        return [self.at(i, v) for i, v in enumerate(self.value)]

    def text(self) -> str | None:
        if isinstance(self.value, str) and self.value.strip():
            return self.value
        self.must_be("a text")
        return None

    def one_of(self, known: Collection[str]) -> str | None:
        text = self.text()
        if text is None or text in known:
            return text
        self.wrong(f"{self.name} is {text!r}: {probably_meant(text, known)}")
        return None

    def whole(self, at_least: int = 1) -> int | None:
        if isinstance(self.value, int) and not isinstance(self.value, bool) and self.value >= at_least:
            return self.value
        self.must_be(f"a whole number of at least {at_least}")
        return None

    def number(self, above: float | None = None) -> float | None:
        """A finite number of at least 0, or above `above`."""
        value = self.value
        lowest = math.nextafter(above, math.inf) if above is not None else 0.0
        if isinstance(value, int | float) and not isinstance(value, bool) and lowest <= value < math.inf:
            return float(value)
        self.must_be(f"a number above {above:g}" if above is not None else "a number of at least 0")
        return None
