"""penstock simulate: a scenario instead of a cluster, thousands of times faster than the clock."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from penstock.action_log import ActionLog
from penstock.changes import Target
from penstock.cli.session import changes
from penstock.deployment import Deployment
from penstock.engines.simulated import SimulatedEngine
from penstock.errors import InvalidInput
from penstock.files import read_yaml, read_yaml_text
from penstock.ids import TopologyId
from penstock.objectives.utility import Promise
from penstock.observe.snapshot import Snapshot
from penstock.observe.summary import RunTotals
from penstock.policies.policy import Policy
from penstock.policies.registry import read_policy
from penstock.policies.rule import REST, Regulation, Rule
from penstock.reading import Written, probably_meant
from penstock.regulation import own_policies, read_policy_named
from penstock.regulator import Regulator
from penstock.report.page import page
from penstock.report.record import RunRecord, Seen
from penstock.run_directory import RunDirectory
from penstock.simulator.parse import ScenarioFile, read_scenario

EPILOG = """examples:
  penstock simulate heron-word-count                          a scenario of the gallery, as the papers describe it
  penstock simulate my.yaml --policy static --seed 7          your own, with another policy and another seed
  penstock simulate my.yaml --json | jq .latency_s
"""
Json = dict[str, Any]
ENDED = "the scenario ended"


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "simulate",
        help="run a scenario in the simulator",
        description="Runs a scenario in the simulator, regulated as it says, and reports what came of it.",
        epilog=EPILOG + "gallery:\n  " + "\n  ".join(gallery()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", help="a YAML file, or a name from the gallery")
    parser.add_argument("--policy", metavar="NAME", help="this one instead of the scenario's")
    parser.add_argument("--seed", type=int, metavar="N", help="this one instead of the scenario's")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep summary, action log and report here")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    policy = read_policy_named(arguments.policy, {}) if arguments.policy else None
    written, started_s = written_scenario(arguments.scenario), time.time()
    directory = RunDirectory.fresh(arguments.scenario, started_s, arguments.out) if arguments.out else None
    log = ActionLog(directory.log if directory else None)
    outcome = conduct(written, policy, arguments.seed, Outcome(log, seen=Seen() if directory else None))
    summary = outcome.json()
    if directory is not None:
        keep(directory, arguments.scenario, started_s, outcome)
    print(json.dumps(summary) if arguments.json else table(summary))
    return 0


def keep(directory: RunDirectory, scenario: str, started_s: float, outcome: Outcome) -> None:
    """The files of a run, as `penstock run` leaves them, but for the facts: the scenario and its seed are those."""
    command = ("penstock", "simulate", scenario)
    directory.write("run.json", {"command": command, "started_s": started_s, "name": scenario})
    directory.write("summary.json", {**outcome.json(), "ended": ENDED})
    assert outcome.seen is not None
    record = RunRecord(
        scenario, command, started_s, ENDED, outcome.seen, outcome.log.newest(10_000)[::-1], outcome.objectives
    )
    directory.report.write_text(page(record), encoding="utf-8")


def gallery() -> tuple[str, ...]:
    """The scenarios that ship with Penstock."""
    return tuple(sorted(f.name.removesuffix(".yaml") for f in _folder().iterdir() if f.name.endswith(".yaml")))


def _folder() -> Any:
    return files("penstock.simulator") / "gallery"


def written_scenario(name: str) -> Written:
    if name in gallery():
        return read_yaml_text((_folder() / f"{name}.yaml").read_text(encoding="utf-8"), f"{name}.yaml")
    path = Path(name)
    if path.suffix not in (".yaml", ".yml") and not path.exists():
        raise InvalidInput(f"there is no scenario {name!r} in the gallery: {probably_meant(name, gallery())}")
    return read_yaml(path)


def simulate(written: Written, policy: Policy | None = None, seed: int | None = None) -> Json:
    """What came of a scenario, with the keys of `penstock run`."""
    return conduct(written, policy, seed, Outcome(ActionLog())).json()


def conduct(written: Written, policy: Policy | None, seed: int | None, outcome: Outcome) -> Outcome:
    """From the beginning to the end of a scenario."""
    read = read_scenario(written)
    regulation = _regulation(read, policy)
    if written.problems:
        raise InvalidInput(written.problems)
    scenario = read.scenario if seed is None else replace(read.scenario, seed=seed)
    engine, outcome.regulation = SimulatedEngine(scenario), regulation
    if any(rule.policy for rule in regulation.rules.values()):
        regulator = Regulator(engine, regulation, outcome.log, lambda: engine.now_s, scenario.seed, outcome.saw)
        while not engine.ended:
            regulator.step()
    else:
        while not engine.ended:
            outcome.saw_alone(engine)
    return outcome


def _regulation(read: ScenarioFile, policy: Policy | None) -> Regulation:
    """One policy for a topology; where there are several, each component has its own copy of its topology's."""
    own, rules = own_policies(), {}
    for model in read.scenario.topologies:
        name = model.topology.id
        mine = policy or (read_policy(read.policies[name], own) if name in read.policies else None)
        for component, part in model.components.items():
            promises = tuple(Promise(o) for o in part.objectives) or None
            rules[str(component)] = Rule(promises, mine if len(read.scenario.topologies) > 1 else None)
        if len(read.scenario.topologies) == 1:
            rules[REST] = Rule(policy=mine)
    return Regulation(rules)


