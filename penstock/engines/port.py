"""The engine port: three verbs, the same for Spark and for the simulator."""

from __future__ import annotations

from typing import Protocol

from penstock.changes import Change, Receipt
from penstock.deployment import Deployment
from penstock.observe.snapshot import Snapshot


class Engine(Protocol):
    def describe(self) -> Deployment:
        """The deployment as it stands."""
        ...

    def observe(self) -> Snapshot | None:
        """What was seen since the last call; None where nothing new is known or the engine has ended."""
        ...

    def apply(self, change: Change) -> Receipt:
        """Take a change whole or refuse it whole with a reason, at once. What came of it, later snapshots tell."""
        ...
