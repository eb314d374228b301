"""MDAV over columns of any kind: groups of at least k rows by a mixed distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.neighbours.mixed_distance import MEAN, MEDIAN, Axes, Distinct, distance
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

_STEPS_BETWEEN_REPORTS = 2.0e8


def mdav_generic(matrix: FloatArray, axes: Axes, k: int, progress: Progress, label: str) -> IntArray:
    """Labels of groups of k to 2k-1 rows: those around the row farthest from the centre, those around the row farthest
    from that one, and so on. Of equally far rows the first is taken.

    Equal rows are treated together, so files of few distinct rows are quick.

    >>> from microveil.numerics.neighbours.mixed_distance import MODE
    >>> axes = Axes(np.array([1.0, 0.0]), np.array([5.0, 0.0]), np.array([MEDIAN, MODE]))
    >>> rows = np.array([[0, 0], [0, 0], [1, 0], [2, 1], [4, 2], [4, 2], [3, 2]], dtype=float)
    >>> mdav_generic(rows, axes, 2, lambda fraction, label: None, "").tolist()
    [1, 1, 2, 2, 0, 0, 2]
    """
    n = len(matrix)
    left_over = _all_left(Distinct.of(matrix))
    labels = np.full(n, -1, dtype=np.int64)
    made, left, active = 0, n, np.arange(len(left_over.points))
    while left > 0:
        rounds = max(1, int(_STEPS_BETWEEN_REPORTS / max(1, 4 * len(active) * matrix.shape[1])))
        active, made, left = _grow(left_over, axes, active, labels, k, made, left, rounds)
        progress((n - left) / n, label)
    return labels


class _Left(NamedTuple):
    """The rows in no group yet. The rows `members[head[u]:end[u]]` are equal to point u, the first of them first.

    `values[first[j]:first[j + 1]]` are the values of column j, `held` how many rows have each, `position[u, j]` where
    that of point u stands; `sums` are the sums of the columns.
    """

    points: FloatArray
    members: IntArray
    head: IntArray
    end: IntArray
    values: FloatArray
    first: IntArray
    position: IntArray
    held: IntArray
    sums: FloatArray


def _all_left(distinct: Distinct) -> _Left:
    points, counts = distinct.points, distinct.counts
    columns = [np.unique(column, return_inverse=True) for column in points.T]
    first = np.cumsum([0, *(len(values) for values, _ in columns)])
    position = np.column_stack([position.reshape(-1) for _, position in columns]).astype(np.int64) + first[:-1]
    held = sum(np.bincount(positions, weights=counts, minlength=first[-1]) for positions in position.T)
    return _Left(
        points,
        members=np.argsort(distinct.of_row, kind="stable"),
        head=np.cumsum(counts) - counts,
        end=np.cumsum(counts),
        values=np.concatenate([values for values, _ in columns]),
        first=first,
        position=position,
        held=np.asarray(held).astype(np.int64),
        sums=counts @ points,
    )


@kernel(steps=lambda left_over, axes, active, labels, k, *others: 4 * left_over.points.size * (len(labels) // k + 1))
def _grow(
    left_over: _Left, axes: Axes, active: IntArray, labels: IntArray, k: int, made: int, left: int, rounds: int
) -> tuple[IntArray, int, int]:
    """Some rounds of two groups each; the last one also places what remains."""
    points, head, end = left_over.points, left_over.head, left_over.end
    away = np.empty(len(points))
    middle = np.empty(points.shape[1])
    for _ in range(rounds):
        active = active[head[active] < end[active]]
        if left < 2 * k:
            for u in active:
                while head[u] < end[u]:
                    _take(left_over, u, labels, made)
            return active, made + 1, 0
        _find_centre(left_over, axes, left, middle)
        for u in active:
            away[u] = distance(points[u], middle, axes)
        r = _farthest(left_over, active, away)
        _take(left_over, r, labels, made)
        for u in active:
            away[u] = distance(points[u], points[r], axes)
        if left < 3 * k:
            _gather(left_over, active, away, k - 1, labels, made)
            made, left = made + 1, left - k
            continue
        s = _farthest(left_over, active, away)
        _take(left_over, s, labels, made + 1)
        _gather(left_over, active, away, k - 1, labels, made)
        for u in active:
            away[u] = distance(points[u], points[s], axes)
        _gather(left_over, active, away, k - 1, labels, made + 1)
        made, left = made + 2, left - 2 * k
    return active, made, left


@kernel
def _find_centre(left_over: _Left, axes: Axes, left: int, middle: FloatArray) -> None:
    values, first, held = left_over.values, left_over.first, left_over.held
    for j in range(len(middle)):
        if axes.centre[j] == MEAN:
            middle[j] = left_over.sums[j] / left
        elif axes.centre[j] == MEDIAN:
            v = first[j]
            below = held[v]
            while 2 * below < left:
                v += 1
                below += held[v]
            middle[j] = values[v]
        else:
            best = first[j]
            for v in range(first[j] + 1, first[j + 1]):
                if held[v] > held[best]:
                    best = v
            middle[j] = values[best]


@kernel
def _farthest(left_over: _Left, active: IntArray, away: FloatArray) -> int:
    """The point farthest away; of several the one whose next row comes first."""
    members, head, end = left_over.members, left_over.head, left_over.end
    best = -1
    for u in active:
        if head[u] == end[u] or (best >= 0 and away[u] < away[best]):
            continue
        if best < 0 or away[u] > away[best] or members[head[u]] < members[head[best]]:
            best = u
    return best


@kernel
def _take(left_over: _Left, u: int, labels: IntArray, label: int) -> None:
    """The next row equal to point u goes into a group."""
    labels[left_over.members[left_over.head[u]]] = label
    left_over.head[u] += 1
    for j in range(left_over.points.shape[1]):
        left_over.held[left_over.position[u, j]] -= 1
        left_over.sums[j] -= left_over.points[u, j]


@kernel
def _gather(left_over: _Left, active: IntArray, away: FloatArray, wanted: int, labels: IntArray, label: int) -> None:
    """The nearest rows in no group yet; of equally near ones those that come first."""
    members, head, end = left_over.members, left_over.head, left_over.end
    reach = _distance_of_the_last(left_over, active, away, wanted)
    level = np.empty(len(active), dtype=np.int64)
    at_reach = 0
    for u in active:
        if away[u] < reach:
            while head[u] < end[u]:
                _take(left_over, u, labels, label)
                wanted -= 1
        elif away[u] == reach and head[u] < end[u]:
            level[at_reach] = u
            at_reach += 1
    while wanted > 0:
        best = -1
        for u in level[:at_reach]:
            if head[u] < end[u] and (best < 0 or members[head[u]] < members[head[best]]):
                best = u
        _take(left_over, best, labels, label)
        wanted -= 1


@kernel
def _distance_of_the_last(left_over: _Left, active: IntArray, away: FloatArray, wanted: int) -> float:
    """How far the last of so many nearest rows is, from a heap of the nearest points seen so far."""
    head, end = left_over.head, left_over.end
    heap = np.empty(wanted + 1, dtype=np.int64)
    size, inside = 0, 0
    for u in active:
        here = end[u] - head[u]
        if here == 0 or (inside >= wanted and away[u] >= away[heap[0]]):
            continue
        position = size
        size += 1
        inside += here
        while position > 0 and away[heap[(position - 1) // 2]] < away[u]:
            heap[position] = heap[(position - 1) // 2]
            position = (position - 1) // 2
        heap[position] = u
        while inside - (end[heap[0]] - head[heap[0]]) >= wanted:
            inside -= end[heap[0]] - head[heap[0]]
            size -= 1
            _sink(heap, size, heap[size], away)
    return float(away[heap[0]])


@kernel
def _sink(heap: IntArray, size: int, u: int, away: FloatArray) -> None:
    """Put a point in the place of the first of a heap."""
    position = 0
    while 2 * position + 1 < size:
        child = 2 * position + 1
        if child + 1 < size and away[heap[child + 1]] > away[heap[child]]:
            child += 1
        if away[heap[child]] <= away[u]:
            break
        heap[position] = heap[child]
        position = child
    heap[position] = u
