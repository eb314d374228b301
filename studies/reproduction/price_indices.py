"""Four price indices and the same on other scales: Tables 6.1 to 6.3 of Nin (2008)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from microveil.microdata import Microdata
from microveil.numerics.series.normalising import normalised
from microveil.typing import FloatArray
from reproduction.base import Reproduction, Row, Rows, printed, row, whole

GROUPS = np.array([0, 1, 1, 0])  # of microaggregation with k = 2, by values and by slopes alike


def lines(table: str) -> dict[str, dict[str, str]]:
    """The printed cells of a table by index and year; those of Table 6.3 are its right ones, for it repeats Table 6.1
    in print."""
    return {line["index"]: _years(line) for line in printed("price_indices", table)}


def _years(line: Mapping[str, str]) -> dict[str, str]:
    return {year: cell for year, cell in line.items() if year.isdecimal()}


def cells(table: str) -> FloatArray:
    """The same as a matrix, a row an index.

    >>> cells("6.1")[0, :3].tolist()
    [106.5, 110.3, 114.9]
    """
    return np.array([[float(cell) for cell in line.values()] for line in lines(table).values()])


def indices(values: FloatArray) -> Microdata:
    """A table of four series, a column a year."""
    return Microdata.of({str(year): values[:, at] for at, year in enumerate(range(1993, 2002))}, series="wide")


def group_means() -> FloatArray:
    """What is published for the four."""
    values = cells("6.1")
    return np.array([values[group == GROUPS].mean(axis=0) for group in GROUPS])


def by_time_point() -> Rows:
    ranged = normalised(cells("6.1"), "range")
    for (index, line), found in zip(lines("6.2").items(), ranged, strict=True):
        for (year, shown), value in zip(line.items(), found, strict=True):
            yield row(f"{index} {year}", shown, float(value))


def by_series() -> Rows:
    """Print repeats Table 6.1, so that there is nothing to compare with but a recomputation."""
    scores = normalised(cells("6.1"), "series")
    for (index, line), found in zip(lines("6.3").items(), scores, strict=True):
        for (year, right), value in zip(line.items(), found, strict=True):
            yield Row(f"{index} {year}", None, float(value), 4, recomputed=float(right))


TABLES = (
    Reproduction(
        "series-6.2",
        "Price indices, each year between 0 and 1",
        "Nin (2008), Table 6.2",
        whole(by_time_point),
        36,
        0.1,
    ),
    Reproduction(
        "series-6.3",
        "Price indices, each on its own scale",
        "Nin (2008), Table 6.3",
        whole(by_series),
        36,
        0.1,
        why="the print repeats Table 6.1 by mistake",
    ),
)
