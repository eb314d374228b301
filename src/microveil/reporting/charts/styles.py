"""The styles of series: they differ in shape, colour and dashes together, so that black and white print will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SHAPES = ("circle", "square", "triangle", "diamond", "down", "plus", "cross")
_COLOURS = ("#2563a8", "#b4531f", "#3b7d3c", "#7a3e93", "#8a6d00", "#a3294e", "#33707a", "#4a5058")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5")


@dataclass(frozen=True)
class Style:
    """A shape (circle, square, triangle, diamond, down, plus or cross; bar for an area), a colour and dashes."""

    shape: str
    colour: str
    dash: str = ""
    outline: bool = False


# the table as it was lies behind as an area; the released one is drawn over it as an outline
BEFORE = Style("bar", "#c3c8ce")
AFTER = Style("bar", "#2563a8", outline=True)
SINGLE = Style("bar", "#5b8ec4")


def styles_for(names: Sequence[str]) -> dict[str, Style]:
    """A style for each name, in their order; the first fifty or so all differ.

    >>> styles_for(["mdav", "noise"])["noise"].shape
    'square'
    """
    return {
        name: Style(_SHAPES[i % len(_SHAPES)], _COLOURS[i % len(_COLOURS)], _DASHES[i % len(_DASHES)])
        for i, name in enumerate(names)
    }


def area_styles(names: Sequence[str]) -> dict[str, Style]:
    """Styles for areas and bars: one alone, one behind another, or as many as there are."""
    if len(names) == 1:
        return {names[0]: SINGLE}
    if len(names) == 2:
        return dict(zip(names, (BEFORE, AFTER), strict=True))
    return {name: Style("bar", _COLOURS[i % len(_COLOURS)]) for i, name in enumerate(names)}
