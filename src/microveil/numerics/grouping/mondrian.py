"""Mondrian: rows divided by cuts along one column at a time, as long as every part keeps at least k rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

_ROWS_BETWEEN_REPORTS = 10_000_000


class _Task(NamedTuple):
    """What does not change while cutting.

    On an axis that is a tree, whose values are the leaves from left to right, `heights[first[j] + leaf]` says how high
    the node is that joins a leaf and the one before; other axes have no heights.
    """

    rows: FloatArray
    span: FloatArray
    heights: IntArray
    first: IntArray
    k: int
    strict: bool


def mondrian_regions(
    matrix: FloatArray,
    span: FloatArray,
    trees: Sequence[IntArray | None],
    k: int,
    progress: Progress,
    label: str,
    *,
    strict: bool = True,
) -> IntArray:
    """The region of each row. A region is cut along its widest axis, relative to the axis's span, that has a cut.

    An ordered axis is cut at the median, or else at the nearest value that leaves k rows on both sides; when `strict`,
    equal values stay together. A tree (the height at which each leaf joins the one before) is cut into the children of
    the node that holds all rows of the region.

    >>> points = np.array([[1, 0], [1, 1], [3, 0], [2, 1], [1, 2], [2, 3]], dtype=float)
    >>> mondrian_regions(points, np.array([3.0, 4.0]), [None, None], 2, lambda fraction, label: None, "").tolist()
    [2, 2, 1, 1, 0, 0]
    """
    n = len(matrix)
    lengths = [0 if tree is None else len(tree) for tree in trees]
    task = _Task(
        np.ascontiguousarray(matrix, dtype=np.float64),
        np.where(span > 0, span, 1.0),
        np.concatenate([np.empty(0, dtype=np.int64), *(tree for tree in trees if tree is not None)]),
        np.cumsum([0, *lengths]),
        k,
        strict,
    )
    order = np.arange(n)
    labels = np.zeros(n, dtype=np.int64)
    waiting = np.zeros((n // k + 2, 2), dtype=np.int64)
    waiting[0] = 0, n
    depth, made, done = 1, 0, 0
    while depth:
        depth, made, done = _cut_some(task, order, labels, waiting, depth, made, done)
        progress(done / n, label)
    return labels


@kernel(steps=lambda task, *others: 5 * task.rows.size * len(task.rows).bit_length())
def _cut_some(
    task: _Task, order: IntArray, labels: IntArray, waiting: IntArray, depth: int, made: int, done: int
) -> tuple[int, int, int]:
    """Cut waiting parts, or make them regions, until that took some time; how many wait, are made, and rows done."""
    child = np.empty(len(order), dtype=np.int64)
    sorted_part = np.empty(len(order), dtype=np.int64)
    seen = 0
    while depth and seen < _ROWS_BETWEEN_REPORTS:
        depth -= 1
        begin, end = waiting[depth]
        part = order[begin:end]
        seen += len(part)
        children = _children(task, part, child)
        if children == 0:
            labels[part] = made
            made += 1
            done += len(part)
            continue
        starts = np.zeros(children + 1, dtype=np.int64)
        for i in range(len(part)):
            starts[child[i] + 1] += 1
        starts = np.cumsum(starts)
        positions = starts[:-1].copy()
        for i in range(len(part)):  # within each child the rows stay in their order
            sorted_part[positions[child[i]]] = part[i]
            positions[child[i]] += 1
        part[:] = sorted_part[: len(part)]
        for c in range(children):
            if starts[c + 1] > starts[c]:
                waiting[depth] = begin + starts[c], begin + starts[c + 1]
                depth += 1
    return depth, made, done


@kernel
def _children(task: _Task, part: IntArray, child: IntArray) -> int:
    """The child of each row in the cut of a part, and how many children; 0 where no cut is allowed."""
    axes = task.rows.shape[1]
    if len(part) < 2 * task.k:
        return 0
    low, high = task.rows[part[0]].copy(), task.rows[part[0]].copy()
    for i in part:
        for j in range(axes):
            low[j] = min(low[j], task.rows[i, j])
            high[j] = max(high[j], task.rows[i, j])
    width = (high - low) / task.span
    for _ in range(axes):
        widest = int(np.argmax(width))
        if width[widest] <= 0.0:
            return 0
        if task.first[widest + 1] > task.first[widest]:
            children = _by_tree(task, part, widest, int(low[widest]), int(high[widest]), child)
        else:
            children = _by_median(task, part, widest, child)
        if children:
            return children
        width[widest] = -1.0
    return 0


@kernel
def _by_median(task: _Task, part: IntArray, axis: int, child: IntArray) -> int:
    """Two halves; values equal to the median go down, up, or, when not strict, to both sides as they come."""
    size = len(part)
    values = np.empty(size)
    for i in range(size):
        values[i] = task.rows[part[i], axis]
    middle = (size - 1) // 2 if task.strict else size // 2 - 1
    median = np.partition(values, middle)[middle]
    below = equal = 0
    for i in range(size):
        below += values[i] < median
        equal += values[i] == median
    if not task.strict:
        down = size // 2 - below
    elif size - below - equal >= task.k:
        down = equal
    elif below >= task.k:
        down = 0
    else:
        return 0
    for i in range(size):
        child[i] = values[i] > median
        if values[i] == median:
            child[i] = down <= 0
            down -= 1
    return 2


@kernel
def _by_tree(task: _Task, part: IntArray, axis: int, low: int, high: int, child: IntArray) -> int:
    """The children of the lowest node that joins the leaves from low to high, each with no row or at least k."""
    heights = task.heights[task.first[axis] : task.first[axis + 1]]
    top = heights[low + 1 : high + 1].max()
    of_leaf = np.zeros(high - low + 1, dtype=np.int64)
    for leaf in range(low + 1, high + 1):
        of_leaf[leaf - low] = of_leaf[leaf - low - 1] + (heights[leaf] == top)
    held = np.zeros(of_leaf[-1] + 1, dtype=np.int64)
    for i in range(len(part)):
        child[i] = of_leaf[int(task.rows[part[i], axis]) - low]
        held[child[i]] += 1
    for rows in held:
        if 0 < rows < task.k:
            return 0
    return len(held)
