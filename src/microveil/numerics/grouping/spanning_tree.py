"""Groups from a minimum spanning tree: its longest edges are cut wherever both sides keep k records.

Rooted at its first record, the tree gives the size of the part below an edge, and a cut only changes the sizes on the
way up.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.class_tree import LOWEST_RECORD, SQUARE, euclidean_tree
from microveil.numerics.grouping.steps import labels_of_parts
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray


def spanning_tree_groups(
    columns: FloatArray, k: int, progress: Progress = silent, label: str = "growing the tree"
) -> IntArray:
    """Labels of the parts of the minimum spanning tree; every part has at least k records, and may have many."""
    tree = euclidean_tree(columns, start=0, form=SQUARE, ties=LOWEST_RECORD, progress=progress, label=label)
    return cut_longest_edges(tree.parent, tree.length, tree.order, k)


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
