"""Figures over a parameter, such as loss and risk over k: as a grid for the page, and as pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from microveil.reporting.charts.lines import Line, lines
from reproduction.base import Picture, Row
from reproduction.running import Outcome

FOLDER = "images"  # of the pictures, beside the page
Curves = dict[str, dict[float, dict[str, float]]]


def curves(rows: Sequence[Row], over: str) -> Curves:
    """The measured figures by curve and parameter.

    >>> curves([Row("all, K=2: IL", None, 0.25), Row("all, K=3: IL", None, 0.5)], "K")
    {'all': {2.0: {'IL': 0.25}, 3.0: {'IL': 0.5}}}
    """
    label = re.compile(rf"(.+), {re.escape(over)}=([\d.]+): (.+)")
    found: Curves = {}
    for row in rows:
        parts = label.fullmatch(row.label)
        if parts is not None and row.measured is not None:
            found.setdefault(parts[1], {}).setdefault(float(parts[2]), {})[parts[3]] = row.measured
    return found


def grid(rows: Sequence[Row], over: str) -> Iterator[str]:
    """A line for each curve and parameter, a column for each figure; curves with other figures have a table of their
    own."""
    before: tuple[str, ...] = ()
    for curve, points in curves(rows, over).items():
        for at, figures in points.items():
            names = tuple(figures)
            if names != before:
                yield from [""] if before else []
                yield f"| curve | {over} | {' | '.join(names)} |\n|{'---|' * (len(names) + 2)}"
                before = names
            yield f"| {curve} | {at:g} | {' | '.join(f'{value:.3f}' for value in figures.values())} |"
    yield ""


def drawings(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """All pictures by their names."""
    return {
        picture.name: drawn(picture, curves(outcome.rows, outcome.reproduction.over), outcome.reproduction.over)
        for outcome in outcomes
        for picture in outcome.reproduction.pictures
    }


def drawn(picture: Picture, found: Mapping[str, Mapping[float, Mapping[str, float]]], over: str) -> str:
    """Curves that were not measured, as in a quick form, are left out."""
    single = len(picture.curves) == 1
    made = []
    for curve in picture.curves:
        for figure in picture.figures:
            points = [(at, figures[figure]) for at, figures in found.get(curve, {}).items() if figure in figures]
            name = figure if single else curve if len(picture.figures) == 1 else f"{curve}: {figure}"
            made += [Line(name, points)] if points else []
    told = "; ".join(f"{line.name} from {line.points[0][1]:.3f} to {line.points[-1][1]:.3f}" for line in made)
    y_title = "loss or risk, share of 1"
    return lines(made, title=picture.title, description=told, x_title=over, y_title=y_title)
