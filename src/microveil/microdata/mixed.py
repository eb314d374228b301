"""Attributes of any kind as numeric columns, for distances over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microveil.microdata.distances import OrdinalDistance, category_distance
from microveil.microdata.microdata import Microdata
from microveil.numerics.neighbours.mixed_distance import MEAN, MEDIAN, MODE, Axes
from microveil.typing import FloatArray


def mixed_columns(
    data: Microdata,
    names: Sequence[str],
    ordinal_distance: OrdinalDistance = "inclusive",
    *,
    numeric_centre: int = MEAN,
    deviations: bool = False,
    squared: bool = False,
    exact: bool = True,
) -> tuple[FloatArray, Axes]:
    """A column for each attribute, and how distances are taken on it.

    Nominal categories are at distance 1, ordered ones as `ordinal_distance` says, numbers at their difference over
    their range, or over their standard deviation. Missing cells are put at the middle of the others; records in which
    different cells are missing are 1 further apart for each.
    """
    columns: list[FloatArray] = []
    axes: list[tuple[float, float, int]] = []
    for name in names:
        column, axis = _column(data, name, ordinal_distance, numeric_centre, deviations)
        states = data.missing_states(name)
        present = np.sort(column[states == 0])
        middle = present[(len(present) - 1) // 2] if len(present) else 0.0
        columns.append(np.where(states > 0, middle, column))
        axes.append(axis)
        if states.any():
            columns.append(states.astype(np.float64))
            axes.append((0.0, 0.0, MODE))
    offset, size, centre = (np.array(entries, dtype=np.float64) for entries in zip(*axes, strict=True))
    return np.column_stack(columns), Axes(offset, size, centre.astype(np.int64), squared, exact)


def _column(
    data: Microdata, name: str, ordinal_distance: OrdinalDistance, numeric_centre: int, deviations: bool
) -> tuple[FloatArray, tuple[float, float, int]]:
    if data[name].kind == "numeric":
        values = data.numbers(name).values
        present = values[~np.isnan(values)]
        width = float(np.std(present) if deviations else np.ptp(present)) if len(present) else 0.0
        return values, (0.0, width if width > 0 else 1.0, numeric_centre)
    column = data.categories(name)
    form = category_distance(data[name].kind, len(column.domain), ordinal_distance)
    middle = MEDIAN if data[name].kind == "ordinal" else MODE
    if form.slope == 0:
        return column.codes.astype(np.float64), (0.0, 0.0, middle)
    # whole numbers, which a distance is divided by only once
    return column.codes.astype(np.float64), (round(form.start / form.slope), round(1 / form.slope), middle)
