"""Points in a plane, with what guides the eye among them: lines, a region, rings around the chosen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from microveil.reporting.charts.layout import Axis, Plot, plot_of, shortened, text_width
from microveil.reporting.charts.styles import Style, styles_for

_OFFSET = 9.0
_SPOT, _RING = 6.5, 11.5  # half the room of a mark, and of one with a ring or a box
# to the right and down: beside the mark, then above and below it
_DIRECTIONS = (
    (1, -0.6),
    (-1, -0.6),
    (1, 1),
    (-1, 1),
    (0, -1.2),
    (0, 1.6),
    (1, 0),
    (-1, 0),
    (1, -2),
    (-1, -2),
    (1, 2),
    (-1, 2),
)


@dataclass(frozen=True)
class Mark:
    """A point. `hint` is shown to who points at it, `label` stands beside it; `x_spread` and `y_spread` are the ends of
    error bars; a `ring` goes around the best, a `box` around the knee. On a page a mark with `href` leads there.
    """

    x: float
    y: float
    family: str
    hint: str
    label: str = ""
    emphasis: Literal["", "ring", "box"] = ""
    x_spread: tuple[float, float] | None = None
    y_spread: tuple[float, float] | None = None
    href: str = ""


@dataclass(frozen=True)
class Guide:
    """A line through some points."""

    points: Sequence[tuple[float, float]]
    dash: str = "6 3"
    colour: str = "#30353b"


@dataclass(frozen=True)
class Region:
    """All that lies at most so far to the right and, where that is bounded too, at most so high."""

    x_most: float
    text: str
    y_most: float | None = None


@dataclass(frozen=True)
class _Box:
    """The room that a label or a mark takes."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, x: float, y: float, reach: float) -> _Box:
        return cls(x - reach, y - reach, x + reach, y + reach)

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


@dataclass(frozen=True)
class _Label:
    """A text, the room it takes and, where it stands away from its mark, where the mark is."""

    x: float
    y: float
    anchor: str
    text: str
    strong: bool
    box: _Box
    mark: tuple[float, float] | None


def scatter(
    marks: Sequence[Mark],
    *,
    title: str,
    description: str,
    x: Axis,
    y: Axis,
    faint: Sequence[tuple[float, float, str]] = (),
    guides: Sequence[Guide] = (),
    region: Region | None = None,
    styles: Mapping[str, Style] | None = None,
    width: float = 860.0,
    height: float = 444.0,
) -> str:
    """Every mark in the style of its family; what lies beyond the axes stands at their ends. Points that are `faint`,
    each with its hint, lie behind the marks and have no style of their own."""
    families = list(dict.fromkeys(mark.family for mark in marks))
    shown = styles_for(sorted(families)) if styles is None else {f: styles[f] for f in styles if f in families}
    plot = plot_of(title, description, x, y, shown, width=width, height=height)
    labels = _placed(marks, plot)
    return plot.draw(
        "scatter",
        leads=any(mark.href for mark in marks),
        marks=[(plot.x(m.x), plot.y(m.y), shown[m.family], m) for m in marks],
        faint=[(plot.x(a), plot.y(b), hint) for a, b, hint in faint],
        x_bars=[(plot.y(m.y), *map(plot.x, m.x_spread)) for m in marks if m.x_spread],
        y_bars=[(plot.x(m.x), *map(plot.y, m.y_spread)) for m in marks if m.y_spread],
        labels=labels,
        guides=[(" ".join(f"{plot.x(a)},{plot.y(b)}" for a, b in guide.points), guide) for guide in guides],
        region=None if region is None else _region(region, plot),
    )


def _region(region: Region, plot: Plot) -> tuple[float, str, float]:
    """The right end of a region, its text and its upper end."""
    top = plot.top if region.y_most is None else plot.y(region.y_most)
    return plot.x(region.x_most), shortened(region.text, plot.right - plot.left), top


def _placed(marks: Sequence[Mark], plot: Plot) -> list[_Label]:
    """Labels beside their marks, none over another label or a mark: the emphasised ones first, each in the first place
    that is free, near or, with a line to its mark, farther away. A number for which no place is free is left out; the
    hint of its mark has it.
    """
    taken = [_Box.around(plot.x(mark.x), plot.y(mark.y), _RING if mark.emphasis else _SPOT) for mark in marks]
    placed = []
    for mark in sorted((mark for mark in marks if mark.label), key=lambda mark: not mark.emphasis):
        label = _free_place(mark, plot, taken)
        if label is not None:
            taken.append(label.box)
            placed.append(label)
    return placed


def _free_place(mark: Mark, plot: Plot, taken: Sequence[_Box]) -> _Label | None:
    x, y, strong = plot.x(mark.x), plot.y(mark.y), bool(mark.emphasis)
    size = 13.0 if strong else 11.0
    text = shortened(mark.label, plot.right - plot.left, size)
    wide = text_width(text, size)
    reaches = (_OFFSET + 4.0, 26.0, 44.0, 64.0, 90.0, 120.0) if strong else (_OFFSET, 16.0, 24.0, 34.0, 50.0, 70.0)
    for reach in reaches:
        for right, down in _DIRECTIONS:
            centre = x + right * (reach + wide / 2), y + down * reach + size / 3
            box = _Box(centre[0] - wide / 2, centre[1] - size, centre[0] + wide / 2, centre[1] + 3.0)
            inside = box.left >= plot.left and box.right <= plot.right and box.top >= 0 and box.bottom <= plot.bottom
            if inside and not any(box.meets(other) for other in taken):
                line = (x, y) if reach > 2 * _OFFSET else None
                return _Label(round(box.left, 1), round(centre[1], 1), "start", text, strong, box, line)
    return None
