"""Mic1D: all values of a table, whatever their attribute, microaggregated in one sorted vector."""

from __future__ import annotations

import numpy as np

from microveil.numerics.statistics.scaling import min_max
from microveil.typing import FloatArray


def one_dimension(values: FloatArray, kappa: int) -> FloatArray:
    """Two passes of sorting and cutting into partitions of kappa; the last partition may be shorter.

    In the first pass each partition is scaled to [0, 1]; in the second the scaled values are averaged and go back to
    the scale of their first partition. (Nin (2008) scales once more in the second pass, which averaging cancels.)
    """
    n = len(values)
    starts = np.arange(0, n, kappa)
    sizes = np.diff(np.append(starts, n))
    first = np.argsort(values, kind="stable")
    ordered = values[first]
    low, high = ordered[starts], ordered[starts + sizes - 1]
    span = np.repeat(high - low, sizes)
    low = np.repeat(low, sizes)
    scaled = np.where(span > 0, (ordered - low) / np.where(span > 0, span, 1.0), 0.5)
    second = np.argsort(scaled, kind="stable")
    averaged = np.empty(n)
    averaged[second] = np.repeat(np.add.reduceat(scaled[second], starts) / sizes, sizes)
    published = np.empty(n)
    published[first] = low + averaged * span
    return published


def mic1d(columns: FloatArray, kappa: int) -> FloatArray:
    """The matrix with its cells taken record by record as one vector; missing cells are left out and stay.

    >>> mic1d(np.array([[1.0, 10.0], [3.0, 30.0]]), 2).tolist()
    [[1.0, 10.0], [3.0, 30.0]]
    """
    cells = columns.reshape(-1)
    present = ~np.isnan(cells)
    published = np.full(len(cells), np.nan)
    if present.any():
        published[present] = one_dimension(cells[present], kappa)
    return published.reshape(columns.shape)


def separate_squares(original: FloatArray, masked: FloatArray) -> FloatArray:
    """Squared differences of the cells, each table scaled to [0, 1] by its own least and greatest values."""
    return np.asarray((min_max(original) - min_max(masked)) ** 2)
