"""The matrix that distances are taken on: numbers on a common scale, categories as coordinates of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microveil.errors import DataError
from microveil.microdata import Microdata
from microveil.numerics.statistics.scaling import Scale, min_max, standardise
from microveil.typing import FloatArray

_MOST_CELLS = 200_000_000  # 1.6 GB


def coordinates(data: Microdata, names: Sequence[str], scale: Scale) -> tuple[FloatArray, list[list[int]]]:
    """The matrix, with every mean at 0 and NaN where a cell is missing, and which of its columns each attribute has.

    A nominal attribute has a column for each of its categories, an ordinal one its positions. Two different nominal
    categories, or the two ends of an ordered list, have distance 1; on the scale of z-scores every attribute, of any
    kind, has variance 1.
    """
    numeric = [name for name in names if data[name].kind == "numeric"]
    numbers = scaled(data.matrix(numeric), scale) if numeric else None
    pieces = [
        _category_columns(data, name, scale) if numbers is None or name not in numeric else numbers[:, [j]]
        for name, j in zip(names, np.cumsum([name in numeric for name in names]) - 1, strict=True)
    ]
    ends = np.cumsum([piece.shape[1] for piece in pieces]).tolist()
    columns_of = [list(range(end - piece.shape[1], end)) for end, piece in zip(ends, pieces, strict=True)]
    if ends[-1] * len(data) > _MOST_CELLS:
        widest = max(range(len(names)), key=lambda j: len(columns_of[j]))
        raise DataError(
            f"attribute '{names[widest]}' has {len(columns_of[widest]):,} categories, too many to group {len(data):,} "
            "records by; declare fewer categories or leave it out"
        )
    return np.column_stack(pieces), columns_of


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


def scaled(columns: FloatArray, scale: Scale) -> FloatArray:
    """Columns of numbers on a scale, with the mean of each at 0."""
    if scale == "z":
        return standardise(columns)
    ready = min_max(columns) if scale == "minmax" else columns
    return np.asarray(ready - np.nanmean(np.where(np.isnan(ready).all(axis=0), 0.0, ready), axis=0))
