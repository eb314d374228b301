"""Maximum distance (MD): the two records farthest apart each gather their neighbours, again and again.

MDAV in its form with pairs to the end differs only in the first record of a pair, the farthest from the centre.

The farthest pair is found without a matrix of distances. Every record carries an upper bound of its distance to the
farthest record left; removing records never makes a bound wrong, so only the record with the largest bound has to be
looked at, and its bound made exact, until an exact one is the largest.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.steps import (
    SAFETY,
    RecordsLeft,
    all_left,
    close_pair,
    distances_to,
    farthest_from_centre,
    join_nearest,
    largest,
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
    n = len(columns)
    left = all_left(columns)
    # no two records are farther apart than their two distances from the middle together; squared, as all here
    reach = np.sqrt(left.bound)
    left.bound[:] = (reach + reach.max()) ** 2 * SAFETY
    farthest = np.full(n, -1, dtype=np.int64)
    size, groups = n, 0
    while size >= 2 * k:
        size, groups = _group_pairs(left, farthest, size, groups, k, from_centre, _PAIRS_PER_CALL)
        progress(1.0 - size / n, label)
    if size >= k:
        left.labels[left.ids[:size]] = groups
    progress(1.0, label)
    return join_nearest(columns, left.labels, groups)


@kernel
def _group_pairs(
    left: RecordsLeft, farthest: IntArray, size: int, groups: int, k: int, from_centre: bool, pairs: int
) -> tuple[int, int]:
    """Up to `pairs` rounds of two groups, while 2k records are left."""
    members = np.empty(k, dtype=np.int64)
    for _ in range(pairs):
        if size < 2 * k:
            break
        first = farthest_from_centre(left, size) if from_centre else _one_of_the_farthest_pair(left, farthest, size)
        size, groups = close_pair(left, first, members, size, groups, k)
    return size, groups


@kernel
def _one_of_the_farthest_pair(left: RecordsLeft, farthest: IntArray, size: int) -> int:
    """The position of the record with the lower number of the two that are farthest apart.

    A bound is exact while the record it was measured to, `farthest` by record number, has no group.
    """
    while True:
        top = largest(left.bound, left.ids, size)
        measured = farthest[left.ids[top]]
        if measured >= 0 and left.labels[measured] < 0:
            return top
        distances_to(left.alive, left.alive[:, top].copy(), left.distances, size)
        far = largest(left.distances, left.ids, size)
        left.bound[top] = left.distances[far]
        farthest[left.ids[top]] = left.ids[far]
