"""Curves over a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from microveil.display import number as number_text
from microveil.reporting.charts.layout import Axis, plot_of
from microveil.reporting.charts.scales import round_limits, widened
from microveil.reporting.charts.styles import styles_for

_MOST_MARKS = 60  # points of a line that are marked; more would cover it


@dataclass(frozen=True)
class Line:
    """A series of points from left to right; a `band` has the low and the high end at each of them."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] | None = None


def lines(
    series: Sequence[Line],
    *,
    title: str,
    description: str,
    x_title: str,
    y_title: str,
    y_limits: tuple[float, float] | None = None,
    width: float = 860.0,
    height: float = 300.0,
) -> str:
    """Each series with its own marks and dashes. Without limits the upright axis fits the values and includes 0."""
    across = [x for line in series for x, _ in line.points]
    up = [y for line in series for _, y in line.points] + [end for line in series for e in line.band or () for end in e]
    low, high = widened(min(across, default=0.0), max(across, default=1.0))
    y_low, y_high = y_limits or round_limits(min([0.0, *up]), max([0.0, *up], default=1.0))
    styles = styles_for([line.name for line in series])
    plot = plot_of(
        title, description, Axis(x_title, low, high), Axis(y_title, y_low, y_high), styles, width=width, height=height
    )
    drawn = []
    for line in series:
        at = [(plot.x(x), plot.y(y)) for x, y in line.points]
        band = ""
        if line.band is not None:
            there = [(plot.x(x), plot.y(high)) for (x, _), (_, high) in zip(line.points, line.band, strict=True)]
            back = [(plot.x(x), plot.y(low)) for (x, _), (low, _) in zip(line.points, line.band, strict=True)]
            band = _joined([*there, *reversed(back)])
        hints = [f"{line.name}: {number_text(y)} at {number_text(x)}" for x, y in line.points]
        marks = [(*point, hint) for point, hint in zip(at, hints, strict=True)]
        drawn.append((styles[line.name], _joined(at), band, marks if len(marks) <= _MOST_MARKS else []))
    return plot.draw("lines", series=drawn)


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
