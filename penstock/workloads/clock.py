"""The generator's time: real, or virtual where nothing waits."""

from __future__ import annotations

import time
from threading import Event
from typing import Protocol


class Clock(Protocol):
    def now_s(self) -> float:
        """Unix seconds that never step back."""

    def wait_until_s(self, t_s: float) -> bool:
        """False where it was asked to stop meanwhile."""

    def stop(self) -> None: ...


class RealClock:
    """The wall clock as it was at the start, carried on by the monotonic one: setting the clock bends no rate."""

    def __init__(self) -> None:
        self._unix_at_zero_s = time.time() - time.monotonic()
        self._stopped = Event()

    def now_s(self) -> float:
        return self._unix_at_zero_s + time.monotonic()

    def wait_until_s(self, t_s: float) -> bool:
        return not self._stopped.wait(max(0.0, t_s - self.now_s()))

    def stop(self) -> None:
        self._stopped.set()


class VirtualClock:
    """Time passes when somebody waits or says `advance`: hours of load take no time to test.

    >>> clock = VirtualClock(start_s=100.0)
    >>> clock.wait_until_s(160.0), clock.now_s()
    (True, 160.0)
    """

    def __init__(self, start_s: float = 1_700_000_000.0) -> None:
        self._now_s = start_s
        self._stopped = False

    def now_s(self) -> float:
        return self._now_s

    def advance(self, seconds: float) -> None:
        self._now_s += seconds

    def wait_until_s(self, t_s: float) -> bool:
        if not self._stopped:
            self._now_s = max(self._now_s, t_s)
        return not self._stopped

    def stop(self) -> None:
        self._stopped = True
