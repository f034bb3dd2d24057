"""DRS (Fu et al.), as StreamSwitch was measured against it (6): how many instances, by a queue with k servers.

M/M/k with the margin in the service rate says how many; which substreams go where is StreamSwitch's choice. DRS-LB also
balances whenever DRS does not scale. On micro-batches, where rows do not queue one by one, the batch law takes the
queue's place, with the load spread evenly as M/M/k has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.changes import Assign, PartKind, Target
from penstock.models.erlang import least_servers
from penstock.objectives.objective import Latency
from penstock.policies.componentwise import Wish, componentwise, rescale
from penstock.policies.figures import Figures
from penstock.policies.policy import Decision, Memory, View
from penstock.policies.streamswitch import tightest
from penstock.policies.streamswitch_diagnose import Goals, Health, health
from penstock.policies.streamswitch_even import Even, examine_even
from penstock.policies.streamswitch_examine import Asked, Invalid, State, examine, is_batched
from penstock.policies.streamswitch_moves import best_balance, best_scale_out
from penstock.policies.streamswitch_scale_in import best_scale_in
from penstock.policies.streamswitch_setting import Setting, Strategy
from penstock.policies.streamswitch_words import named
from penstock.topology.assignment import Assignment

ALERT_S = 0.1  # StreamSwitch's l: when DRS-LB balances
MOST = 10_000  # instances: nobody has more


@dataclass(frozen=True, slots=True)
class Drs:
    """
    margin     of the service rate: the paper gives DRS the same as StreamSwitch
    balances   DRS-LB
    """

    margin: float = 0.2
    balances: bool = False

    @property
    def name(self) -> str:
        return "drs-lb" if self.balances else "drs"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        def regulate(target: Target, since_s: float, own: Mapping[str, Any]) -> Wish:
            objective = tightest(view, target)
            if objective is None:
                return Wish("no latency was asked for")
            wish = Asked(objective.limit_s, objective.window_s, self.margin, objective.quantile)
            even = examine_even(view, Figures.since(view, target, since_s), view.deployment.parallelism(target), wish)
            if isinstance(even, Invalid):
                return Wish(even.why)
            wanted = view.bounds[target].nearest(self._servers(even, objective.limit_s, view) or even.parallelism)
            why = f"{even.rows_per_s:.0f} rows/s need {wanted} instances for {objective.limit_s:g} s"
            if target not in view.deployment.assignments or PartKind.ASSIGN not in view.deployment.capabilities.parts:
                return Wish(why, rescale(view, target, wanted))
            return self._assigned(view, target, (wanted, why), examine(view, target, since_s, wish))

        return componentwise(view, memory, regulate)

    def _servers(self, even: Even, limit_s: float, view: View) -> int | None:
        if not is_batched(view):
            return least_servers(even.rows_per_s, (1 - self.margin) * even.service_rows_per_s, limit_s)
        return next((k for k in range(1, MOST) if even.level_s(k) <= limit_s), None)

    def _assigned(self, view: View, target: Target, wanted: tuple[int, str], state: State | Invalid) -> Wish:
        if isinstance(state, Invalid):
            return Wish(state.why)
        parallelism, reason = wanted
        after = brought_to(state.setting, parallelism)
        objective = tightest(view, target)
        if self.balances and objective is not None and parallelism == state.setting.instances:
            after, reason = _balanced(state, objective)
        if np.array_equal(after.instance_of, state.setting.instance_of):
            return Wish(reason)
        return Wish(reason, Assign(target, Assignment(tuple(after.instance_of.tolist()))))


def brought_to(setting: Setting, instances: int) -> Setting:
    """By StreamSwitch's own unit strategies: out of the worst instance into a new one, and the best pair into one."""
    while setting.instances != instances:
        strategy = _towards(setting, instances)
        if strategy is None:
            break
        setting = setting.after(strategy)
    return setting


def _towards(setting: Setting, instances: int) -> Strategy | None:
    if setting.instances > instances:
        return best_scale_in(setting)
    worst_first = np.argsort(-setting.levels_s, kind="stable")
    return next((s for i in worst_first if (s := best_scale_out(setting, int(i))) is not None), None)


def _balanced(state: State, objective: Latency) -> tuple[Setting, str]:
    """StreamSwitch's move, where an instance is severe."""
    setting = state.setting
    goals = Goals(objective.limit_s, min(ALERT_S, objective.limit_s / 2))
    if health(state.latency_s, setting.levels_s, goals) is not Health.SEVERE:
        return setting, "as many instances as the load needs, and no instance is too slow"
    source = int(np.argmax(setting.levels_s))
    move = best_balance(setting, source)
    if move is None:
        return setting, "as many instances as the load needs, and no move helps"
    return setting.after(move), f"moving {named(move)} from instance {source} to instance {move.destination}"
