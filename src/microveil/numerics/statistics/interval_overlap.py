"""How much two intervals, such as confidence intervals of two estimates, have in common."""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray

_ROUNDING = 1e-9  # of the bounds: a narrower interval has no width


def interval_overlap(low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray) -> FloatArray:
    """The mean of the shares of each interval that lie in the other: 1 if they are one, below 0 if they are apart.

    An interval without width lies in the other whole or not at all.

    >>> one, other = (np.array([0.0, 0.0]), np.array([4.0, 1.0])), (np.array([1.0, 2.0]), np.array([3.0, 3.0]))
    >>> interval_overlap(*one, *other).tolist()
    [0.75, -1.0]
    """
    common = np.minimum(high, other_high) - np.maximum(low, other_low)
    rounding = _ROUNDING * np.maximum(np.abs(low), np.abs(other_high))
    one, other = (_share(common, width, rounding) for width in (high - low, other_high - other_low))
    return np.asarray((one + other) / 2)


def _share(common: FloatArray, width: FloatArray, rounding: FloatArray) -> FloatArray:
    whole = (common >= -rounding).astype(np.float64)
    return np.divide(common, width, out=whole, where=width > rounding)


def normal_reach(level: float) -> float:
    """How many standard errors a normal confidence interval of this level reaches to either side.

    >>> round(normal_reach(0.95), 4)
    1.96
    """
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def confidence_overlap(
    values: FloatArray, errors: FloatArray, other_values: FloatArray, other_errors: FloatArray, level: float
) -> FloatArray:
    """The overlap of the confidence intervals of estimates with those of others.

    >>> confidence_overlap(np.array([0.0]), np.array([1.0]), np.array([0.0]), np.array([2.0]), 0.95).round(2).tolist()
    [0.75]
    """
    z = normal_reach(level)
    one, other = ((v - z * e, v + z * e) for v, e in ((values, errors), (other_values, other_errors)))
    return interval_overlap(*one, *other)
