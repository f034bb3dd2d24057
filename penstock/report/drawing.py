"""A topology as a picture: components from left to right, each after those that feed it."""

from __future__ import annotations

from html import escape

from penstock.ids import ComponentId
from penstock.topology.topology import Topology

BOX_PX = (150, 44)
GAP_PX = (70, 22)
MARGIN_PX = 8


def columns(topology: Topology) -> list[list[ComponentId]]:
    """Each component as far left as its feeders allow."""
    depth: dict[ComponentId, int] = {}
    for c in topology.in_order:
        depth[c] = 1 + max((depth[p] for p in topology.parents(c)), default=-1)
    return [[c for c in topology.in_order if depth[c] == d] for d in range(max(depth.values(), default=-1) + 1)]


def drawing(topology: Topology) -> str:
    if len(topology.components) < 2:
        return ""
    places = _places(columns(topology))
    width = max(x for x, _ in places.values()) + BOX_PX[0] + MARGIN_PX
    height = max(y for _, y in places.values()) + BOX_PX[1] + MARGIN_PX
    edges = "".join(_edge(places[s.source], places[s.target], s.grouping) for s in topology.streams)
    nodes = "".join(_node(c, at, topology) for c, at in places.items())
    return (
        f'<div class="wide"><svg class="topology" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="topology">{edges}{nodes}</svg></div>'
    )


def _places(found: list[list[ComponentId]]) -> dict[ComponentId, tuple[int, int]]:
    tallest = max(map(len, found))
    pitch = BOX_PX[1] + GAP_PX[1]
    return {
        c: (MARGIN_PX + d * (BOX_PX[0] + GAP_PX[0]), MARGIN_PX + i * pitch + (tallest - len(column)) * pitch // 2)
        for d, column in enumerate(found)
        for i, c in enumerate(column)
    }


def _edge(source: tuple[int, int], target: tuple[int, int], grouping: str) -> str:
    x1, y1 = source[0] + BOX_PX[0], source[1] + BOX_PX[1] // 2
    x2, y2 = target[0], target[1] + BOX_PX[1] // 2
    bend = (x2 - x1) // 2
    return (
        f'<path class="edge" d="M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2 - 2} {y2}">'
        f'<title>{escape(grouping)}</title></path><path class="tip" d="M{x2} {y2}l-7 -4v8z"/>'
    )


def _node(component: ComponentId, at: tuple[int, int], topology: Topology) -> str:
    x, y = at
    known = topology[component]
    substreams = f", {known.substreams} substreams" if known.substreams else ""
    name = component if len(component) <= 19 else f"{component[:18]}…"
    return (
        f'<g class="node"><title>{escape(component)}</title>'
        f'<rect x="{x}" y="{y}" width="{BOX_PX[0]}" height="{BOX_PX[1]}" rx="6"/>'
        f'<text x="{x + 12}" y="{y + 19}">{escape(name)}</text>'
        f'<text class="small" x="{x + 12}" y="{y + 35}">p = {known.parallelism}{substreams}</text></g>'
    )
