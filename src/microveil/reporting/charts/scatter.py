"""Points in a plane, with what guides the eye among them: lines, a region, rings around the chosen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from microveil.reporting.charts.layout import Axis, Plot, plot_of, shortened, text_width
from microveil.reporting.charts.looks import Look, looks_for

_OFFSET = 9.0


@dataclass(frozen=True)
class Mark:
    """A point. `hint` is shown to who points at it, `label` stands beside it; `x_spread` and `y_spread` are the ends of
    error bars; a `ring` goes around the best, a `box` around the knee.
    """

    x: float
    y: float
    family: str
    hint: str
    label: str = ""
    emphasis: Literal["", "ring", "box"] = ""
    x_spread: tuple[float, float] | None = None
    y_spread: tuple[float, float] | None = None


@dataclass(frozen=True)
class Guide:
    """A line through some places."""

    points: Sequence[tuple[float, float]]
    dash: str = "6 3"
    colour: str = "#30353b"


@dataclass(frozen=True)
class Region:
    """All that lies at most so far to the right."""

    x_most: float
    text: str


@dataclass(frozen=True)
class _Label:
    x: float
    y: float
    anchor: str
    text: str
    strong: bool


def scatter(
    marks: Sequence[Mark],
    *,
    title: str,
    description: str,
    x: Axis,
    y: Axis,
    guides: Sequence[Guide] = (),
    region: Region | None = None,
    looks: Mapping[str, Look] | None = None,
    width: float = 860.0,
    height: float = 444.0,
) -> str:
    """Every mark in the look of its family; what lies beyond the axes stands at their ends."""
    families = list(dict.fromkeys(mark.family for mark in marks))
    shown = looks_for(sorted(families)) if looks is None else {f: looks[f] for f in looks if f in families}
    plot = plot_of(title, description, x, y, shown, width=width, height=height)
    labels = [_label(mark, plot) for mark in marks if mark.label]
    return plot.draw(
        "scatter",
        marks=[(plot.x(m.x), plot.y(m.y), shown[m.family], m) for m in marks],
        x_bars=[(plot.y(m.y), *map(plot.x, m.x_spread)) for m in marks if m.x_spread],
        y_bars=[(plot.x(m.x), *map(plot.y, m.y_spread)) for m in marks if m.y_spread],
        labels=labels,
        guides=[(" ".join(f"{plot.x(a)},{plot.y(b)}" for a, b in guide.points), guide) for guide in guides],
        region=None if region is None else (plot.x(region.x_most), shortened(region.text, plot.right - plot.left)),
    )


def _label(mark: Mark, plot: Plot) -> _Label:
    """Beside its mark, on the side where there is room; an emphasised one below and to the left of it, where no mark is
    better and so none is in the way."""
    x, y, strong = plot.x(mark.x), plot.y(mark.y), bool(mark.emphasis)
    text = shortened(mark.label, plot.right - _OFFSET)
    wide = text_width(text, 13.0 if strong else 11.0)
    down = y + 26.0 if strong and y + 30.0 <= plot.bottom else y - 16.0 if strong else y - 5.0
    down = round(max(down, plot.top + 10.0), 1)
    left_is_free = strong and x - _OFFSET - wide >= plot.left
    if x + _OFFSET + wide <= plot.right and not left_is_free:
        return _Label(round(x + _OFFSET, 1), down, "start", text, strong)
    return _Label(round(max(x - _OFFSET, wide), 1), down, "end", text, strong)
