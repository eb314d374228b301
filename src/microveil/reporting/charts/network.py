"""A small graph as a drawing: one node in the middle, and those linked to it around."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from microveil.reporting.charts.layout import shortened, text_width
from microveil.reporting.pages import render

_SIZE, _HEIGHT, _RADIUS, _DOT, _GAP, _NAMES = 420.0, 320.0, 110.0, 6.0, 10.0, 90.0


@dataclass(frozen=True)
class _Node:
    x: float
    y: float
    name: str
    anchor: str
    label_x: float
    label_y: float
    hint: str
    is_centre: bool


def network(
    names: Sequence[str], links: Sequence[tuple[int, int]], hints: Sequence[str], *, title: str, description: str
) -> str:
    """The first node is the one in the middle; `links` are pairs of numbers of nodes."""
    middle_x, middle_y = _SIZE / 2, _HEIGHT / 2
    nodes = []
    for i, (name, hint) in enumerate(zip(names, hints, strict=True)):
        angle = 2 * math.pi * (i - 1) / max(1, len(names) - 1) - math.pi / 2
        across, up = (0.0, 0.0) if i == 0 else (math.cos(angle), math.sin(angle))
        x, y = middle_x + _RADIUS * across, middle_y + _RADIUS * up
        anchor = "middle" if abs(across) < 0.3 else "start" if across > 0 else "end"
        shown = shortened(name, _NAMES)
        away = _DOT + _GAP
        label_y = y + away * (1.2 if i == 0 or up > 0 else -0.6) + 4 if anchor == "middle" else y + 4
        label_x = x if anchor == "middle" else x + (away if anchor == "start" else -away)
        assert text_width(shown) <= _NAMES + 1
        nodes.append(_Node(round(x, 1), round(y, 1), shown, anchor, round(label_x, 1), round(label_y, 1), hint, i == 0))
    drawn = [(nodes[a], nodes[b], 0 in (a, b)) for a, b in links]
    return render(
        "charts/network.svg", title=title, description=description, width=_SIZE, height=_HEIGHT, nodes=nodes,
        links=drawn, dot=_DOT,
    )  # fmt: skip
