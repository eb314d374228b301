"""The highest points of series: where they are and how high, with equal values treated alike."""

from __future__ import annotations

import numpy as np

from microveil.numerics.series.statistics import greatest
from microveil.typing import FloatArray, IntArray

_ROUNDING = 1e-12  # of the greatest value: values that differ by less are equal


def highest_values(values: FloatArray, counts: IntArray) -> FloatArray:
    """The values of the highest points of each series, falling; as many columns as the greatest count, NaN beyond the
    count of a series and beyond its present cells.

    >>> highest_values(np.array([[1.0, 5.0, np.nan, 3.0], [2.0, 4.0, 3.0, 1.0]]), np.array([2, 1])).tolist()
    [[5.0, 3.0], [4.0, nan]]
    """
    most = int(counts.max(initial=1))
    # missing cells sort last, also from the highest on
    falling = -np.sort(-values, axis=1)[:, :most]
    return np.where(np.arange(falling.shape[1]) < counts[:, None], falling, np.nan)


def shares_of_highest(values: FloatArray, counts: IntArray) -> FloatArray:
    """For each cell the chance that it is among the so many highest of its series, if equal values are drawn by lot.

    >>> shares_of_highest(np.array([[1.0, 5.0, 3.0, 3.0], [2.0, 2.0, 2.0, np.nan]]), np.array([2, 1])).round(2).tolist()
    [[0.0, 1.0, 0.5, 0.5], [0.33, 0.33, 0.33, 0.0]]
    """
    present = (~np.isnan(values)).sum(axis=1)
    counts = np.minimum(counts, present)
    falling = -np.sort(-values, axis=1)
    lowest = np.take_along_axis(falling, np.maximum(counts - 1, 0)[:, None], axis=1)
    reach = _ROUNDING * greatest(values)[:, None]
    above, equal = values > lowest + reach, np.abs(values - lowest) <= reach
    rest = counts - above.sum(axis=1)
    share = np.divide(rest, equal.sum(axis=1), out=np.zeros(len(values)), where=equal.any(axis=1))
    return np.asarray(above + equal * share[:, None])
