"""k-means: clusters of rows around means, by squared distances; the best of several runs from k-means++ centres."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from microveil.numerics.clustering.c_medians import Clusters, best_of
from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.grouping.steps import square_between
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


def k_means(
    matrix: FloatArray,
    clusters: int,
    starts: int,
    rng: np.random.Generator,
    progress: Progress,
    label: str,
    *,
    most_rounds: int = 100,
) -> Clusters:
    """The best of several runs, each from first centres of its own; of equally good ones the first.

    There are fewer clusters where there are fewer different rows.

    >>> rows = np.array([[0.0], [0.2], [5.0], [5.2], [9.0]])
    >>> found = k_means(rows, 3, 20, np.random.default_rng(1), lambda fraction, label: None, "")
    >>> sorted(found.sizes.tolist()), round(found.objective, 9)
    ([1, 2, 2], 0.04)
    """
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    draws = rng.random((starts, max(1, clusters)))

    def work(start: int, end: int) -> Clusters:
        return k_means_from(matrix, _first_centres(matrix, draws[start]), most_rounds=most_rounds)

    return best_of(over_chunks(work, starts, 1, progress, label))


def k_means_from(matrix: FloatArray, centres: FloatArray, *, most_rounds: int = 100) -> Clusters:
    """One run from the centres given: every row to its nearest centre, then the means of the rows, until none moves."""
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    first = np.ascontiguousarray(centres, dtype=np.float64)
    labels, found, objective = _lloyd(matrix, first.copy(), most_rounds)
    used, numbered = np.unique(labels, return_inverse=True)
    made = Clusters(labels, found, objective, first)
    return replace(made, labels=numbered.reshape(-1).astype(np.int64), centres=found[used])


@kernel
def _first_centres(rows: FloatArray, draws: FloatArray) -> FloatArray:
    """The first row drawn alike, each further one with probability by its squared distance from the nearest so far."""
    n, d = rows.shape
    near = np.full(n, np.inf)
    centres = np.empty((len(draws), d))
    chosen = min(n - 1, int(draws[0] * n))
    for c in range(len(draws)):
        centres[c] = rows[chosen]
        total = 0.0
        for i in range(n):
            near[i] = min(near[i], square_between(rows, i, centres, c))
            total += near[i]
        if total == 0.0:
            return centres[: c + 1]
        if c + 1 < len(draws):
            wanted, reached = draws[c + 1] * total, 0.0
            chosen = -1
            for i in range(n):
                reached += near[i]
                if near[i] > 0.0:
                    chosen = i
                    if reached > wanted:
                        break
    return centres


@kernel
def _lloyd(rows: FloatArray, centres: FloatArray, most_rounds: int) -> tuple[IntArray, FloatArray, float]:
    n, d = rows.shape
    count = len(centres)
    labels = np.full(n, -1, dtype=np.int64)
    objective = 0.0
    for _ in range(most_rounds):
        moved, objective = 0, 0.0
        sums, sizes = np.zeros((count, d)), np.zeros(count)
        for i in range(n):
            best, nearest = labels[i], np.inf
            if best >= 0:
                nearest = square_between(rows, i, centres, best)
            for c in range(count):
                gap = 0.0
                for j in range(d):
                    gap += (rows[i, j] - centres[c, j]) ** 2
                    if gap >= nearest:
                        break
                if gap < nearest:
                    best, nearest = c, gap
            if best != labels[i]:
                labels[i] = best
                moved += 1
            objective += nearest
            sizes[best] += 1.0
            for j in range(d):
                sums[best, j] += rows[i, j]
        if moved == 0:
            break
        for c in range(count):
            if sizes[c] > 0.0:
                for j in range(d):
                    centres[c, j] = sums[c, j] / sizes[c]
    return labels, centres, objective
