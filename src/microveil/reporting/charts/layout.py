"""The layout of a chart: margins, axes and legend, wide enough for all texts."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from microveil.reporting.charts.scales import Scale, tick_texts, ticks_between
from microveil.reporting.charts.styles import Style
from microveil.reporting.pages import render

FONT = 12.0
_EDGE, _GAP = 12.0, 8.0
_LEGEND_ROW, _LEGEND_MARK = 20.0, 14.0
_AXIS_TITLE, _TICK_ROW = 22.0, 20.0
_LETTER, _WIDE_LETTER = 0.6, 1.05  # generous shares of the font's size


@dataclass(frozen=True)
class Axis:
    """What an axis shows: its title, and its limits."""

    title: str
    low: float
    high: float


@dataclass(frozen=True)
class LegendEntry:
    """A mark with its name."""

    x: float
    y: float
    text: str
    style: Style


@dataclass(frozen=True)
class Plot:
    """A chart's paper; `x` and `y` say where on it a value stands."""

    title: str
    description: str
    width: float
    height: float
    x: Scale
    y: Scale
    x_title: str
    y_title: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    legend: tuple[LegendEntry, ...]

    @property
    def left(self) -> float:
        return self.x.start

    @property
    def right(self) -> float:
        return self.x.end

    @property
    def top(self) -> float:
        return self.y.end

    @property
    def bottom(self) -> float:
        return self.y.start

    def draw(self, template: str, **values: Any) -> str:
        return render(f"charts/{template}.svg", plot=self, **values)


def plot_of(
    title: str,
    description: str,
    x: Axis,
    y: Axis,
    legend: Mapping[str, Style],
    *,
    width: float,
    height: float,
    y_names: Sequence[str] | None = None,
    x_names: Sequence[tuple[float, str]] | None = None,
    y_marks: Sequence[tuple[float, str]] | None = None,
) -> Plot:
    """Lay out axes, ticks and a legend below. `height` is that of the area for the data.

    `y_names` stand at 0, -1, -2, ... of the upright axis instead of numbers; `x_names` at values of the other axis,
    and `y_marks` at values of the upright one.
    """
    y_values = [-float(i) for i in range(len(y_names))] if y_names is not None else ticks_between(y.low, y.high)
    y_texts = [shortened(n, width * 0.3) for n in y_names] if y_names is not None else tick_texts(y_values)
    if y_marks is not None:
        y_values, y_texts = [value for value, _ in y_marks], [text for _, text in y_marks]
    beside = max((text_width(text) for text in y_texts), default=0.0)
    left = round(_EDGE + (_AXIS_TITLE if y.title else 0.0) + beside + _GAP, 1)
    if x_names is None:
        room = max(2, int((width - left) / 90))
        x_values = ticks_between(x.low, x.high, min(8, room))
        x_names = list(zip(x_values, tick_texts(x_values), strict=True))
    overhang = max((text_width(text) / 2 for _, text in x_names), default=0.0)
    right, top = round(width - _EDGE - min(overhang, 40.0), 1), _EDGE
    across, up = Scale(x.low, x.high, left, right), Scale(y.low, y.high, round(top + height, 1), top)
    below = top + height + _TICK_ROW + (_AXIS_TITLE if x.title else 0.0)
    entries, lowest = _legend(legend, left, right, below)
    return Plot(
        title,
        description,
        width,
        round(lowest + _EDGE, 1),
        across,
        up,
        shortened(x.title, right - left, 13.0),
        shortened(y.title, max(height, 60.0), 13.0),
        tuple((across(value), shortened(text, 80.0)) for value, text in x_names),
        tuple((up(value), text) for value, text in zip(y_values, y_texts, strict=True)),
        entries,
    )


def _legend(
    styles: Mapping[str, Style], left: float, right: float, top: float
) -> tuple[tuple[LegendEntry, ...], float]:
    """The entries in rows, and where the last row ends."""
    entries = []
    x, y = left, top + _LEGEND_ROW
    for name, style in styles.items():
        text = shortened(name, right - left - _LEGEND_MARK)
        wide = _LEGEND_MARK + text_width(text) + 2 * _GAP
        if x > left and x + wide > right:
            x, y = left, y + _LEGEND_ROW
        entries.append(LegendEntry(round(x + 6, 1), round(y - 4, 1), text, style))
        x += wide
    return tuple(entries), y if entries else top


def text_width(text: str, size: float = FONT) -> float:
    """About how wide a text is, rather too much than too little: fonts differ from reader to reader."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (_LETTER * (len(text) - wide) + _WIDE_LETTER * wide)


def shortened(text: str, room: float, size: float = FONT) -> str:
    """The text, cut with an ellipsis where it needs more room than there is.

    >>> shortened("a very long name of an attribute", 100)
    'a very long …'
    """
    text = " ".join(text.split())
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text + "…"
