"""A uniform number for each record that depends on its content and a seed alone, not on the order of the table."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.splitmix import INCREMENT, finished
from microveil.typing import FloatArray


def content_uniforms(columns: FloatArray, seed: int) -> FloatArray:
    """For each column of a matrix (a record) a number in [0, 1), the same for equal records; NaN is a value.

    >>> drawn = content_uniforms(np.array([[1.0, 2.0, 1.0]]), seed=1)
    >>> bool(drawn[0] == drawn[2]), bool(drawn[0] == drawn[1])
    (True, False)
    """
    state = np.full(columns.shape[1], seed, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            # one bit pattern for each value: no negative zero, one kind of NaN
            cells = np.where(np.isnan(column), np.nan, column) + 0.0
            state = finished((state ^ np.ascontiguousarray(cells).view(np.uint64)) + INCREMENT)
    return np.asarray((finished(state + INCREMENT) >> np.uint64(11)) * 2.0**-53)
