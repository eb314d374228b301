"""A uniform number for each record that depends on its content and a seed alone, not on the order of the table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
            state = _mixed(state ^ np.ascontiguousarray(cells).view(np.uint64))
    return np.asarray((_mixed(state) >> np.uint64(11)) * 2.0**-53)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finishing steps of splitmix64, for a whole column at once."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
