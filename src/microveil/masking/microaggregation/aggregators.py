"""What a group publishes for its members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import ParameterError
from microveil.masking.partition import Partition
from microveil.microdata import Categories, Microdata
from microveil.numerics.groups import means_by_group, medians_by_group

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Publish = Literal["mean", "median", "mode", "perturb", "hybrid"]


def published_columns(
    data: Microdata,
    partition: Partition,
    suppressed: Mapping[str, BoolArray],
    publish: Publish,
    weights: FloatArray | None,
    rng: np.random.Generator,
) -> dict[str, pa.Array]:
    """The released columns of some attributes, and which of their cells may not be published.

    Numbers are published as asked for; categories always as their group's plurality, ordered ones as its median.
    """
    numeric = [name for name in suppressed if data[name].kind == "numeric"]
    columns = {}
    if numeric:
        matrix = np.column_stack([data.numbers(name).values for name in numeric])
        values = published_values(matrix, partition, publish, weights, rng)
        for name, column in zip(numeric, values.T, strict=True):
            columns[name] = data.number_column(name, column, suppressed[name])
    return {
        name: columns[name] if name in columns else _published_categories(data, name, partition, cells, weights)
        for name, cells in suppressed.items()
    }


def _published_categories(
    data: Microdata, name: str, partition: Partition, suppressed: BoolArray, weights: FloatArray | None
) -> pa.Array:
    from microveil.numerics.categories import median_by_group, plurality_by_group

    column, missing = data.categories(name), data.missing_states(name) > 0
    in_common = median_by_group if data[name].kind == "ordinal" else plurality_by_group
    codes = in_common(np.where(missing, -1, column.codes), partition.labels, weights)
    released = data.category_column(Categories(name, np.where(missing, -1, codes), column.domain))
    return pc.if_else(pa.array(suppressed), pa.scalar(None, released.type), released) if suppressed.any() else released


def published_values(
    values: FloatArray,
    partition: Partition,
    publish: Publish,
    weights: FloatArray | None,
    rng: np.random.Generator,
) -> FloatArray:
    """What each record publishes, column by column; NaN where a group has no value.

    `perturb` draws records around their group's mean so that means and covariances of the file are kept in expectation;
    `hybrid` so that those of every group are, where it is large enough.
    """
    if publish in ("perturb", "hybrid"):
        from microveil.numerics.perturbation import hybrid, perturb

        if weights is not None:
            raise ParameterError("weighted = True is not allowed with drawn values: the noise keeps unweighted moments")
        if publish == "hybrid":
            return hybrid(values, partition.labels, rng)[0]
        return perturb(values, partition.labels, "centred", "normal", rng)
    if publish == "median":
        return np.column_stack([medians_by_group(column, partition.labels) for column in values.T])
    if publish == "mode":
        return np.column_stack([_modes_by_group(column, partition) for column in values.T])
    return means_by_group(values, partition.labels, weights)


def _modes_by_group(values: FloatArray, partition: Partition) -> FloatArray:
    """For each record the mode of its group, from the cells that are present; NaN where a group has none."""
    published = np.full(len(partition), np.nan)
    for number, rows in enumerate(partition.groups):
        cells = values[rows]
        cells = cells[~np.isnan(cells)]
        if cells.size:
            published[number] = _mode(cells)
    return published[partition.labels]


def _mode(values: FloatArray) -> float:
    """The most frequent value; where all differ none is, and the median speaks for the group."""
    from microveil.numerics.univariate import modal_value

    common = modal_value(values)
    return float(np.median(values)) if common is None else common


def group_counts(present: BoolArray, partition: Partition) -> npt.NDArray[np.int64]:
    """For each record how many members of its group have the cell."""
    return np.bincount(partition.labels, weights=present)[partition.labels].astype(np.int64)
