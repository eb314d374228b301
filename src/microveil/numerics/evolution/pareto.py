"""Several objectives at once, all to be minimised: who dominates whom, how crowded a point is, and the hypervolume.

Constraints come first, as in Deb et al. (2002): what violates them less dominates, whatever its objectives.
"""

from __future__ import annotations

import numpy as np

from microveil.typing import BoolArray, FloatArray, IntArray


def dominance(objectives: FloatArray, violations: FloatArray) -> BoolArray:
    """Whether i dominates j: it violates less; or as little, being no worse in any objective and better in one.

    >>> dominance(np.array([[1.0, 2.0], [2.0, 2.0]]), np.zeros(2)).tolist()
    [[False, True], [False, False]]
    """
    no_worse = (objectives[:, None] <= objectives[None]).all(axis=2)
    better = (objectives[:, None] < objectives[None]).any(axis=2)
    same = violations[:, None] == violations[None]
    return np.asarray((violations[:, None] < violations[None]) | (same & no_worse & better))


def ranks(objectives: FloatArray, violations: FloatArray) -> IntArray:
    """Non-dominated sorting: 0 for those that nobody dominates, 1 for those whom only these dominate, and so on.

    >>> ranks(np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 3.0]]), np.zeros(3)).tolist()
    [0, 0, 1]
    """
    dominates = dominance(objectives, violations)
    found = np.full(len(objectives), -1, dtype=np.int64)
    rank = 0
    while (left := found < 0).any():
        dominated = dominates[left].any(axis=0)
        found[left & ~dominated] = rank
        rank += 1
    return found


def crowding_distances(objectives: FloatArray) -> FloatArray:
    """For each point of one front the sum over the objectives of the gap between its two neighbours, over the range of
    the front; infinite at the ends.

    >>> crowding_distances(np.array([[0.0, 4.0], [1.0, 1.0], [4.0, 0.0]])).tolist()
    [inf, 2.0, inf]
    """
    found = np.zeros(len(objectives))
    for values in objectives.T:
        order = np.argsort(values, kind="stable")
        width = values[order[-1]] - values[order[0]]
        found[order[[0, -1]]] = np.inf
        if width > 0:
            found[order[1:-1]] += (values[order[2:]] - values[order[:-2]]) / width
    return found


def hypervolume(points: FloatArray, reference: tuple[float, float] = (100.0, 100.0)) -> float:
    """The share of the area up to a reference point that two objectives dominate, in per cent; 100 for the origin.

    >>> hypervolume(np.array([[0.0, 50.0], [50.0, 0.0]]))
    75.0
    """
    inside = points[(points < np.array(reference)).all(axis=1)]
    lowest, area = reference[1], 0.0
    for first, second in inside[np.lexsort((inside[:, 1], inside[:, 0]))]:
        if second < lowest:
            area += (reference[0] - first) * (lowest - second)
            lowest = second
    return 100.0 * float(area) / (reference[0] * reference[1])


def contributions(points: FloatArray, reference: tuple[float, float] = (100.0, 100.0)) -> FloatArray:
    """For each point of one front the area that it alone dominates, in per cent of the area up to the reference; 0 for
    points on the border and for all but one of equal points.

    >>> contributions(np.array([[0.0, 50.0], [50.0, 0.0], [50.0, 50.0]])).tolist()
    [25.0, 25.0, 0.0]
    """
    distinct, which, times = np.unique(np.minimum(points, reference), axis=0, return_inverse=True, return_counts=True)
    if (np.diff(distinct[:, 1]) < 0).all():  # a staircase, step by step: nobody dominates anybody
        widths = np.diff(distinct[:, 0], append=reference[0])
        heights = -np.diff(distinct[:, 1], prepend=reference[1])
        alone = np.where(times == 1, widths * heights, 0.0)
        return np.asarray(100.0 * alone[which.reshape(-1)] / (reference[0] * reference[1]), dtype=np.float64)
    whole = hypervolume(points, reference)
    found = np.zeros(len(points))
    for i in range(len(points)):
        found[i] = whole - hypervolume(np.delete(points, i, axis=0), reference)
    return np.maximum(found, 0.0)
