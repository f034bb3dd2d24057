"""What is simulated: a scenario, as records. `parse.py` reads it from what somebody wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from penstock.changes import Execution
from penstock.deployment import Host
from penstock.ids import ComponentId
from penstock.objectives.objective import Objective
from penstock.simulator.arrays import Floats
from penstock.simulator.arrivals import RateOf
from penstock.simulator.component import BatchCosts, Service
from penstock.simulator.traffic import even, with_hot, zipf
from penstock.topology.topology import Topology


class Fidelity(StrEnum):
    """Every row apart, or rows per step as cumulative curves."""

    ROWS = "rows"
    COUNTS = "counts"


class PressureKind(StrEnum):
    """What happens when a component cannot keep up.

    Its input grows; or is dropped; or a long line stops the sources (Heron); or they stop when too many rows are under
    way between them and the end (a closed loop: Storm's max.spout.pending).
    """

    UNBOUNDED = "unbounded"
    DROP = "drop"
    BACKPRESSURE = "backpressure"
    IN_FLIGHT = "in flight"


@dataclass(frozen=True, slots=True)
class Pressure:
    """Marks in rows: in line at an instance, or in flight in the whole topology. Heron's are bytes: 100 and 50 MB, here
    as rows of 1 KB."""

    kind: PressureKind = PressureKind.UNBOUNDED
    high_rows: int = 100_000
    low_rows: int = 50_000


class Pause(StrEnum):
    """Who stands still while a change is made."""

    NONE = "none"
    INVOLVED = "involved"
    COMPONENT = "component"
    TOPOLOGY = "topology"


@dataclass(frozen=True, slots=True)
class Switching:
    """What a change costs: a fixed time, more for every row of state that moves, and new containers' own time.

    `behind_data`: it begins when all rows are done that were there when it was asked for (Flink's barriers).
    """

    pause: Pause = Pause.NONE
    fixed_s: float = 0.0
    state_row_s: float = 0.0
    container_s: float = 0.0
    behind_data: bool = False


@dataclass(frozen=True, slots=True)
class Growth:
    """Rows of state in a component: `initial_rows` and `per_row` of each completed row, up to a limit."""

    initial_rows: float = 0.0
    per_row: float = 0.0
    limit_rows: float = np.inf


@dataclass(frozen=True, slots=True)
class Mix:
    """Each new instance is of this speed with this probability, and of speed 1 otherwise (StreamSwitch 6.4)."""

    speed: float = 1.0
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Skew:
    """How rows fall on substreams: Zipf, hot ones with shares of their own; every `moves_every_s` all shift by one."""

    exponent: float = 0.0
    hot: Mapping[int, float] = field(default_factory=dict)
    moves_every_s: float | None = None

    def weights(self, substreams: int, now_s: float = 0.0) -> Floats:
        still = with_hot(zipf(substreams, self.exponent) if self.exponent else even(substreams), self.hot)
        return np.roll(still, int(now_s // self.moves_every_s)) if self.moves_every_s else still


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is offered to a source; `cv` of the gaps: 0 regular, 1 Poisson."""

    rate: RateOf
    cv: float = 0.0


@dataclass(frozen=True, slots=True)
class ComponentModel:
    service: Service
    skew: Skew = field(default_factory=Skew)
    state: Growth = field(default_factory=Growth)
    mix: Mix = field(default_factory=Mix)
    costs: BatchCosts = field(default_factory=BatchCosts)
    cap_rows: int | None = None
    traffic: Traffic | None = None
    objectives: tuple[Objective, ...] = ()


@dataclass(frozen=True, slots=True)
class TopologyModel:
    topology: Topology
    execution: Execution
    components: Mapping[ComponentId, ComponentModel]
    pressure: Pressure = field(default_factory=Pressure)
    switching: Switching = field(default_factory=Switching)


class FaultKind(StrEnum):
    SLOW_INSTANCE = "slow instance"
    FAILED_INSTANCE = "failed instance"
    SLOW_HOST = "slow host"
    FAILED_HOST = "failed host"
    LOST_METRICS = "lost metrics"


@dataclass(frozen=True, slots=True)
class Fault:
    """`target` is a host, `topology/component`, or `topology/component/instance`; None is everything.

    `speed` is what a slow one still does. What waits at a failed instance is lost where `loses_rows`, else it waits on;
    with `replays` as many rows arrive anew when it is back.
    """

    at_s: float
    kind: FaultKind
    for_s: float
    target: str | None = None
    speed: float = 0.5
    loses_rows: bool = False
    replays: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """`step_s` is how fine counts are; a snapshot covers `observe_steps` of them."""

    duration_s: float
    topologies: tuple[TopologyModel, ...]
    step_s: float = 1.0
    observe_steps: int = 1
    fidelity: Fidelity = Fidelity.COUNTS
    seed: int = 0
    hosts: tuple[Host, ...] = ()
    slots_per_container: int = 1
    faults: tuple[Fault, ...] = ()

    @property
    def observe_s(self) -> float:
        return self.step_s * self.observe_steps
