"""What a group publishes for its members."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from microveil.masking.partition import Partition

FloatArray = npt.NDArray[np.float64]


def group_means(values: FloatArray, partition: Partition) -> FloatArray:
    """For each record the mean of its group over the cells that are present; NaN where a group has none.

    The mean never leaves the span of its group through rounding, so a group of equal values publishes that value.
    """
    order = np.argsort(partition.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(partition.sizes)[:-1]])
    cells = values[order]
    present = ~np.isnan(cells)
    counts = np.add.reduceat(present, starts, dtype=np.int64)
    sums = np.add.reduceat(np.where(present, cells, 0.0), starts)
    low = np.minimum.reduceat(np.where(present, cells, np.inf), starts)
    high = np.maximum.reduceat(np.where(present, cells, -np.inf), starts)
    means = np.full(len(starts), np.nan)
    filled = counts > 0
    means[filled] = np.clip(sums[filled] / counts[filled], low[filled], high[filled])
    return means[partition.labels]


def group_counts(present: npt.NDArray[np.bool_], partition: Partition) -> npt.NDArray[np.int64]:
    """For each record how many members of its group have the cell."""
    return np.bincount(partition.labels, weights=present)[partition.labels].astype(np.int64)
