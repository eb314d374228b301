"""Distances of two series with the same time points: Euclidean, and that of short time series (STS).

STS compares slopes, so it sees the shapes of two series and not their levels. It is the Euclidean distance of the
slopes, and whatever works on Euclidean coordinates works for it too. Nin (2008), section 2.2.1; Nin and Torra (2006).
"""

from __future__ import annotations

import numpy as np

from microveil.errors import DataError
from microveil.typing import FloatArray


def euclidean(x: FloatArray, y: FloatArray) -> float:
    """The Euclidean distance of two series.

    >>> euclidean(np.array([1.0, 2.0, 3.0, 4.0, 3.0]), np.array([1.0, 1.0, 2.0, 3.0, 4.0]))
    2.0
    """
    _refuse_other_lengths(len(x), len(y))
    return float(np.sqrt(np.sum((x - y) ** 2)))


def sts(x: FloatArray, y: FloatArray, positions: FloatArray | None = None) -> float:
    """The distance of two short time series: the Euclidean distance of their slopes; 0 for series of one point.

    >>> round(sts(np.array([1.0, 2.0, 3.0, 4.0, 3.0]), np.array([1.0, 1.0, 2.0, 3.0, 4.0])), 6)
    2.236068
    """
    _refuse_other_lengths(len(x), len(y))
    return euclidean(slopes(x[None, :], positions)[0], slopes(y[None, :], positions)[0])


def slopes(values: FloatArray, positions: FloatArray | None = None) -> FloatArray:
    """The slopes of series (n, T) between successive time points, (n, T - 1); NaN beside a missing cell.

    Without `positions` the time points are one unit apart.

    >>> slopes(np.array([[1.0, 2.0, 6.0]]), np.array([0.0, 1.0, 3.0])).tolist()
    [[1.0, 2.0]]
    """
    differences = np.diff(values, axis=1)
    if positions is None:
        return np.asarray(differences)
    _refuse_other_lengths(values.shape[1], len(positions))
    steps = np.diff(positions)
    if not (steps > 0).all():
        raise DataError("the time points of a series must ascend, each later than the one before")
    return np.asarray(differences / steps)


def _refuse_other_lengths(one: int, other: int) -> None:
    if one != other:
        raise DataError(f"series of {one} and {other} points cannot be compared point by point; resample them first")
