"""What goes wrong, and when: slow and failed instances and hosts, metrics that do not arrive."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.changes import Target
from penstock.ids import ComponentId, HostId, TopologyId
from penstock.simulator.arrays import Ints
from penstock.simulator.running import Running
from penstock.simulator.scenario import Fault, FaultKind
from penstock.simulator.world import World

_HOSTS = (FaultKind.SLOW_HOST, FaultKind.FAILED_HOST)


class Faults:
    """Acts between spans: a fault begins with the first span that starts at its time or later."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self._waiting = sorted(faults, key=lambda f: f.at_s)
        self._going: list[Fault] = []

    def act(self, world: World) -> None:
        now_s = world.now_s + 1e-9
        for over in [f for f in self._going if f.at_s + f.for_s <= now_s]:
            self._going.remove(over)
            self._end(over, world)
        while self._waiting and self._waiting[0].at_s <= now_s:
            fault = self._waiting.pop(0)
            self._going.append(fault)
            self._begin(fault, world)

    def metrics_lost(self, target: Target | None) -> bool:
        """Of this component, or with None of everything."""
        name = None if target is None else str(target)
        lost = [f.target for f in self._going if f.kind is FaultKind.LOST_METRICS]
        return None in lost or (name is not None and name in lost)

    def _begin(self, fault: Fault, world: World) -> None:
        if fault.kind is FaultKind.SLOW_HOST:
            world.placement.host_slowed[HostId(fault.target or "")] = fault.speed
        for running, instances in _hit(fault, world):
            if fault.kind is FaultKind.SLOW_INSTANCE:
                running.slowed[instances] = fault.speed
            elif fault.kind in (FaultKind.FAILED_INSTANCE, FaultKind.FAILED_HOST):
                _fail(running, instances, fault)

    def _end(self, fault: Fault, world: World) -> None:
        """Failed instances come back by themselves: they were only held until now."""
        if fault.kind is FaultKind.SLOW_HOST:
            world.placement.host_slowed.pop(HostId(fault.target or ""), None)
        elif fault.kind is FaultKind.SLOW_INSTANCE:
            for running, instances in _hit(fault, world):
                running.slowed[instances] = 1.0
        for running in world.running.values():
            running.replay_of(fault)


def _fail(running: Running, instances: Ints, fault: Fault) -> None:
    until_s = fault.at_s + fault.for_s
    held_s = running.fleet.suspended_until_s
    held_s[instances] = np.maximum(held_s[instances], until_s)
    if fault.loses_rows:
        for i in instances:
            running.lost(running.process.lose(int(i)), fault)


def _hit(fault: Fault, world: World) -> Iterator[tuple[Running, Ints]]:
    """The instances that a fault is about; those that a change took away are not missed."""
    for target, running in world.running.items():
        if fault.kind in _HOSTS:
            yield running, _on_host(fault, target, world)
        elif fault.kind is not FaultKind.LOST_METRICS and fault.target is not None:
            name, instance = instance_of(fault.target)
            if name == target:
                every = np.arange(running.fleet.instances)
                yield running, every if instance is None else every[every == instance]


def _on_host(fault: Fault, target: Target, world: World) -> Ints:
    number = [h.id for h in world.placement.hosts].index(HostId(fault.target or ""))
    return np.flatnonzero(world.placement.hosts_of(target) == number)


def instance_of(text: str) -> tuple[Target, int | None]:
    """
    >>> instance_of("words/count/3")[1], str(instance_of("words/count")[0])
    (3, 'words/count')
    """
    topology, component, *instance = text.split("/")
    return Target(TopologyId(topology), ComponentId(component)), int(instance[0]) if instance else None
