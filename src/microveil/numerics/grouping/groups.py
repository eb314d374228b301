"""Means and medians of groups of records, and groups that are too small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from microveil.numerics.core.ordering import in_order_by_group
from microveil.typing import FloatArray, IntArray


def group_centres(columns: FloatArray, labels: IntArray, groups: int) -> FloatArray:
    """The mean of each group, one row a group; records with label -1 do not count."""
    chosen = labels >= 0
    sizes = np.maximum(np.bincount(labels[chosen], minlength=groups), 1)
    sums = [np.bincount(labels[chosen], weights=column[chosen], minlength=groups) for column in columns.T]
    return np.asarray(np.column_stack(sums) / sizes[:, None])


def means_by_group(values: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """For each record the (weighted) mean of its group over the cells present, column by column; NaN without any.

    The mean never leaves the span of its group through rounding, so a group of equal values has exactly that mean.

    >>> means_by_group(np.array([[1.0], [3.0], [7.0]]), np.array([4, 4, 9]))[:, 0].tolist()
    [2.0, 2.0, 7.0]
    """
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    cells = values[order]
    present = ~np.isnan(cells)
    shares = present if weights is None else np.where(present, weights[order, None], 0.0)
    held = np.add.reduceat(shares, starts, axis=0, dtype=np.float64)
    sums = np.add.reduceat(np.where(present, cells, 0.0) * shares, starts, axis=0)
    low = np.minimum.reduceat(np.where(present, cells, np.inf), starts, axis=0)
    high = np.maximum.reduceat(np.where(present, cells, -np.inf), starts, axis=0)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, held, out=means, where=held > 0)
    np.clip(means, low, high, out=means, where=held > 0)
    return np.asarray(means[np.searchsorted(labels[order][starts], labels)])


def medians_by_group(values: FloatArray, labels: IntArray) -> FloatArray:
    """For each record the median of its group over the cells present; NaN without any.

    >>> medians_by_group(np.array([5.0, 1.0, 2.0, 7.0]), np.array([0, 0, 0, 1])).tolist()
    [2.0, 2.0, 2.0, 7.0]
    """
    order, starts, sizes = in_order_by_group(values, labels)
    medians = np.full(int(labels.max(initial=-1)) + 1, np.nan)
    low, high = values[order[starts + (sizes - 1) // 2]], values[order[starts + sizes // 2]]
    medians[labels[order[starts]]] = (low + high) / 2.0
    return np.asarray(medians[labels])


def lower_medians_by_group(values: FloatArray, labels: IntArray) -> FloatArray:
    """The same with the lower one of two middle values, so that it is one that occurs.

    >>> lower_medians_by_group(np.array([5.0, 1.0, 2.0, 8.0, 7.0]), np.array([0, 0, 0, 0, 1])).tolist()
    [2.0, 2.0, 2.0, 2.0, 7.0]
    """
    order, starts, sizes = in_order_by_group(values, labels)
    medians = np.full(int(labels.max(initial=-1)) + 1, np.nan)
    medians[labels[order[starts]]] = values[order[starts + (sizes - 1) // 2]]
    return np.asarray(medians[labels])


def joined_labels(rows_of_parts: Sequence[IntArray], labels_of_parts: Iterable[IntArray]) -> IntArray:
    """The groups of a file that was grouped part by part, numbered through.

    >>> joined_labels([np.array([0, 3]), np.array([1, 2])], [np.array([0, 1]), np.array([0, 0])]).tolist()
    [0, 2, 2, 1]
    """
    labels = np.empty(sum(map(len, rows_of_parts)), dtype=np.int64)
    used = 0
    for rows, made in zip(rows_of_parts, labels_of_parts, strict=True):
        labels[rows] = used + made
        used += int(made.max()) + 1
    return labels


def pooled(groups: list[IntArray], least: int) -> list[IntArray]:
    """Groups of fewer than `least` rows joined to one; if that is too small as well, it joins the largest.

    >>> [g.tolist() for g in pooled([np.array([0, 1]), np.array([2]), np.array([3, 4, 5])], 2)]
    [[0, 1], [2, 3, 4, 5]]
    """
    joined = which_pooled([len(rows) for rows in groups], least)
    return [groups[g[0]] if len(g) == 1 else np.sort(np.concatenate([groups[one] for one in g])) for g in joined]


def which_pooled(sizes: Sequence[int], least: int) -> list[list[int]]:
    """The same by the sizes of the groups: the numbers of those that are one in the end.

    >>> which_pooled([2, 1, 3], 2)
    [[0], [2, 1]]
    """
    large = [[group] for group, size in enumerate(sizes) if size >= least]
    small = [group for group, size in enumerate(sizes) if size < least]
    if not small:
        return large
    if sum(sizes[group] for group in small) >= least or not large:
        return [*large, small]
    largest = max(range(len(large)), key=lambda g: sizes[large[g][0]])
    large[largest] += small
    return large
