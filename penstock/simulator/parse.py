"""A scenario as somebody wrote it -> checked records, every problem at once with its line.

version: 1
duration_s: 600
topologies:
  word-count:
    topology:
      components:
        spout: {parallelism: 4, substreams: 8}
        count: {parallelism: 2, inputs: [{from: spout, grouping: key, key: word}], substreams: 8}
    execution:
      kind: continuous
      components: {spout: {rows_per_s: 1000}, count: {rows_per_s: 2500}}
    traffic: {spout: {rows_per_s: 3000}}
    objectives: {count: [mean latency < 1s]}
    policy: static
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.changes import Execution
from penstock.deployment import Host
from penstock.errors import InvalidInput
from penstock.ids import ComponentId, HostId, TopologyId
from penstock.objectives.objective import Objective
from penstock.objectives.parse import parse_objective
from penstock.reading import Written
from penstock.simulator.faults import instance_of
from penstock.simulator.parse_component import component_model, number, traffic, whole
from penstock.simulator.scenario import (
    ComponentModel,
    Fault,
    FaultKind,
    Fidelity,
    Pause,
    Pressure,
    PressureKind,
    Scenario,
    Switching,
    TopologyModel,
)
from penstock.topology.topology import Component, Grouping, Stream, Topology

VERSION = 1
_TOP = ("version", "seed", "duration_s", "step_s", "observe_s", "fidelity", "hosts", "slots_per_container")
_SHAPE = ("parallelism", "substreams", "max_parallelism", "inputs")
_HOST = ("id", "count", "cores", "speed", "rack", "kind", "price_usd_per_h")


@dataclass(frozen=True, slots=True, eq=False)
class ScenarioFile:
    """`policies` as they were written: what a policy is, is not known here."""

    scenario: Scenario
    policies: Mapping[TopologyId, Written]


def read_scenario(written: Written) -> ScenarioFile:
    """Raises InvalidInput with all problems."""
    top = written.fields(known=(*_TOP, "topologies", "faults"), required=("version", "duration_s", "topologies"))
    if "version" in top and top["version"].value != VERSION:
        top["version"].wrong(f"version is {top['version'].value!r}: this Penstock reads version {VERSION}")
    named = top["topologies"].fields() if "topologies" in top else {}
    models = [_topology(TopologyId(name), part) for name, part in named.items()]
    hosts = _hosts(top["hosts"]) if "hosts" in top else ()
    scenario = _scenario(top, tuple(m for m in models if m is not None), hosts)
    if written.problems or scenario is None:
        raise InvalidInput(written.problems)
    policies = {TopologyId(n): part.fields()["policy"] for n, part in named.items() if "policy" in part.fields()}
    return ScenarioFile(scenario, policies)


def _scenario(
    top: Mapping[str, Written], models: tuple[TopologyModel, ...], hosts: tuple[Host, ...]
) -> Scenario | None:
    step_s = number(top, "step_s", 1.0, above=0) or 1.0
    observe_s = number(top, "observe_s", step_s, above=0) or step_s
    steps = round(observe_s / step_s)
    if abs(steps * step_s - observe_s) > 1e-9 * observe_s or steps < 1:
        top["observe_s"].wrong(f"observe_s is {observe_s:g}: it must be a multiple of step_s, which is {step_s:g}")
    fidelity = top["fidelity"].one_of([f.value for f in Fidelity]) if "fidelity" in top else None
    known = _names(models, hosts)
    faults = [_fault(item, known) for item in top["faults"].items()] if "faults" in top else []
    duration_s = number(top, "duration_s", None, above=0)
    if duration_s is None:
        return None
    return Scenario(
        duration_s=duration_s,
        topologies=models,
        step_s=step_s,
        observe_steps=max(steps, 1),
        fidelity=Fidelity(fidelity) if fidelity else Fidelity.COUNTS,
        seed=whole(top, "seed", 0, at_least=0) or 0,
        hosts=hosts,
        slots_per_container=whole(top, "slots_per_container", 1) or 1,
        faults=tuple(f for f in faults if f is not None),
    )


def _names(models: tuple[TopologyModel, ...], hosts: tuple[Host, ...]) -> dict[str, Component | Host]:
    parts = {f"{m.topology.id}/{c.id}": c for m in models for c in m.topology.components}
    return {**parts, **{str(h.id): h for h in hosts}}


def _hosts(written: Written) -> tuple[Host, ...]:
    """A list of hosts, or one kind and its count."""
    if isinstance(written.value, dict):
        fields = written.fields(known=_HOST, required=("cores",))
        return tuple(_host(f"host-{n + 1}", fields) for n in range(whole(fields, "count", 1) or 1))
    listed = [item.fields(known=_HOST, required=("id", "cores")) for item in written.items()]
    return tuple(_host(fields["id"].text() or "", fields) for fields in listed if "id" in fields)


def _host(name: str, fields: Mapping[str, Written]) -> Host:
    return Host(
        HostId(name),
        number(fields, "cores", 1.0, above=0) or 1.0,
        number(fields, "speed", 1.0, above=0) or 1.0,
        fields["rack"].text() if "rack" in fields else None,
        fields["kind"].text() if "kind" in fields else None,
        number(fields, "price_usd_per_h", None),
    )


def _topology(name: TopologyId, written: Written) -> TopologyModel | None:
    known = ("topology", "execution", "traffic", "objectives", "policy")
    fields = written.fields(known=known, required=("topology", "execution", "traffic"))
    if not {"topology", "execution", "traffic"} <= fields.keys():
        return None
    parts = fields["topology"].fields(known=("components",), required=("components",))
    topology = _shape(name, fields["topology"], parts["components"].fields() if "components" in parts else {})
    if topology is None:
        return None
    names = [str(c.id) for c in topology.components]
    objectives = fields["objectives"].fields(known=names) if "objectives" in fields else {}
    sources = [str(c.id) for c in topology.components if not topology.parents(c.id)]
    offered = {n: traffic(part) for n, part in fields["traffic"].fields(known=sources, required=sources).items()}
    promised = {n: _objectives(part) for n, part in objectives.items()}
    execution = fields["execution"]
    how = execution.fields(known=("kind", "pressure", "switching", "components"), required=("kind", "components"))
    parts = how["components"].fields(known=names, required=names) if "components" in how else {}
    components = {
        ComponentId(n): component_model(part, topology[ComponentId(n)], offered.get(n), promised.get(n, ()))
        for n, part in parts.items()
    }
    return _model(topology, how, {c: m for c, m in components.items() if m is not None})


def _model(
    topology: Topology, how: Mapping[str, Written], components: Mapping[ComponentId, ComponentModel]
) -> TopologyModel | None:
    kind = how["kind"].one_of([e.value for e in Execution]) if "kind" in how else None
    pressure = _pressure(how["pressure"]) if "pressure" in how else Pressure()
    switching = _switching(how["switching"]) if "switching" in how else Switching()
    if kind is None or len(components) < len(topology.components):
        return None
    if kind == Execution.MICRO_BATCH and pressure.kind is not PressureKind.UNBOUNDED:
        how["pressure"].wrong("micro-batches read durable streams: their pressure is 'unbounded'")
    return TopologyModel(topology, Execution(kind), components, pressure, switching)


def _pressure(written: Written) -> Pressure:
    fields = written.fields(known=("kind", "high_rows", "low_rows"), required=("kind",))
    kind = fields["kind"].one_of([k.value for k in PressureKind]) if "kind" in fields else None
    high = whole(fields, "high_rows", Pressure().high_rows) or 1
    low = whole(fields, "low_rows", min(Pressure().low_rows, high // 2), at_least=0) or 0
    if low > high:
        written.wrong(f"low_rows {low} is above high_rows {high}")
    return Pressure(PressureKind(kind) if kind else PressureKind.UNBOUNDED, high, low)


def _switching(written: Written) -> Switching:
    known = ("pause", "fixed_s", "state_row_s", "container_s", "behind_data")
    fields = written.fields(known=known, required=("pause",))
    pause = fields["pause"].one_of([p.value for p in Pause]) if "pause" in fields else None
    return Switching(
        Pause(pause) if pause else Pause.NONE,
        fixed_s=number(fields, "fixed_s", 0.0) or 0.0,
        state_row_s=number(fields, "state_row_s", 0.0) or 0.0,
        container_s=number(fields, "container_s", 0.0) or 0.0,
        behind_data="behind_data" in fields and fields["behind_data"].value is True,
    )


def _objectives(written: Written) -> tuple[Objective, ...]:
    found = []
    for item in written.items():
        text = item.text()
        try:
            found += [parse_objective(text)] if text else []
        except InvalidInput as error:
            item.wrong(str(error))
    return tuple(found)


def _shape(name: TopologyId, written: Written, parts: Mapping[str, Written]) -> Topology | None:
    listed = {n: part.fields(known=_SHAPE) for n, part in parts.items()}
    components = tuple(
        Component(
            ComponentId(n),
            whole(f, "parallelism", 1) or 1,
            whole(f, "substreams", None),
            whole(f, "max_parallelism", None),
        )
        for n, f in listed.items()
    )
    streams = [
        _stream(ComponentId(n), item) for n, f in listed.items() if "inputs" in f for item in f["inputs"].items()
    ]
    if not components:
        written.wrong(f"{written.name} has no components")
        return None
    try:
        return Topology(name, components, tuple(s for s in streams if s is not None))
    except InvalidInput as error:
        for problem in error.problems:
            written.wrong(problem)
        return None


def _stream(target: ComponentId, written: Written) -> Stream | None:
    if isinstance(written.value, str):
        return Stream(ComponentId(written.value), target)
    fields = written.fields(known=("from", "grouping", "key"), required=("from",))
    source = fields["from"].text() if "from" in fields else None
    grouping = fields["grouping"].one_of([g.value for g in Grouping]) if "grouping" in fields else Grouping.SHUFFLE
    key = fields["key"].text() if "key" in fields else None
    if source is None or grouping is None:
        return None
    return Stream(ComponentId(source), target, Grouping(grouping), (key,) if key else ())


def _fault(written: Written, known: Mapping[str, Component | Host]) -> Fault | None:
    names = ("at_s", "kind", "target", "for_s", "speed", "loses_rows", "replays")
    fields = written.fields(known=names, required=("at_s", "kind", "for_s"))
    kind = fields["kind"].one_of([k.value for k in FaultKind]) if "kind" in fields else None
    at_s, for_s = number(fields, "at_s", None), number(fields, "for_s", None, above=0)
    target = fields["target"].text() if "target" in fields else None
    if kind is None or at_s is None or for_s is None:
        return None
    _check_target(written, FaultKind(kind), target, known)
    loses, replays = (name in fields and fields[name].value is True for name in ("loses_rows", "replays"))
    speed = number(fields, "speed", 0.5, above=0) or 0.5
    return Fault(at_s, FaultKind(kind), for_s, target, speed, loses or replays, replays)


def _check_target(written: Written, kind: FaultKind, target: str | None, known: Mapping[str, Component | Host]) -> None:
    if target is None:
        if kind is not FaultKind.LOST_METRICS:
            written.wrong(f"a {kind} needs a target: a host, topology/component, or topology/component/instance")
        return
    wants = Host if kind in (FaultKind.SLOW_HOST, FaultKind.FAILED_HOST) else Component
    name = target if target in known or "/" not in target else str(_named(target))
    if not isinstance(known.get(name), wants):
        there = ", ".join(n for n, what in known.items() if isinstance(what, wants)) or "none"
        written.wrong(f"a {kind} cannot be of {target!r}: there are {there}")


def _named(target: str) -> object:
    parts = target.split("/")
    return instance_of(target)[0] if len(parts) == 3 and parts[2].isdigit() else target
