"""What a group publishes for its members."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError
from microveil.masking.partition import Partition
from microveil.numerics.groups import means_by_group

FloatArray = npt.NDArray[np.float64]
Publish = Literal["mean", "median", "perturb", "hybrid"]


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
        return np.column_stack([group_medians(column, partition) for column in values.T])
    return means_by_group(values, partition.labels, weights)


def group_medians(values: FloatArray, partition: Partition) -> FloatArray:
    """For each record the median of its group over the cells that are present; NaN where a group has none."""
    medians = np.full(len(partition), np.nan)
    for number, rows in enumerate(partition.groups):
        cells = values[rows]
        cells = cells[~np.isnan(cells)]
        if cells.size:
            medians[number] = np.median(cells)
    return medians[partition.labels]


def group_counts(present: npt.NDArray[np.bool_], partition: Partition) -> npt.NDArray[np.int64]:
    """For each record how many members of its group have the cell."""
    return np.bincount(partition.labels, weights=present)[partition.labels].astype(np.int64)
