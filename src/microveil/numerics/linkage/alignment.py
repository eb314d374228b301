"""Sorted values aligned with the sorted centres that stand for them: each centre takes a run of neighbours."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray, IntArray


def aligned_runs(values: FloatArray, centres: FloatArray, fewest: int, most: IntArray) -> IntArray | None:
    """Where each centre's run begins in the ascending values, and their number at the end; None if no runs fit.

    The runs are those with the least sum of squared differences among all that follow each other, use every value, and
    have from `fewest` to `most[t]` values: dynamic time warping with bounded steps, in O(g n most) time and O(g n)
    memory for g centres and n values.

    >>> aligned_runs(np.array([1.0, 2.0, 3.0, 6.0, 7.0]), np.array([2.0, 6.5]), 2, np.array([3, 3])).tolist()
    [0, 3, 5]
    """
    middle = values.mean() if len(values) else 0.0  # large values would cancel each other out in the sums
    runs, fits = _least_runs(values - middle, centres - middle, fewest, most)
    return runs if fits else None


@kernel
def _least_runs(values: FloatArray, centres: FloatArray, fewest: int, most: IntArray) -> tuple[IntArray, bool]:
    g, n = len(centres), len(values)
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    for i in range(n):
        sums[i + 1] = sums[i] + values[i]
        squares[i + 1] = squares[i] + values[i] * values[i]
    came_from = np.full((g, n + 1), -1, dtype=np.int32)
    cost, before = np.full(n + 1, np.inf), np.full(n + 1, np.inf)
    before[0] = 0.0
    reached = 0
    for t in range(g):
        centre = centres[t]
        reached = min(n, reached + most[t])
        cost[:] = np.inf
        for end in range(min(n + 1, (t + 1) * fewest), reached + 1):
            for size in range(fewest, min(end, most[t]) + 1):
                start = end - size
                if before[start] == np.inf:
                    continue
                spread = squares[end] - squares[start] - 2.0 * centre * (sums[end] - sums[start])
                total = before[start] + spread + size * centre * centre
                if total < cost[end]:
                    cost[end] = total
                    came_from[t, end] = start
        before, cost = cost, before
    runs = np.full(g + 1, n, dtype=np.int64)
    if before[n] == np.inf:
        return runs, False
    for t in range(g - 1, -1, -1):
        runs[t] = came_from[t, runs[t + 1]]
    return runs, True
