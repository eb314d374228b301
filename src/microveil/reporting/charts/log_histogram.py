"""How many fall into each step of a scale of powers of ten, few as well as many: both axes are logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from microveil.reporting.charts.layout import Axis, plot_of, shortened, text_width
from microveil.reporting.charts.styles import area_styles

_FLOOR = 0.35  # how high a single one stands, so that it is seen
_FIRST = 0.4  # how wide the first step is, in powers of ten, which has no lower end


def log_histogram(
    edges: Sequence[float],
    series: Mapping[str, Sequence[int]],
    *,
    title: str,
    description: str,
    x_title: str,
    y_title: str,
    threshold: float | None = None,
    threshold_text: str = "",
    width: float = 860.0,
    height: float = 200.0,
) -> str:
    """One step for each pair of edges, of which the first is 0. Of two series the first is filled, the second is an
    outline over it. A threshold is an upright line."""
    places = [math.log10(edges[1]) - _FIRST, *(math.log10(edge) for edge in edges[1:])]
    most = max((number for numbers in series.values() for number in numbers), default=0)
    powers = range(max(1, math.ceil(math.log10(max(most, 1)) - 1e-9)) + 1)
    styles = area_styles(list(series))
    whole = [edge for edge in edges[1:] if math.isclose(math.log10(edge), round(math.log10(edge)), abs_tol=1e-9)]
    plot = plot_of(
        *(title, description),
        Axis(x_title, places[0], places[-1]),
        Axis(y_title, 0.0, _height(10 ** powers[-1])),
        styles if len(series) > 1 else {},
        width=width,
        height=height,
        x_names=[(math.log10(edge), f"{edge:g}") for edge in (whole if len(whole) > 1 else edges[1:])],
        y_marks=[(0.0, "0"), *((_height(10**power), f"{10**power:,}") for power in powers)],
    )
    drawn = []
    for name, numbers in series.items():
        corners = [(plot.x(places[0]), plot.bottom)]
        for (left, right), number in zip(pairwise(places), numbers, strict=True):
            corners += [(plot.x(left), plot.y(_height(number))), (plot.x(right), plot.y(_height(number)))]
        corners.append((plot.x(places[-1]), plot.bottom))
        drawn.append((styles[name], " ".join(f"{x},{y}" for x, y in corners)))
    hints = []
    for step, (left, right) in enumerate(pairwise(places)):
        told = ", ".join(f"{name} {numbers[step]:,}" for name, numbers in series.items())
        between = f"up to {edges[1]:g}" if step == 0 else f"{edges[step]:g} to {edges[step + 1]:g}"
        hints.append((plot.x(left), plot.x(right), f"{between}: {told}"))
    line = None
    if threshold is not None:
        at = plot.x(min(max(math.log10(threshold), places[0]), places[-1]))
        text = shortened(threshold_text, plot.right - plot.left)
        line = (at, text, "end" if at + text_width(text) + 6 > plot.right else "start")
    return plot.draw("log_histogram", series=drawn, hints=hints, threshold=line)


def _height(number: int) -> float:
    """Where a number stands: nothing at the bottom, and each power of ten one higher."""
    return math.log10(number) + _FLOOR if number else 0.0
