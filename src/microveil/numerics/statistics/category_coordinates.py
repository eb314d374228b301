"""Categories as numbers: coordinates whose squared distances are those of categories, and what groups have in common.

A category is its position in a list of categories; -1 stands for a missing one.
"""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray, IntArray


def indicators(codes: IntArray) -> FloatArray:
    """One column for each category that occurs, so that two different categories have squared distance 1.

    Missing cells are NaN in every column. The sum of squares of a group is then its number of pairs that differ over
    its size, and its plurality is the category nearest to its mean.

    >>> indicators(np.array([0, 2, 0]))[:2].round(3).tolist()
    [[0.707, 0.0], [0.0, 0.707]]
    """
    found, category_of = np.unique(codes[codes >= 0], return_inverse=True)
    columns = np.full((len(codes), max(1, len(found))), np.nan)
    columns[codes >= 0] = 0.0
    if len(found):
        columns[np.flatnonzero(codes >= 0), category_of] = np.sqrt(0.5)
    return columns


def positions(codes: IntArray, size: int) -> FloatArray:
    """Ordered categories as one column from 0 for the first to 1 for the last; NaN where missing.

    >>> positions(np.array([0, 1, 4, -1]), 5)[:, 0].tolist()
    [0.0, 0.25, 1.0, nan]
    """
    return np.where(codes >= 0, codes / max(1, size - 1), np.nan)[:, None]


def plurality_by_group(codes: IntArray, labels: IntArray, weights: FloatArray | None = None) -> IntArray:
    """For each record the (weighted) most frequent category of its group, the first of equals; -1 without any.

    >>> plurality_by_group(np.array([3, 1, 3, 2, 0]), np.array([0, 0, 0, 1, 1])).tolist()
    [3, 3, 3, 0, 0]
    """
    group, category, held = _held(codes, labels, weights)
    order = np.lexsort((category, -held, group))
    return _of_each_record(group[order], category[order], labels)


def median_by_group(codes: IntArray, labels: IntArray, weights: FloatArray | None = None) -> IntArray:
    """For each record the (weighted) median category of its group, the lower of two; -1 without any.

    >>> median_by_group(np.array([4, 1, 2, 0, 3]), np.array([0, 0, 0, 1, 1])).tolist()
    [2, 2, 2, 0, 0]
    """
    group, category, held = _held(codes, labels, weights)
    if len(group) == 0:
        return np.full(len(labels), -1, dtype=np.int64)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    number = np.cumsum(np.diff(group, prepend=-1) > 0) - 1
    below = np.cumsum(held)
    before = np.concatenate([[0.0], below])[starts]
    half = (np.add.reduceat(held, starts) / 2)[number]
    reached = below - before[number] >= half * (1.0 - 1e-12)  # half the weight is reached in spite of rounding
    return _of_each_record(group[reached], category[reached], labels)


def _held(codes: IntArray, labels: IntArray, weights: FloatArray | None) -> tuple[IntArray, IntArray, FloatArray]:
    """The categories of each group, ascending, and how much of the group has each."""
    present = codes >= 0
    size = int(codes.max(initial=0)) + 1
    keys, inverse = np.unique(labels[present] * size + codes[present], return_inverse=True)
    shares = None if weights is None else weights[present]
    held = np.bincount(inverse.reshape(-1), weights=shares, minlength=len(keys)).astype(np.float64)
    return keys // size, keys % size, held


def _of_each_record(group: IntArray, category: IntArray, labels: IntArray) -> IntArray:
    """Each record's category, where the first entry of a group is the one it takes."""
    chosen = np.full(int(labels.max(initial=0)) + 1, -1, dtype=np.int64)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    chosen[group[first]] = category[first]
    return chosen[labels]
