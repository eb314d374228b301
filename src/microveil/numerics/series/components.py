"""Level and shape of series, and how gaps are filled where a method needs a value at every point.

A series is a row; NaN marks a point without a value. The level is the mean over the points that are there, and the
shape is what is left when the level is taken off.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.series.resampling import fill_gaps
from microveil.numerics.series.statistics import means
from microveil.numerics.statistics.scaling import Scaling
from microveil.typing import FloatArray, IntArray


def points(values: FloatArray) -> IntArray:
    """How many values each series has."""
    return np.asarray((~np.isnan(values)).sum(axis=1), dtype=np.int64)


def deviations(values: FloatArray) -> FloatArray:
    """What is left of each series without its level, and 0 where a value is missing."""
    return np.nan_to_num(values - means(values)[:, None], nan=0.0)


def spreads(values: FloatArray) -> FloatArray:
    """The standard deviation of each series over its own points; exactly 0 for a constant, and without any value."""
    return Scaling.of(values.T).deviation


def pooled_spread(values: FloatArray) -> float:
    """The standard deviation inside the series, over all of them; between them where none has two points.

    >>> pooled_spread(np.array([[1.0, 3.0], [7.0, 7.0]])), pooled_spread(np.array([[1.0], [5.0]]))
    (0.7071067811865476, 2.0)
    """
    several = points(values) > 1
    if several.any():
        return float(np.sqrt((spreads(values[several]) ** 2).mean()))
    present = values[~np.isnan(values)]
    return float(present.std()) if present.size else 0.0


def average_shape(values: FloatArray) -> FloatArray:
    """At each point the mean shape of the series that have a value there; 0 where none has."""
    present = ~np.isnan(values)
    return np.asarray(deviations(values).sum(axis=0) / np.maximum(present.sum(axis=0), 1))


def completed(values: FloatArray, positions: FloatArray) -> FloatArray:
    """Every series with a value at every point: gaps by interpolation, and before its first and after its last value
    its level with the average shape of the file. A series without any value stays empty.

    >>> completed(np.array([[1.0, 3.0, 2.0], [10.0, np.nan, np.nan]]), np.arange(3.0)).tolist()
    [[1.0, 3.0, 2.0], [10.0, 11.0, 10.0]]
    """
    inside = fill_gaps(values, positions)
    missing = np.isnan(inside)
    if not missing.any():
        return inside
    return np.where(missing, means(values)[:, None] + average_shape(values), inside)
