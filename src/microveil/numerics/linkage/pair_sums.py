"""Sums over pairs of records whose terms are looked up in a small table of distinct cells."""

from __future__ import annotations

from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray, IntArray


@kernel
def add_from_table(sums: FloatArray, table: FloatArray, row_of: IntArray, column_of: IntArray) -> None:
    """To each of the sums add what the table has for the code of its row and that of its column.

    >>> import numpy as np
    >>> sums = np.zeros((1, 3))
    >>> add_from_table(sums, np.array([[1.0, 5.0]]), np.array([0]), np.array([1, 0, 1]))
    >>> sums.tolist()
    [[5.0, 1.0, 5.0]]
    """
    for row in range(sums.shape[0]):
        terms, into = table[row_of[row]], sums[row]
        for column in range(len(into)):
            into[column] += terms[column_of[column]]
