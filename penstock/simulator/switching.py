"""Changes: what is done to a world, what it costs, and what has to be true for it to be taken at all."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.changes import (
    Assign,
    Cap,
    Change,
    Containers,
    Part,
    Place,
    Receipt,
    Rescale,
    Restart,
    Revert,
    Status,
    Target,
)
from penstock.ids import ChangeId, ContainerId
from penstock.simulator.arrays import Ints
from penstock.simulator.running import Running
from penstock.simulator.scenario import Pause, Switching
from penstock.simulator.world import World
from penstock.topology.assignment import Assignment, rescaled, spread


@dataclass(frozen=True, slots=True)
class Configuration:
    """All that changes can change, as it was."""

    instance_of: dict[Target, tuple[int, ...]]
    caps: dict[Target, int | None]
    places: dict[Target, tuple[ContainerId, ...]]
    containers: int


@dataclass(slots=True)
class Effect:
    """Who is involved, how much state moves, and how long it takes: summed over the parts of one change."""

    involved: dict[Target, set[int]] = field(default_factory=dict)
    moved_substreams: int = 0
    moved_rows: float = 0.0
    new_containers: bool = False

    def involve(self, target: Target, instances: set[int]) -> None:
        self.involved.setdefault(target, set()).update(instances)


class Switchboard:
    def __init__(self, world: World) -> None:
        self._world = world
        self._before: dict[ChangeId, Configuration] = {}
        self._due: list[Receipt] = []
        self._behind: list[tuple[Change, float]] = []  # changes whose barrier waits in line, and since when

    def apply(self, change: Change) -> Receipt:
        """Taken whole, or refused whole with all reasons."""
        parts = [p for part in change.parts for p in self._plain(part)]
        if (why := self._why_refused(parts)) is not None:
            return Receipt(change.id, Status.REFUSED, self._world.now_s, why)
        if any(self._world.owner(t).switching.behind_data for t in _targets(parts)):
            self._behind.append((change, self._world.now_s))
        else:
            self._carry_out(change, parts)
        return Receipt(change.id, Status.TAKEN, self._world.now_s)

    def act(self) -> bool:
        """Carry out the changes whose barrier has come through; says whether there was one."""
        through = [(c, at_s) for c, at_s in self._behind if self._is_through(c, at_s)]
        self._behind = [waiting for waiting in self._behind if waiting not in through]
        for change, _ in through:
            parts = [p for part in change.parts for p in self._plain(part)]
            why = self._why_refused(parts)  # what came in between may have made it impossible
            if why is None:
                self._carry_out(change, parts)
            else:
                self._due.append(Receipt(change.id, Status.FAILED, self._world.now_s, why))
        return bool(through)

    def _is_through(self, change: Change, asked_at_s: float) -> bool:
        parts = [p for part in change.parts for p in self._plain(part)]
        oldest = [self._world.running[t].oldest_arrived_s for t in _targets(parts)]
        return all(arrived_s is None or arrived_s >= asked_at_s for arrived_s in oldest)

    def _why_refused(self, parts: list[Part]) -> str | None:
        reasons = [reason for part in parts if (reason := self._why_not(part))]
        return "; ".join(reasons) or (None if parts else "it asks for nothing")

    def _carry_out(self, change: Change, parts: list[Part]) -> None:
        self._before[change.id] = self._configuration()
        effect = Effect()
        for part in parts:
            self._do(part, effect)
        cost_s = self._hold(effect)
        self._due.append(
            Receipt(
                change.id,
                Status.IN_FORCE,
                self._world.now_s + cost_s,
                cost_s=cost_s,
                moved_substreams=effect.moved_substreams,
            )
        )

    def receipts(self) -> tuple[Receipt, ...]:
        """Of changes that came into force by now."""
        done = tuple(r for r in self._due if r.at_s <= self._world.now_s + 1e-9)
        self._due = [r for r in self._due if r not in done]
        return done

    def _configuration(self) -> Configuration:
        running = self._world.running
        return Configuration(
            {t: tuple(r.fleet.instance_of.tolist()) for t, r in running.items()},
            {t: r.cap_rows for t, r in running.items()},
            dict(self._world.placement.of),
            len(self._world.placement.containers),
        )

    def _plain(self, part: Part) -> list[Part]:
        """A revert is the parts that lead back; all others stand for themselves."""
        if not isinstance(part, Revert) or part.to_before not in self._before:
            return [part]
        now, then = self._configuration(), self._before[part.to_before]
        back: list[Part] = [Containers(then.containers)] * (then.containers != now.containers)
        for target, instance_of in then.instance_of.items():
            if instance_of != now.instance_of[target]:
                back.append(Assign(target, Assignment(instance_of)))
            if then.caps[target] != now.caps[target]:
                back.append(Cap(target, then.caps[target]))
        return back

    def _why_not(self, part: Part) -> str | None:
        if isinstance(part, Revert):
            return f"there was no change {part.to_before!r}"
        if isinstance(part, Containers):
            return self._why_no_containers(part)
        running = self._world.running.get(part.target)
        return f"there is no component {part.target}" if running is None else _why_not_here(part, running, self._world)

    def _why_no_containers(self, part: Containers) -> str | None:
        if not self._world.placement.hosts:
            return "the scenario names no hosts: there are no containers"
        if part.kind is not None:
            return f"there are no containers of kind {part.kind!r}"
        return None if part.count >= 1 else "at least 1 container is needed"

    def _do(self, part: Part, effect: Effect) -> None:
        world = self._world
        if isinstance(part, Containers):
            effect.new_containers |= part.count > len(world.placement.containers)
            for target in world.placement.resize(part.count):
                effect.involve(target, set(range(world.running[target].fleet.instances)))
            return
        assert not isinstance(part, Revert)
        running = world.running[part.target]
        match part:
            case Rescale(parallelism=p):
                self._reassign(running, _rescaled(running, p), effect)
            case Assign(assignment=assignment):
                self._reassign(running, np.array(assignment.instance_of, dtype=np.int64), effect)
            case Place(containers=places):
                self._place(running, places, effect)
            case Restart(instance=instance):
                restarted = range(running.fleet.instances) if instance is None else [instance]
                running.renew(np.array(list(restarted), dtype=np.int64))
                effect.involve(part.target, set(restarted))
            case Cap(rows=rows):
                running.set_cap(rows)

    def _reassign(self, running: Running, instance_of: Ints, effect: Effect) -> None:
        before, after = running.fleet.instance_of, instance_of
        if before.size == after.size:
            moved = np.flatnonzero(before != after)
            effect.moved_substreams += moved.size
            effect.moved_rows += float(running.state_rows[moved].sum())
            effect.involve(running.target, set(before[moved].tolist()) | set(after[moved].tolist()))
        else:
            effect.involve(running.target, set(range(max(running.fleet.instances, int(after.max()) + 1))))
        running.reassign(after)
        self._world.placement.place(running.target, running.fleet.instances)
        if before.size != after.size:
            self._world.reweigh(running.target, running.weights(self._world.now_s))

    def _place(self, running: Running, places: tuple[ContainerId, ...], effect: Effect) -> None:
        before = self._world.placement.of[running.target]
        moved = {i for i, (a, b) in enumerate(zip(before, places, strict=True)) if a != b}
        self._world.placement.of[running.target] = places
        running.renew(np.array(sorted(moved), dtype=np.int64))
        effect.involve(running.target, moved)

    def _hold(self, effect: Effect) -> float:
        """Stop whom the topology's way of switching stops; returns for how long."""
        longest_s = 0.0
        for target, instances in effect.involved.items():
            switching = self._world.owner(target).switching
            cost_s = _cost_s(switching, effect)
            longest_s = max(longest_s, cost_s)
            for running, held in self._held(switching.pause, target, instances):
                until_s = running.fleet.suspended_until_s
                here = [i for i in held if i < until_s.size]
                until_s[here] = np.maximum(until_s[here], self._world.now_s + cost_s)
        return longest_s

    def _held(self, pause: Pause, target: Target, involved: set[int]) -> list[tuple[Running, set[int]]]:
        running = self._world.running
        if pause is Pause.NONE or not involved:
            return []
        if pause is Pause.INVOLVED:
            return [(running[target], involved)]
        same = [r for t, r in running.items() if t == target or (pause is Pause.TOPOLOGY and _together(t, target))]
        return [(r, set(range(r.fleet.instances))) for r in same]


