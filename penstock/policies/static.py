"""Static: one parallelism for every component, brought about once; none given, nothing is ever done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.changes import Rescale, Target
from penstock.policies.policy import Decision, Memory, View


@dataclass(frozen=True, slots=True)
class Static:
    """
    parallelism   what each component is brought to when it is first seen; what changes it later is left alone
    """

    parallelism: int | None = None

    @property
    def name(self) -> str:
        return "static"

    def decide(self, view: View, memory: Memory, rng: np.random.Generator) -> Decision:
        latest = view.history.latest
        if self.parallelism is None or latest is None:
            return Decision(why="everything stays as it is", memory=memory)
        done = list(memory.get("done", ()))
        new = [t for t in view.targets if t in latest.components and str(t) not in done]
        parts = tuple(part for t in new if (part := self._rescale(view, t)))
        why = f"parallelism {self.parallelism} was asked for" if parts else "everything is as it was asked for"
        return Decision(parts, self._alerts(view, new), why, {"done": [*done, *map(str, new)]})

    def _rescale(self, view: View, target: Target) -> Rescale | None:
        assert self.parallelism is not None
        wanted = view.bounds[target].nearest(self.parallelism)
        return Rescale(target, wanted) if wanted != view.deployment.parallelism(target) else None

    def _alerts(self, view: View, targets: list[Target]) -> tuple[str, ...]:
        asked = self.parallelism
        bounded = [t for t in targets if asked not in view.bounds[t]]
        return tuple(
            f"{t} gets {view.bounds[t].nearest(asked or 1)} instances, not {asked}: its bound" for t in bounded
        )
