"""Everything that Penstock raises on purpose.

PenstockError             exit 1
├── InvalidInput          exit 2   what the user wrote cannot be: lists every problem at once
├── ChangeRefused         exit 3   an engine does not take a change, and says why
├── NotAttached           exit 4   no agent answers
│   └── LeaseTaken        exit 4   another regulator holds the lease
└── MissingTool           exit 5   Java, an extra or a program is missing: says what to install
"""

from __future__ import annotations

from collections.abc import Sequence


class PenstockError(Exception):
    exit_code = 1


class InvalidInput(PenstockError):
    """One sentence for each problem: where, what, and what was probably meant."""

    exit_code = 2

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class ChangeRefused(PenstockError):
    exit_code = 3


class NotAttached(PenstockError):
    exit_code = 4


class LeaseTaken(NotAttached):
    pass


class MissingTool(PenstockError):
    exit_code = 5