@dataclass(slots=True)
class Outcome:
    """What a run came to: as a whole, and for each topology where there are several; `seen` is what a report needs."""

    log: ActionLog
    regulation: Regulation = field(default_factory=Regulation)
    seen: Seen | None = None
    whole: RunTotals = field(default_factory=RunTotals)
    by_topology: dict[TopologyId, RunTotals] = field(default_factory=dict)
    deployment: Deployment | None = None

    def saw(self, deployment: Deployment, snapshot: Snapshot) -> None:
        self.deployment = deployment
        self.whole.add(snapshot)
        if self.seen is not None:
            self.seen.add(deployment, snapshot)
        if len(deployment.topologies) > 1:
            for name in deployment.topologies:
                mine = {t: c for t, c in snapshot.components.items() if t.topology == name}
                self.by_topology.setdefault(name, RunTotals()).add(replace(snapshot, components=mine))

    def saw_alone(self, engine: SimulatedEngine) -> None:
        """Nobody regulates, so nothing changes and the deployment is asked for once."""
        snapshot = engine.observe()
        if snapshot is not None:
            self.saw(self.deployment or engine.describe(), snapshot)

    def json(self) -> Json:
        if self.deployment is None:
            raise InvalidInput("nothing was seen of the whole scenario: its metrics were lost from beginning to end")
        found = self._of(self.whole, self.deployment)
        if self.by_topology:
            found["topologies"] = {str(n): self._of(t, self.deployment) for n, t in self.by_topology.items()}
        return {**found, "changes": changes(self.log)}

    @property
    def objectives(self) -> dict[str, tuple[Any, ...]]:
        """By component, as a report wants them."""
        return {str(t.component): found for t in self.whole.components if (found := self._objectives(t))}

    def _of(self, totals: RunTotals, deployment: Deployment) -> Json:
        """Rows come in at the sources and go out where nothing follows; in between they are the same rows."""
        targets = list(totals.components)
        objectives = {t: self._objectives(t) for t in targets}
        first = [t for t in targets if not deployment.topologies[t.topology].parents(t.component)]
        last = [t for t in targets if not deployment.topologies[t.topology].children(t.component)]
        return {
            **totals.json(objectives),
            "rows_in": round(sum(totals.components[t].rows_in or 0 for t in first)),
            "rows_out": round(sum(totals.components[t].rows_completed for t in last)),
        }

    def _objectives(self, target: Target) -> tuple[Any, ...]:
        return tuple(p.objective for p in self.regulation.for_query(target.component).promises or ())


def table(summary: Mapping[str, Any]) -> str:
    """A line for each component."""
    head = ("component", "rows in", "completed", "dropped", "pending", "mean s", "p95 s", "success", "instances")
    lines = [head]
    for name, part in summary["components"].items():
        late = part["latency_s"]
        rows = (str(part[k]) for k in ("rows_in", "rows_completed", "rows_dropped", "pending"))
        figures = (late["mean"], late["p95"], part["success_share"], part["mean_instances"])
        lines.append((name, *rows, *("-" if f is None else f"{f:.4g}" for f in figures)))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    told = [
        "  ".join(w.rjust(n) if i else w.ljust(n) for i, (w, n) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    ]
    return "\n".join([*told, f"{len(summary['changes'])} changes"])
