"""What is in row i: it follows from the seed and i alone, and for a hot key that moves from when its shape made it due.

So no generator of random numbers advances from row to row: each number is a hash of the seed and a counter (SplitMix64,
https://prng.di.unimi.it/splitmix64.c), and rows can be made in any portions with the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InvalidInput
from penstock.workloads.keys import Keys

ByteStrings = NDArray[np.bytes_]

MAX_PAYLOAD_BYTES = 1_000_000  # the message limit of a Kafka broker that nobody configured
MAX_WORDS_PER_LINE = 1000
_PAYLOADS = 4096  # windows over one random text: enough that compression does not see through it, and cheap to cut
_LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", dtype=np.uint8)
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that are handed over together. Lines of words have empty keys, and nothing shows their stamps."""

    id: NDArray[np.int64]
    key: ByteStrings
    value: ByteStrings
    ingress_us: NDArray[np.int64]


class Content(Protocol):
    @property
    def bytes_per_row(self) -> int: ...

    def make(self, ids: NDArray[np.int64], due_s: NDArray[np.float64]) -> tuple[ByteStrings, ByteStrings]:
        """The keys and the values of these rows."""


@dataclass(frozen=True)
class Records:
    """A key `k0`, `k1`, ... and a payload of letters and digits."""

    keys: Keys
    payload_bytes: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.payload_bytes <= MAX_PAYLOAD_BYTES:
            raise InvalidInput(
                f"a payload has 1 to {MAX_PAYLOAD_BYTES} bytes, and {self.payload_bytes} is not one of them: say 100"
            )

    @property
    def bytes_per_row(self) -> int:
        return self.payload_bytes + 64

    def make(self, ids: NDArray[np.int64], due_s: NDArray[np.float64]) -> tuple[ByteStrings, ByteStrings]:
        keys = self._names[self.keys.draw(uniform(self.seed, "key", ids), due_s)]
        starts = (uniform(self.seed, "payload", ids) * _PAYLOADS).astype(np.intp)
        return keys, self._windows[starts].view(f"S{self.payload_bytes}").reshape(-1)

    @cached_property
    def _names(self) -> ByteStrings:
        return np.char.add(b"k", np.arange(self.keys.count).astype(np.bytes_))

    @cached_property
    def _windows(self) -> NDArray[np.uint8]:
        counters = np.arange(_PAYLOADS + self.payload_bytes - 1, dtype=np.int64)
        text = _LETTERS[(uniform(self.seed, "text", counters) * _LETTERS.size).astype(np.intp)]
        return np.lib.stride_tricks.sliding_window_view(text, self.payload_bytes)


@dataclass(frozen=True)
class Lines:
    """Lines of words for word counts; `vocabulary` draws each word."""

    vocabulary: Keys
    words_per_line: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.words_per_line <= MAX_WORDS_PER_LINE:
            raise InvalidInput(
                f"a line has 1 to {MAX_WORDS_PER_LINE} words, and {self.words_per_line} is not among these: 10 is usual"
            )

    @property
    def bytes_per_row(self) -> int:
        return 8 * self.words_per_line + 64

    def make(self, ids: NDArray[np.int64], due_s: NDArray[np.float64]) -> tuple[ByteStrings, ByteStrings]:
        n = self.words_per_line
        places = (ids[:, None] * n + np.arange(n)).reshape(-1)
        drawn = self.vocabulary.draw(uniform(self.seed, "word", places), np.repeat(due_s, n))
        words = self._words[drawn].tolist()
        lines = [b" ".join(words[i : i + n]) for i in range(0, len(words), n)]
        return np.zeros(ids.size, dtype="S1"), np.array(lines, dtype=np.bytes_)

    @cached_property
    def _words(self) -> ByteStrings:
        return np.array([word(i) for i in range(self.vocabulary.count)], dtype=np.bytes_)


def word(number: int) -> str:
    """A word that can be read aloud, another for each number.

    >>> [word(n) for n in (0, 1, 69, 70, 4829, 4830)]
    ['babe', 'bebe', 'zube', 'babi', 'zuzu', 'bababe']
    """
    syllables = len(_CONSONANTS) * len(_VOWELS)
    spelt, rest = "", number + syllables  # so that each word has two syllables at least
    while rest:
        rest, syllable = divmod(rest, syllables)
        spelt += _CONSONANTS[syllable // len(_VOWELS)] + _VOWELS[syllable % len(_VOWELS)]
    return spelt


def uniform(seed: int, purpose: str, counters: NDArray[np.int64]) -> NDArray[np.float64]:
    """A number in [0, 1) for each counter; another series for each purpose.

    >>> uniform(0, "key", np.array([0, 1, 2])).round(3).tolist()
    [0.375, 0.092, 0.079]
    """
    start = int.from_bytes(purpose.encode().ljust(8, b"\0")[:8], "little") ^ (seed * 0xD1342543DE82EF95 % 2**64)
    mixed = _mix(_mix(np.array([start], dtype=np.uint64)) + counters.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
