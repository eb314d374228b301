"""Horizontal bars: one for each name, or one for each name and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from microveil.reporting.charts.layout import Axis, plot_of, text_width
from microveil.reporting.charts.scales import round_limits
from microveil.reporting.charts.styles import area_styles

_THICK, _APART = 14.0, 8.0


def bars(
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    title: str,
    description: str,
    x_title: str,
    x_limits: tuple[float, float] | None = None,
    number: str = "{:.1f}",
    width: float = 860.0,
) -> str:
    """The names from top to bottom, the value at the end of each bar. Of two series the first is filled, the second an
    outline, such as a table before and after masking.
    """
    values = [value for heights in series.values() for value in heights]
    low, high = x_limits or round_limits(min([0.0, *values]), max([0.0, *values]))
    styles = area_styles(list(series))
    tall = (_THICK * len(series) + _APART) * max(1, len(names))
    plot = plot_of(
        *(title, description),
        Axis(x_title, low, high + (high - low) * text_width(number.format(high)) / (width * 0.6)),
        Axis("", 0.5 - max(1, len(names)), 0.5),
        styles if len(series) > 1 else {},
        width=width,
        height=tall,
        y_names=names,
    )
    drawn = []
    for position, (name, heights) in enumerate(series.items()):
        for row, value in enumerate(heights):
            top = plot.y(-row) + _THICK * (position - len(series) / 2)
            start, end = sorted((plot.x(0.0), plot.x(value)))
            text = number.format(value)
            hint = f"{names[row]}, {name}: {text}" if len(series) > 1 else f"{names[row]}: {text}"
            drawn.append((round(start, 1), round(top + 1, 1), round(end - start, 1), styles[name], text, hint))
    return plot.draw("bars", bars=drawn, thick=_THICK - 2)