def _targets(parts: list[Part]) -> list[Target]:
    return [p.target for p in parts if not isinstance(p, Containers | Revert)]


def _together(one: Target, other: Target) -> bool:
    return one.topology == other.topology


def _cost_s(switching: Switching, effect: Effect) -> float:
    if switching.pause is Pause.NONE:
        return 0.0
    acquired_s = switching.container_s if effect.new_containers else 0.0
    return switching.fixed_s + switching.state_row_s * effect.moved_rows + acquired_s


def _rescaled(running: Running, parallelism: int) -> Ints:
    if not running.keyed:
        return np.arange(parallelism)
    before = Assignment(tuple(running.fleet.instance_of.tolist()))
    return np.array(rescaled(before, parallelism).instance_of, dtype=np.int64)


def _why_not_here(part: Part, running: Running, world: World) -> str | None:
    bound = running.component.parallelism_bound
    match part:
        case Rescale(parallelism=p) if p < 1 or (bound is not None and p > bound):
            return f"{running.target}: parallelism {p} is not between 1 and {bound or 'any number'}"
        case Assign(assignment=a) if running.keyed and a.substreams != running.fleet.substreams:
            return f"{running.target}: the assignment names {a.substreams} substreams of {running.fleet.substreams}"
        case Assign(assignment=a) if not running.keyed and a != spread(a.substreams, a.substreams):
            return f"{running.target}: its rows go to any instance, it has no substreams to assign: rescale it"
        case Restart(instance=i) if i is not None and not 0 <= i < running.fleet.instances:
            return f"{running.target}: there is no instance {i}, it has {running.fleet.instances}"
        case Place(containers=places):
            return _why_no_place(places, running, world)
        case Cap(rows=rows) if rows is not None and rows < 1:
            return f"{running.target}: a cap is at least 1 row a batch"
        case _:
            return None


def _why_no_place(places: tuple[ContainerId, ...], running: Running, world: World) -> str | None:
    known = {c.id for c in world.placement.containers}
    strange = [c for c in places if c not in known]
    if strange:
        return f"{running.target}: there is no container {strange[0]!r}"
    if len(places) != running.fleet.instances:
        return f"{running.target}: {len(places)} places for {running.fleet.instances} instances"
    return None
