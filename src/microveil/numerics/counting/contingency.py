"""Contingency tables of code columns, of which only the cells that occur are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.typing import IntArray

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Cells:
    """The cells that occur in tables over the same columns of codes, in the order of their codes.

    `codes` has a row for each cell, and `counts` a row for each table.
    """

    codes: IntArray
    counts: IntArray

    @classmethod
    def of(cls, tables: Sequence[Sequence[IntArray]], sizes: Sequence[int] | None = None) -> Cells:
        """Of tables given by their columns.

        >>> found = Cells.of([[np.array([0, 0, 1])], [np.array([0, 1, 1])]])
        >>> found.codes.tolist(), found.counts.tolist()
        ([[0], [1]], [[2, 1], [1, 2]])
        """
        rows, codes = _numbered([np.concatenate(parts) for parts in zip(*tables, strict=True)], sizes)
        ends = np.cumsum([len(table[0]) for table in tables])[:-1]
        counts = [np.bincount(own, minlength=len(codes)) for own in np.split(rows, ends)]
        return cls(codes, np.stack(counts).astype(np.int64))

    def __add__(self, other: Cells) -> Cells:
        """The tables of two parts of the records together."""
        rows, codes = _numbered([*np.concatenate([self.codes, other.codes]).T])
        masses = np.concatenate([self.counts, other.counts], axis=1)
        counts = [np.bincount(rows, weights=mass, minlength=len(codes)) for mass in masses]
        return Cells(codes, np.stack(counts).astype(np.int64))

    @property
    def conditional_bits(self) -> float:
        """Of one table over two columns: the sum over its rows of -log2 of the share that the code in the first column
        has among the rows with the same code in the second."""
        counts, given = self.counts[0], self.codes[:, 1]
        of_given = np.bincount(given, weights=counts)[given]
        return float((counts * np.log2(of_given / counts)).sum())

    @property
    def chi_squares(self) -> tuple[float, ...]:
        """Of tables over two columns, Pearson's chi-square of each; categories without rows do not count.

        >>> table = Cells.of([[np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])]])
        >>> [round(found, 6) for found in table.chi_squares]
        [1.333333]
        """
        return tuple(_chi_square(self.codes[counts > 0], counts[counts > 0]) for counts in self.counts)


def _chi_square(codes: IntArray, counts: IntArray) -> float:
    found, rows = counts.astype(np.float64), int(counts.sum())
    by_row, by_column = (np.bincount(of_cell, weights=found)[of_cell] for of_cell in codes.T)
    expected = by_row * by_column / rows
    # a cell without rows adds what is expected in it
    total = float(((found - expected) ** 2 / expected).sum() + (rows - expected.sum()))
    return total if total > _ROUNDING * rows else 0.0


def _numbered(columns: Sequence[IntArray], sizes: Sequence[int] | None = None) -> tuple[IntArray, IntArray]:
    """The number of each row's combination, and the codes of all combinations."""
    rows, first = number_rows(columns, sizes)
    return rows, np.column_stack([column[first] for column in columns])


def cell_counts(
    before: Sequence[IntArray], after: Sequence[IntArray], sizes: Sequence[int]
) -> tuple[IntArray, IntArray]:
    """The counts of two tables over the same columns, in every cell that occurs in either.

    >>> before, after = cell_counts([np.array([0, 0, 1])], [np.array([0, 1, 1])], [3])
    >>> before.tolist(), after.tolist()
    ([2, 1], [1, 2])
    """
    one, other = Cells.of([before, after], sizes).counts
    return one, other


def conditional_bits(asked: IntArray, given: IntArray) -> float:
    """The sum over the rows of -log2 of the share that its `asked` code has among the rows with its `given` code.

    Over the number of rows it is the conditional entropy H(asked | given).

    >>> conditional_bits(np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1]))
    2.0
    """
    return Cells.of([[asked, given]]).conditional_bits
