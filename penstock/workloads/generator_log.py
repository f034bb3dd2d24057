"""The log beside the load, as JSON lines: what was due and written, for each second, so that arrivals are exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Summary:
    """`rows_late` were not taken when they were due, and carry the later stamp of when they were."""

    rows_due: int
    rows_written: int
    rows_behind_max: int
    rows_late: int
    visible_after_s_max: float
    hand_overs: int
    seconds: float

    @property
    def kept_its_rate(self) -> bool:
        return self.rows_late == 0 and self.rows_written == self.rows_due


class GeneratorLog:
    """One line for each second since the start: totals as of its end, and `hand_overs`: [when readable, total rows].

    `rows_behind` are the rows that should be readable by then and are not: due two hand-over intervals ago, one to be
    taken and one to be written.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._seconds = 0
        self._rows_written = 0
        self._hand_overs: list[tuple[float, int]] = []
        self.rows_behind_max = 0

    def start(self, start_s: float, rows_due: Callable[[float], int], every_s: float) -> None:
        self._start_s, self._rows_due, self._every_s = start_s, rows_due, every_s

    def advance(self, elapsed_s: float) -> None:
        """Called before anything is written at that time: totals of the seconds that ended are known."""
        while self._seconds + 1 <= elapsed_s:
            self._seconds += 1
            self._write_second(float(self._seconds))

    def hand_over(self, elapsed_s: float, rows_written: int) -> None:
        self.advance(elapsed_s)
        self._rows_written = rows_written
        self._hand_overs.append((round(self._start_s + elapsed_s, 6), rows_written))

    def end(self, elapsed_s: float, summary: Summary) -> None:
        self.advance(elapsed_s)
        if elapsed_s > self._seconds:
            self._write_second(elapsed_s)
        self._write({"summary": asdict(summary)})

    def rows_behind(self, elapsed_s: float) -> int:
        return max(0, self._rows_due(elapsed_s - 2 * self._every_s) - self._rows_written)

    def _write_second(self, elapsed_s: float) -> None:
        behind = self.rows_behind(elapsed_s)
        self.rows_behind_max = max(self.rows_behind_max, behind)
        self._write(
            {
                "t_s": round(self._start_s + elapsed_s, 6),
                "rows_due": self._rows_due(elapsed_s),
                "rows_written": self._rows_written,
                "rows_behind": behind,
                "hand_overs": self._hand_overs,
            }
        )
        self._hand_overs = []

    def _write(self, line: dict[str, object]) -> None:
        if self._file is None:
            return
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
