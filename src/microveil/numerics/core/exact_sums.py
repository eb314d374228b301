"""Column sums kept in two numbers each, so that the order in which records come and go does not show in them.

Row 0 of a total is the sum rounded once, row 1 what that rounding leaves out; together they have about 32 digits.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray


def exact_total(columns: FloatArray) -> FloatArray:
    """The total of the rows of an (n, d) matrix: shape (2, d)."""
    return _sum_rows(np.ascontiguousarray(columns, dtype=np.float64))


@kernel(steps=lambda columns: 7 * columns.size)
def _sum_rows(columns: FloatArray) -> FloatArray:
    n, d = columns.shape
    total = np.zeros((2, d))
    for i in range(n):
        for j in range(d):
            add_exactly(total, j, columns[i, j])
    return total


@kernel
def add_exactly(total: FloatArray, j: int, value: float) -> None:
    """Add a value to one column's sum; take it away again by adding its negative."""
    high = total[0, j]
    added = high + value
    back = added - high
    low = total[1, j] + ((high - (added - back)) + (value - back))
    total[0, j] = added + low
    total[1, j] = low - (total[0, j] - added)
