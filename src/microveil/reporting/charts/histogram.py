"""How often values fall between given edges, for one table or for two drawn over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from microveil.display import number as number_text
from microveil.reporting.charts.layout import Axis, plot_of
from microveil.reporting.charts.scales import round_limits
from microveil.reporting.charts.styles import area_styles


def histogram(
    edges: Sequence[float],
    series: Mapping[str, Sequence[float]],
    *,
    title: str,
    description: str,
    x_title: str,
    y_title: str,
    number: str = "{:.1f}",
    width: float = 430.0,
    height: float = 180.0,
) -> str:
    """One step for each pair of edges. Of two series the first is filled, the second is an outline over it."""
    top = max((height for heights in series.values() for height in heights), default=0.0)
    styles = area_styles(list(series))
    plot = plot_of(
        *(title, description),
        Axis(x_title, edges[0], edges[-1]),
        Axis(y_title, *round_limits(0.0, top or 1.0, 4)),
        styles if len(series) > 1 else {},
        width=width,
        height=height,
    )
    drawn = []
    for name, heights in series.items():
        corners = [(plot.x(edges[0]), plot.bottom)]
        for (left, right), height_of in zip(pairwise(edges), heights, strict=True):
            corners += [(plot.x(left), plot.y(height_of)), (plot.x(right), plot.y(height_of))]
        corners.append((plot.x(edges[-1]), plot.bottom))
        drawn.append((styles[name], " ".join(f"{x},{y}" for x, y in corners)))
    hints = []
    for position, (left, right) in enumerate(pairwise(edges)):
        told = ", ".join(f"{name} {number.format(heights[position])}" for name, heights in series.items())
        hints.append((plot.x(left), plot.x(right), f"{number_text(left)} to {number_text(right)}: {told}"))
    return plot.draw("histogram", series=drawn, hints=hints)
