"""Trees by the parents of their nodes."""

from __future__ import annotations

import numpy as np

from microveil.errors import DataError
from microveil.numerics.core.compiled import kernel
from microveil.typing import IntArray


def nested_intervals(parents: IntArray) -> tuple[IntArray, IntArray]:
    """For each node the first number and the one after the last, in a walk through the trees, of all that it holds: a
    node holds another if its interval does. `parents` are -1 for roots.

    >>> first, end = nested_intervals(np.array([-1, 0, 1, 0]))
    >>> first.tolist(), end.tolist()
    ([0, 2, 3, 1], [4, 4, 4, 2])
    """
    if len(parents) and (parents.min() < -1 or parents.max() >= len(parents)):
        raise DataError("the tree of locations names a parent that does not exist; -1 stands for none")
    enter, leave = _walk(parents.astype(np.int64))
    if len(parents) and enter.min() < 0:
        raise DataError("the tree of locations has a cycle; every place must lead to a root")
    return enter, leave


@kernel
def _walk(parents: IntArray) -> tuple[IntArray, IntArray]:
    """Where the interval of each place begins and ends; -1 is the beginning of those on a cycle."""
    size = len(parents)
    child, sibling = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    order, count = np.empty(size, dtype=np.int64), 0
    for p in range(size):
        if parents[p] >= 0:
            sibling[p], child[parents[p]] = child[parents[p]], p
        else:
            order[count] = p
            count += 1
    at = 0
    while at < count:
        p = child[order[at]]
        while p >= 0:
            order[count] = p
            count += 1
            p = sibling[p]
        at += 1
    below = np.ones(size, dtype=np.int64)  # places of a subtree, its top among them
    for p in order[:count][::-1]:
        if parents[p] >= 0:
            below[parents[p]] += below[p]
    enter, free = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
    total = 0
    for p in order[:count]:
        if parents[p] >= 0:
            enter[p] = free[parents[p]]
            free[parents[p]] += below[p]
        else:
            enter[p] = total
            total += below[p]
        free[p] = enter[p] + 1
    return enter, enter + below
