"""Groups from a minimum spanning tree: its longest edges are cut wherever both sides keep k records.

The tree is grown by Prim's method in O(n) memory: each record outside carries its distance to the tree. Rooted at its
first record, the tree gives the size of the part below an edge, and a cut only changes the sizes on the way up.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.steps import distances_to, labels_of_parts
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_RECORDS_PER_CALL = 512


def spanning_tree_groups(
    columns: FloatArray, k: int, progress: Progress = silent, label: str = "growing the tree"
) -> IntArray:
    """Labels of the parts of the minimum spanning tree; every part has at least k records, and may have many."""
    parent, length, order = minimum_spanning_tree(columns, progress, label)
    return cut_longest_edges(parent, length, order, k)


def minimum_spanning_tree(
    columns: FloatArray, progress: Progress = silent, label: str = "growing the tree"
) -> tuple[IntArray, FloatArray, IntArray]:
    """For each record its parent (-1 for record 0) and the squared length of the edge to it; and the order of entry."""
    n = len(columns)
    outside = np.array(columns.T, dtype=np.float64, order="C", copy=True)  # the kernel moves records about
    ids = np.arange(n, dtype=np.int64)
    parent, length, order = np.full(n, -1, dtype=np.int64), np.zeros(n), np.empty(n, dtype=np.int64)
    nearest, gap, distances = np.full(n, -1, dtype=np.int64), np.full(n, np.inf), np.empty(n)
    gap[0] = 0.0  # record 0 enters first
    for start in range(0, n, _RECORDS_PER_CALL):
        end = min(n, start + _RECORDS_PER_CALL)
        _grow(outside, ids, nearest, gap, distances, parent, length, order, start, end)
        progress(1.0 - ((n - end) / n) ** 2, label)
    return parent, length, order


@kernel
def _grow(
    outside: FloatArray,
    ids: IntArray,
    nearest: IntArray,
    gap: FloatArray,
    distances: FloatArray,
    parent: IntArray,
    length: FloatArray,
    order: IntArray,
    start: int,
    end: int,
) -> None:
    """Let the records outside enter the tree one by one, the closest first; ties go to the lowest record number."""
    d, n = outside.shape
    point = np.empty(d)
    for entered in range(start, end):
        size = n - entered
        at = 0
        for i in range(size):
            if gap[i] < gap[at] or (gap[i] == gap[at] and ids[i] < ids[at]):
                at = i
        record = ids[at]
        order[entered] = record
        parent[record], length[record] = nearest[at], gap[at]
        size -= 1
        for j in range(d):
            point[j] = outside[j, at]
            outside[j, at] = outside[j, size]
        ids[at], nearest[at], gap[at] = ids[size], nearest[size], gap[size]
        distances_to(outside, point, distances, size)
        for i in range(size):
            if distances[i] < gap[i] or (distances[i] == gap[i] and record < nearest[i]):
                gap[i], nearest[i] = distances[i], record


def cut_longest_edges(parent: IntArray, length: FloatArray, order: IntArray, k: int) -> IntArray:
    """Cut edges from the longest to the shortest wherever both sides keep k records; labels of the parts.

    `order` lists the records so that a parent comes before its children; several trees may be given at once.
    """
    children = np.flatnonzero(parent >= 0)
    low, high = np.minimum(children, parent[children]), np.maximum(children, parent[children])
    longest_first = children[np.lexsort((high, low, -length[children]))]
    return _cut(parent, longest_first, order, k)


@kernel
def _cut(parent: IntArray, longest_first: IntArray, order: IntArray, k: int) -> IntArray:
    n = parent.shape[0]
    below = np.ones(n, dtype=np.int64)  # how many records hang on each, itself included
    for i in range(n - 1, -1, -1):
        if parent[order[i]] >= 0:
            below[parent[order[i]]] += below[order[i]]
    up = parent.copy()
    for child in longest_first:
        if below[child] < k:
            continue
        top = up[child]
        while up[top] >= 0:
            top = up[top]
        if below[top] - below[child] < k:
            continue
        above = up[child]
        while above >= 0:
            below[above] -= below[child]
            above = up[above]
        up[child] = -1
    return labels_of_parts(up, order)
