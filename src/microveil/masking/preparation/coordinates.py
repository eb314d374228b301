"""The matrix that distances are taken on: numbers on a common scale, categories as coordinates of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microveil.errors import DataError
from microveil.masking.preparation.series_coordinates import Distance, series_points
from microveil.microdata import Microdata
from microveil.numerics.statistics.scaling import Scale, Scaling, min_max, standardise
from microveil.progress import Progress, silent
from microveil.typing import FloatArray

_MOST_CELLS = 200_000_000  # 1.6 GB


def coordinates(
    data: Microdata,
    names: Sequence[str],
    scale: Scale,
    distance: Distance | None = None,
    band: int | None = None,
    progress: Progress = silent,
) -> tuple[FloatArray, list[list[int]]]:
    """The matrix, with NaN where a cell is missing, and which of its columns each attribute has.

    A column with missing cells has its mean at 0. A nominal attribute has a column for each of its categories, an
    ordinal one its positions. Two different nominal categories, or the two ends of an ordered list, have distance 1; on
    the scale of z-scores every attribute, of any kind, has variance 1. The series of a table that is declared to have
    some, and of any table where their `distance` is that of slopes or of warping, are scaled as a whole; where columns
    of the matrix are not about one time, they stand with the first attribute of the series.
    """
    pieces = _series_columns(data, names, scale, distance, band, progress)
    numeric = [name for name in names if name not in pieces and data[name].kind == "numeric"]
    if numeric:
        columns = scaled_as_the_table(data, numeric, scale)
        pieces |= {name: columns[:, [j]] for j, name in enumerate(numeric)}
    pieces |= {name: _category_columns(data, name, scale) for name in names if name not in pieces}
    ends = np.cumsum([pieces[name].shape[1] for name in names]).tolist()
    columns_of = [list(range(end - pieces[name].shape[1], end)) for end, name in zip(ends, names, strict=True)]
    if ends[-1] * len(data) > _MOST_CELLS:
        widest = max(range(len(names)), key=lambda j: len(columns_of[j]))
        raise DataError(
            f"attribute '{names[widest]}' has {len(columns_of[widest]):,} categories, too many to group {len(data):,} "
            "records by; declare fewer categories or leave it out"
        )
    return np.column_stack([pieces[name] for name in names]), columns_of


def _series_columns(
    data: Microdata,
    names: Sequence[str],
    scale: Scale,
    distance: Distance | None,
    band: int | None,
    progress: Progress,
) -> dict[str, FloatArray]:
    """The columns of the series among some attributes, by the attribute that they stand with."""
    if data.schema.panel is None and distance in (None, "euclidean"):
        return {}
    found = data.series_among(names)
    if not found:
        return {}
    columns: dict[str, FloatArray] = {}
    alone = sum(len(series.columns) for series in found) == len(names)
    points = series_points(found, scale, distance or "euclidean", band, progress, alone=alone)
    for series, made in zip(found, points, strict=True):
        centred = scaled(made, "none") if np.isnan(made).any() else made
        if distance in (None, "euclidean"):
            columns |= {name: centred[:, [j]] for j, name in enumerate(series.columns)}
        else:
            columns |= {name: centred if j == 0 else centred[:, :0] for j, name in enumerate(series.columns)}
    return columns


def _category_columns(data: Microdata, name: str, scale: Scale) -> FloatArray:
    from microveil.numerics.statistics.category_coordinates import indicators, positions

    column = data.categories(name)
    codes = np.where(data.missing_states(name) > 0, -1, column.codes)
    if data[name].kind == "ordinal":
        return scaled(positions(codes, len(column.domain)), "z" if scale == "z" else "none")
    columns = indicators(codes)
    if columns.shape[1] == 1:
        return 0.0 * columns  # one category at most does not vary, and z would enlarge the rounding of its mean to 1
    centred = scaled(columns, "none")
    return centred / np.sqrt(np.nanmean((centred**2).sum(axis=1))) if scale == "z" else centred


def scaled_as_the_table(data: Microdata, names: Sequence[str], scale: Scale) -> FloatArray:
    """Columns of numbers on a scale, with their means at 0; those of a part on the scale of the whole table."""
    columns = data.matrix(names)
    if data.part is None:
        return scaled(columns, scale)
    moments = data.facts.moments(names)
    span = np.where(moments.constant, 0.0, moments.high - moments.low)
    unit = {"z": moments.deviation, "minmax": span, "none": np.ones(len(span))}[scale]
    return Scaling(moments.mean, unit).apply(columns)


def scaled(columns: FloatArray, scale: Scale) -> FloatArray:
    """Columns of numbers on a scale, with the mean of each at 0."""
    if scale == "z":
        return standardise(columns)
    ready = min_max(columns) if scale == "minmax" else columns
    return np.asarray(ready - np.nanmean(np.where(np.isnan(ready).all(axis=0), 0.0, ready), axis=0))
