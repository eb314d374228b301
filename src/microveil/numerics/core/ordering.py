"""Orders of records, and numbers that follow from an order."""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray, IntArray


def positions_in(order: IntArray) -> IntArray:
    """The position of each record in an order of all of them.

    >>> positions_in(np.array([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(len(order))
    return positions


def in_order(column: FloatArray) -> IntArray:
    """The records that have a value, by their values; of equal values the first record first.

    >>> in_order(np.array([3.0, np.nan, 1.0])).tolist()
    [2, 0]
    """
    present = np.flatnonzero(~np.isnan(column))
    return present[np.argsort(column[present], kind="stable")]


def keeps_order(before: FloatArray, after: FloatArray, rounding: float) -> bool:
    """Whether greater values have never become smaller ones, but for rounding as a share of the range; records
    without one of the two do not count.

    >>> keeps_order(np.array([1.0, 1.0, 2.0, np.nan]), np.array([5.0, 4.0, 5.0, 0.0]), 1e-9)
    True
    """
    both = ~(np.isnan(before) | np.isnan(after))
    released = after[both][np.lexsort((after[both], before[both]))]
    return len(released) < 2 or bool((np.diff(released) >= -rounding * np.ptp(released)).all())


def in_order_by_group(values: FloatArray, labels: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The records that have a value, by group and value; where the groups with any begin in this order, and how many
    values each has.

    >>> order, starts, sizes = in_order_by_group(np.array([3.0, np.nan, 1.0, 2.0]), np.array([4, 0, 4, 9]))
    >>> order.tolist(), starts.tolist(), sizes.tolist()
    ([2, 0, 3], [0, 2], [2, 1])
    """
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.lexsort((values[present], labels[present]))]
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return order, starts, np.diff(starts, append=len(order))


def numbered_by_first(labels: IntArray) -> IntArray:
    """Groups numbered 0, 1, ... in the order of their first records.

    >>> numbered_by_first(np.array([7, 7, 2, 7])).tolist()
    [0, 0, 1, 0]
    """
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return positions_in(np.argsort(first))[number.reshape(-1)]


def find_pairs(known: tuple[IntArray, IntArray], wanted: tuple[IntArray, IntArray]) -> IntArray:
    """Where pairs of numbers stand among known ones, which are in order; -1 where they are not among them.

    >>> find_pairs((np.array([0, 0, 1]), np.array([3, 5, 3])), (np.array([1, 0]), np.array([3, 4]))).tolist()
    [2, -1]
    """
    width = int(max(known[1].max(initial=0), wanted[1].max(initial=0))) + 1
    one, other = (first * width + second for first, second in (known, wanted))
    at = np.minimum(np.searchsorted(one, other), len(one) - 1)
    return np.where(one[at] == other, at, -1)
