"""Which rows are equal: rows of several code columns numbered by their distinct combinations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray, IntArray

_LARGEST_KEY = 2**62
_SPARSE = 4  # a table with more cells than this for each row is not laid out


def number_rows(columns: Sequence[IntArray], sizes: Sequence[int] | None = None) -> tuple[IntArray, IntArray]:
    """The number of each row's combination, and a row that has it, for columns of codes 0 <= code < size; without
    sizes, up to the greatest code of each column.

    Combinations are numbered in the order of their codes. Once all rows are told apart no further column is looked at.

    >>> rows, first = number_rows([np.array([1, 0, 1, 1]), np.array([2, 0, 2, 0])])
    >>> rows.tolist(), first.tolist()
    ([2, 0, 2, 1], [1, 3, 0])
    """
    n = len(columns[0]) if columns else 0
    key, reach = np.zeros(n, dtype=np.int64), 1
    for j, codes in enumerate(columns):
        size = int(codes.max(initial=0)) + 1 if sizes is None else sizes[j]
        if reach * max(1, size) > max(_SPARSE * n, 1) and reach > 1:
            key, reach = _renumbered(key, reach)  # as small as can be before it grows
            if reach == n:
                break
        if reach * max(1, size) > _LARGEST_KEY:
            codes, size = _renumbered(codes, size)
        key = key * max(1, size) + codes
        reach *= max(1, size)
    rows, count = _renumbered(key, reach)
    return rows, _first_rows(rows, count)


def number_values(columns: Iterable[FloatArray]) -> tuple[IntArray, IntArray]:
    """The same for columns of numbers.

    >>> number_values([np.array([0.5, -1.0, 0.5])])[0].tolist()
    [1, 0, 1]
    """
    return number_rows([np.unique(cells, return_inverse=True)[1].reshape(-1).astype(np.int64) for cells in columns])


def _renumbered(key: IntArray, reach: int) -> tuple[IntArray, int]:
    """Keys below `reach` numbered 0, 1, ... without gaps, in order."""
    if reach <= max(_SPARSE * len(key), 1024):
        return _numbered_by_table(key, reach)
    distinct, rows = np.unique(key, return_inverse=True)
    return rows.reshape(-1).astype(np.int64), len(distinct)


@kernel(steps=lambda key, reach: 2 * len(key) + reach)
def _numbered_by_table(key: IntArray, reach: int) -> tuple[IntArray, int]:
    number = np.full(reach, -1, dtype=np.int64)
    for value in key:
        number[value] = 0
    found = 0
    for value in range(reach):
        if number[value] == 0:
            number[value] = found
            found += 1
    rows = np.empty_like(key)
    for i in range(len(key)):
        rows[i] = number[key[i]]
    return rows, found


@kernel(steps=lambda rows, count: len(rows))
def _first_rows(rows: IntArray, count: int) -> IntArray:
    first = np.empty(count, dtype=np.int64)
    for i in range(len(rows) - 1, -1, -1):
        first[rows[i]] = i
    return first
