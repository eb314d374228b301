"""Plain numpy implementations of the algorithms, as anyone would write them: what the kernels are compared with."""

from __future__ import annotations

import numpy as np


def plain_mdav(columns: np.ndarray, k: int) -> np.ndarray:
    """MDAV with the standard remainder rule; ties go to the lowest record number."""
    labels = np.full(len(columns), -1)
    left = np.arange(len(columns))
    group = 0

    def distances(point: np.ndarray) -> np.ndarray:
        return ((columns[left] - point) ** 2).sum(axis=1)

    def take(seed: int) -> None:
        nonlocal left, group
        to_seed = distances(columns[seed])
        to_seed[left == seed] = -1.0
        nearest = np.argpartition(to_seed, k - 1)[:k]
        border = to_seed[nearest].max()
        inside = np.flatnonzero(to_seed < border)
        tied = np.flatnonzero(to_seed == border)[: k - len(inside)]
        chosen = np.concatenate([inside, tied])
        labels[left[chosen]] = group
        left = np.delete(left, chosen)
        group += 1

    while len(left) >= 3 * k:
        first = left[np.argmax(distances(columns[left].mean(axis=0)))]
        take(first)
        take(left[np.argmax(distances(columns[first]))])
    if len(left) >= 2 * k:
        take(left[np.argmax(distances(columns[left].mean(axis=0)))])
    labels[left] = group
    return labels


def plain_nearest(sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """For each source row the nearest target row (the first of equals), by squared differences, 500 rows at a time."""
    nearest = []
    for start in range(0, len(sources), 500):
        block = sources[start : start + 500]
        squares = (block**2).sum(axis=1)[:, None] - 2 * block @ targets.T + (targets**2).sum(axis=1)[None, :]
        nearest.append(squares.argmin(axis=1))
    return np.concatenate(nearest)
