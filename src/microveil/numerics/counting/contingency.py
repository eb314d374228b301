"""Contingency tables of code columns, of which only the cells that occur are held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.typing import IntArray

_ROUNDING = 1e-12


def cell_counts(
    before: Sequence[IntArray], after: Sequence[IntArray], sizes: Sequence[int]
) -> tuple[IntArray, IntArray]:
    """The counts of two tables over the same columns, in every cell that occurs in either.

    >>> before, after = cell_counts([np.array([0, 0, 1])], [np.array([0, 1, 1])], [3])
    >>> before.tolist(), after.tolist()
    ([2, 1], [1, 2])
    """
    rows, first = number_rows([np.concatenate(both) for both in zip(before, after, strict=True)], sizes)
    half = len(before[0])
    return (
        np.bincount(rows[:half], minlength=len(first)).astype(np.int64),
        np.bincount(rows[half:], minlength=len(first)).astype(np.int64),
    )


def chi_square(one: IntArray, other: IntArray) -> float:
    """Pearson's chi-square of the table of two code columns; categories without rows do not count.

    >>> round(chi_square(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])), 6)
    1.333333
    """
    rows, first = number_rows([one, other])
    found, by_row, by_column = (np.bincount(codes).astype(np.float64) for codes in (rows, one, other))
    expected = by_row[one[first]] * by_column[other[first]] / len(one)
    # a cell without rows adds what is expected in it
    total = float(((found - expected) ** 2 / expected).sum() + (len(one) - expected.sum()))
    return total if total > _ROUNDING * len(one) else 0.0


def conditional_bits(asked: IntArray, given: IntArray) -> float:
    """The sum over the rows of -log2 of the share that its `asked` code has among the rows with its `given` code.

    Over the number of rows it is the conditional entropy H(asked | given).

    >>> conditional_bits(np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1]))
    2.0
    """
    rows, first = number_rows([asked, given])
    found, of_given = np.bincount(rows), np.bincount(given)[given[first]]
    return float((found * np.log2(of_given / found)).sum())
