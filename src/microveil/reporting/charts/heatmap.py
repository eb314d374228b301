"""A square table of numbers as coloured cells, such as correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from microveil.reporting.charts.layout import shortened, text_width
from microveil.reporting.pages import render

_CELL, _SMALL_CELL, _MANY = 44.0, 16.0, 14
_EDGE, _GAP, _NAMES = 12.0, 8.0, 130.0
_BELOW, _ABOVE = (180, 83, 31), (37, 99, 168)  # the colours of the least and the greatest value
_DARK, _LIGHT = "#1f2328", "#ffffff"


@dataclass(frozen=True)
class _Cell:
    x: float
    y: float
    fill: str
    ink: str
    text: str
    hint: str


def heatmap(
    names: Sequence[str], values: Sequence[Sequence[float]], *, title: str, description: str, most: float = 1.0
) -> str:
    """Rows and columns have the same names. The colours run from -`most` over white to `most`; where there are not too
    many cells the numbers stand in them. A cell without a number is left open.
    """
    side = _CELL if len(names) <= _MANY else _SMALL_CELL
    shown = [shortened(name, _NAMES) for name in names]
    room = max((text_width(name) for name in shown), default=0.0)
    left = top = round(_EDGE + room + _GAP, 1)
    cells = []
    for row, numbers in enumerate(values):
        for column, value in enumerate(numbers):
            strength = 0.0 if math.isnan(value) else max(-1.0, min(1.0, value / most))
            cells.append(
                _Cell(
                    round(left + side * column, 1),
                    round(top + side * row, 1),
                    _colour(strength),
                    _LIGHT if abs(strength) > 0.65 else _DARK,
                    "" if side < _CELL else "–" if math.isnan(value) else f"{round(value, 2) + 0.0:.2f}",
                    f"{names[row]} and {names[column]}: " + ("none" if math.isnan(value) else f"{value:.3f}"),
                )
            )
    extent = round(left + side * len(names) + _EDGE, 1)
    return render(
        "charts/heatmap.svg", title=title, description=description, width=extent, height=extent, cells=cells, side=side,
        names=[(name, round(left + side * (i + 0.5), 1)) for i, name in enumerate(shown)], left=left, top=top,
    )  # fmt: skip


def _colour(strength: float) -> str:
    end = _ABOVE if strength >= 0 else _BELOW
    mixed = (round(255 + (part - 255) * abs(strength)) for part in end)
    return "#" + "".join(f"{part:02x}" for part in mixed)
