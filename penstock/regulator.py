"""The regulator: observe, decide, check, apply, log. The only place where the parts meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.action_log import ActionLog, Entry, Event
from penstock.changes import Change, Receipt, Status
from penstock.deployment import Deployment
from penstock.engines.port import Engine
from penstock.errors import ChangeRefused
from penstock.ids import ChangeId
from penstock.observe.snapshot import Snapshot
from penstock.policies.cycle import Outcome, State, cycle, is_fresh
from penstock.policies.rule import Regulation

ENGINE = "engine"
FINAL = (Status.REFUSED, Status.IN_FORCE, Status.FAILED)


def nowhere(deployment: Deployment, snapshot: Snapshot) -> None:
    """The sink of those who keep no recording."""


@dataclass(slots=True)
class Regulator:
    """Regulates one deployment.

    clock   stamps the entries of the log; deciding knows no time but the snapshots'
    seed    what policies draw at random, they draw again from the same seed and history
    sink    is handed every fresh deployment and snapshot before anything is decided: what replay reads
    """

    engine: Engine
    regulation: Regulation
    log: ActionLog
    clock: Callable[[], float]
    seed: int = 0
    sink: Callable[[Deployment, Snapshot], None] = nowhere
    state: State = field(default_factory=State)
    unanswered: dict[ChangeId, Change] = field(default_factory=dict)

    def step(self) -> tuple[Outcome, ...]:
        """One cycle; without fresh data nothing is decided and nothing done."""
        snapshot = self.engine.observe()
        if snapshot is None or not is_fresh(self.state, snapshot):
            return ()
        deployment = self.engine.describe()
        self.sink(deployment, snapshot)
        for receipt in snapshot.receipts:
            self._received(receipt)
        self.state, outcomes = cycle(self.state, deployment, snapshot, self.regulation, self.seed)
        for outcome in outcomes:
            self._carry_out(outcome)
        return outcomes

    def _received(self, receipt: Receipt) -> None:
        change = self.unanswered.get(receipt.change)
        if receipt.status in FINAL:
            self.unanswered.pop(receipt.change, None)
        why = receipt.reason or f"{receipt.change} is {receipt.status}"
        self._note(
            Event.RECEIPT, ENGINE, why if change else f"{why}; this regulator did not ask for it", change, receipt
        )

    def _carry_out(self, outcome: Outcome) -> None:
        for alert in outcome.alerts:
            self._note(Event.ALERT, outcome.policy, alert)
        if outcome.refused is not None:
            self._note(Event.REFUSED, outcome.policy, outcome.refused, outcome.change)
        elif outcome.change is not None:
            self._apply(outcome.change)

    def _apply(self, change: Change) -> None:
        try:
            receipt = self.engine.apply(change)
        except ChangeRefused as error:
            receipt = Receipt(change.id, Status.REFUSED, self.clock(), str(error))
        if receipt.status is Status.REFUSED:
            self._note(Event.REFUSED, ENGINE, receipt.reason or "the engine gave no reason", change, receipt)
            return
        if receipt.status not in FINAL:
            self.unanswered[change.id] = change
        self._note(Event.CHANGE, change.asked_by, change.why, change, receipt)

    def _note(
        self, event: Event, by: str, why: str, change: Change | None = None, receipt: Receipt | None = None
    ) -> None:
        self.log.append(Entry(self.clock(), event, by, why, change, receipt))
