"""Containers on hosts, instances in containers, and what it does to their speed when a host's cores are not enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from penstock.changes import Target
from penstock.deployment import Container, Host
from penstock.ids import ContainerId, HostId
from penstock.simulator.arrays import Floats, Ints
from penstock.simulator.running import Running


class Placement:
    """Without hosts there is nothing to share and nowhere to go: every instance has a core of its own."""

    def __init__(self, hosts: tuple[Host, ...], slots: int) -> None:
        self.hosts, self._slots = hosts, slots
        self._numbers = 0
        self.containers: list[Container] = [self._new(h) for h in hosts for _ in range(max(1, int(h.cores // slots)))]
        self._free: list[Container] = []
        self.of: dict[Target, tuple[ContainerId, ...]] = {}
        self.host_slowed: dict[HostId, float] = {}
        self._turn = 0

    def _new(self, host: Host) -> Container:
        self._numbers += 1
        return Container(ContainerId(f"container-{self._numbers}"), host.id, self._slots)

    def place(self, target: Target, instances: int) -> None:
        """Instances that have a place keep it, others take containers in turn."""
        if not self.containers:
            return
        known = {c.id for c in self.containers}
        kept = [c for c in self.of.get(target, ())[:instances] if c in known]
        missing = instances - len(kept)
        taken = [self.containers[(self._turn + n) % len(self.containers)].id for n in range(missing)]
        self._turn += missing
        self.of[target] = (*kept, *taken)

    def resize(self, count: int) -> list[Target]:
        """Have so many containers, new ones on the host with the fewest; returns who has to move or may."""
        while len(self.containers) < count:
            self.containers.append(self._new(min(self.hosts, key=self._crowd)))
        gone = {c.id for c in self.containers[count:]}
        self.containers = self.containers[:count]
        moved = [t for t, places in self.of.items() if gone.intersection(places)]
        for target in moved:
            self.place(target, len(self.of[target]))
        return moved

    def _crowd(self, host: Host) -> float:
        return sum(c.slots for c in self.containers if c.host == host.id) / host.cores

    def hosts_of(self, target: Target) -> Ints:
        number = {h.id: n for n, h in enumerate(self.hosts)}
        host_of = {c.id: number[c.host] for c in self.containers}
        return np.array([host_of[c] for c in self.of[target]], dtype=np.int64)

    def set_speeds(self, running: Iterable[Running], load: Mapping[Target, Floats]) -> Floats:
        """Every instance's speed, from its own, its faults and its host; returns each host's load in cores."""
        everyone = list(running)
        cores = np.zeros(len(self.hosts))
        if not self.hosts:
            for r in everyone:
                r.fleet.speed = r.own_speed * r.slowed
            return cores
        for r in everyone:
            cores += np.bincount(self.hosts_of(r.target), weights=load[r.target], minlength=cores.size)
        share = np.array([h.speed * self.host_slowed.get(h.id, 1.0) for h in self.hosts]) * np.minimum(
            1.0, np.array([h.cores for h in self.hosts]) / np.maximum(cores, 1e-9)
        )
        for r in everyone:
            r.fleet.speed = r.own_speed * r.slowed * share[self.hosts_of(r.target)]
        return cores
