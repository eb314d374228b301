"""Maximum distance (MD): the two records farthest apart each gather their neighbours, again and again.

MDAV in its form with pairs to the end differs only in the first record of a pair, the farthest from the centre.

The farthest pair is found without a matrix of distances. Every record carries an upper bound of its distance to the
farthest record left; removing records never makes a bound wrong, so only the record with the largest bound has to be
looked at, and its bound made exact, until an exact one is the largest.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.exact_sums import exact_total
from microveil.numerics.grouping.steps import (
    SAFETY,
    close_group,
    distances_to,
    farthest_from_centre,
    farthest_left,
    join_nearest,
    largest,
    nearest,
    take_out,
)
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_PAIRS_PER_CALL = 32


def maximum_distance_groups(
    columns: FloatArray, k: int, progress: Progress = silent, label: str = "grouping"
) -> IntArray:
    """Group the rows of an (n, d) matrix into groups of k; what is left is a group, or joins the nearest groups."""
    return _paired_groups(columns, k, False, progress, label)


def paired_mdav_groups(columns: FloatArray, k: int, progress: Progress = silent, label: str = "grouping") -> IntArray:
    """The same, but the first record of a pair is the one farthest from the centre of the records left."""
    return _paired_groups(columns, k, True, progress, label)


def _paired_groups(columns: FloatArray, k: int, from_centre: bool, progress: Progress, label: str) -> IntArray:
    n, d = columns.shape
    alive = np.array(columns.T, dtype=np.float64, order="C", copy=True)  # the kernel moves records about
    ids = np.arange(n, dtype=np.int64)
    total = exact_total(columns)
    anchor = np.full(d, np.nan)
    distances = np.empty(n)
    bound = _bounds_from_the_middle(alive, total[0] / n)
    farthest = np.full(n, -1, dtype=np.int64)
    labels = np.full(n, -1, dtype=np.int64)
    size, groups = n, 0
    while size >= 2 * k:
        size, groups = _group_pairs(
            alive, ids, total, anchor, bound, farthest, distances, labels, size, groups, k, from_centre, _PAIRS_PER_CALL
        )
        progress(1.0 - size / n, label)
    if size >= k:
        labels[ids[:size]] = groups
    progress(1.0, label)
    return join_nearest(columns, labels, groups)


def _bounds_from_the_middle(alive: FloatArray, middle: FloatArray) -> FloatArray:
    """No two records are farther apart than their two distances from the middle together; squared, as all here."""
    squares = np.empty(alive.shape[1])
    distances_to(alive, middle, squares, len(squares))
    reach = np.sqrt(squares)
    return np.asarray((reach + reach.max()) ** 2 * SAFETY)


@kernel
def _group_pairs(
    alive: FloatArray,
    ids: IntArray,
    total: FloatArray,
    anchor: FloatArray,
    bound: FloatArray,
    farthest: IntArray,
    distances: FloatArray,
    labels: IntArray,
    size: int,
    groups: int,
    k: int,
    from_centre: bool,
    pairs: int,
) -> tuple[int, int]:
    """Up to `pairs` rounds of two groups, while 2k records are left."""
    members = np.empty(k, dtype=np.int64)
    for _ in range(pairs):
        if size < 2 * k:
            break
        if from_centre:
            at = farthest_from_centre(alive, ids, total[0], anchor, bound, distances, size)
        else:
            at = _one_of_the_farthest_pair(alive, ids, bound, farthest, distances, labels, size)
        nearest(alive, ids, alive[:, at].copy(), at, members, distances, size)
        other = ids[farthest_left(ids, members, distances, size)]
        take_out(total, alive, members)
        size = close_group(alive, ids, bound, labels, members, size, groups)
        at = 0
        while ids[at] != other:
            at += 1
        nearest(alive, ids, alive[:, at].copy(), at, members, distances, size)
        take_out(total, alive, members)
        size = close_group(alive, ids, bound, labels, members, size, groups + 1)
        groups += 2
    return size, groups


@kernel
def _one_of_the_farthest_pair(
    alive: FloatArray,
    ids: IntArray,
    bound: FloatArray,
    farthest: IntArray,
    distances: FloatArray,
    labels: IntArray,
    size: int,
) -> int:
    """The position of the record with the lower number of the two that are farthest apart.

    A bound is exact while the record it was measured to, `farthest` by record number, has no group.
    """
    while True:
        top = largest(bound, ids, size)
        measured = farthest[ids[top]]
        if measured >= 0 and labels[measured] < 0:
            return top
        distances_to(alive, alive[:, top].copy(), distances, size)
        far = largest(distances, ids, size)
        bound[top] = distances[far]
        farthest[ids[top]] = ids[far]
