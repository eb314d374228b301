"""How attributes depend on each other: pairwise measures, and the strongest tree they make.

Chow and Liu (1968) on the tree; Fayyoumi (2008), chapter 6, on the measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice
from typing import Literal

import numpy as np

from microveil.typing import FloatArray, IntArray

Metric = Literal["emim", "emim-corrected", "chi2", "normal"]
Edge = tuple[int, int, float]

_NOTHING = 1e-12  # a weight below it is rounding, and exactly 0


# --- pairwise dependence ------------------------------------------------------------------------------------------


def bins(columns: FloatArray, width: float) -> IntArray:
    """The number of the interval of this width each value lies in, from each column's minimum."""
    return np.asarray(np.floor((columns - columns.min(axis=0)) / width), dtype=np.int64)


def departure(joint: FloatArray) -> float:
    """The chi-squared departure of a table of joint probabilities from independence."""
    cells, expected = _cells_of(joint)
    return _departure(cells, expected)


def _cells_of(joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return joint[joint > 0], expected[joint > 0]


def _information(cells: FloatArray, expected: FloatArray) -> float:
    return float((cells * np.log(cells / expected)).sum())


def _departure(cells: FloatArray, expected: FloatArray) -> float:
    # summed over all cells, also the empty ones, the squares over expectations come down to this
    return float((cells**2 / expected).sum() - 1.0)


def dependence(columns: FloatArray, metric: Metric, width: float | None = None) -> FloatArray:
    """The symmetric matrix of pairwise dependence of the columns; a constant column depends on nothing.

    `emim`: expected mutual information and `chi2`: departure from independence, both of values cut into intervals of
    the given width; `emim-corrected`: the former less its bias in sparse tables (Miller and Madow); `normal`: the
    mutual information of normal variables with the same correlation, without intervals.
    """
    d = columns.shape[1]
    weights = np.zeros((d, d))
    if metric == "normal":
        weights = _normal(columns)
    else:
        if width is None or width <= 0:
            raise ValueError(f"{metric} needs a positive width of the intervals")
        codes = [np.unique(column, return_inverse=True)[1] for column in bins(columns, width).T]
        for i, j in combinations(range(d), 2):
            weights[i, j] = weights[j, i] = _binned(codes[i], codes[j], metric)
    weights[weights < _NOTHING] = 0.0
    np.fill_diagonal(weights, 0.0)
    return weights


def _normal(columns: FloatArray) -> FloatArray:
    centred = columns - columns.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    lengths[np.ptp(columns, axis=0) == 0] = np.inf
    correlation = (centred / lengths).T @ (centred / lengths)
    return np.asarray(-0.5 * np.log1p(-np.minimum(correlation**2, 1.0 - 1e-15)))


def _binned(one: IntArray, other: IntArray, metric: Metric) -> float:
    n = len(one)
    margin_one, margin_other = np.bincount(one), np.bincount(other)
    pair, counts = np.unique(one * len(margin_other) + other, return_counts=True)
    cells = counts / n
    expected = (margin_one[pair // len(margin_other)] / n) * (margin_other[pair % len(margin_other)] / n)
    if metric == "chi2":
        return _departure(cells, expected)
    bias = (len(pair) - len(margin_one) - len(margin_other) + 1) / (2 * n) if metric == "emim-corrected" else 0.0
    return _information(cells, expected) - bias


# --- the tree -----------------------------------------------------------------------------------------------------


def maximum_spanning_tree(weights: FloatArray) -> list[Edge]:
    """Kruskal's tree: edges (i < j, weight) in the order they are taken, by falling weight, ties by i and then j."""
    d = len(weights)
    component = np.arange(d)
    edges = sorted(combinations(range(d), 2), key=lambda edge: (-weights[edge], edge))
    tree: list[Edge] = []
    for i, j in edges:
        if component[i] != component[j]:
            component[component == component[j]] = component[i]
            tree.append((i, j, float(weights[i, j])))
    return tree


def degrees(tree: Sequence[Edge], size: int) -> IntArray:
    """How many edges of the tree meet in each node."""
    ends = [end for i, j, _ in tree for end in (i, j)]
    return np.bincount(np.array(ends, dtype=np.int64), minlength=size).astype(np.int64)


def tied_choices(degree: IntArray, size: int, limit: int = 1000) -> list[tuple[int, ...]]:
    """The nodes of highest degree, so many of them; where the last place is tied, every choice (up to a limit)."""
    cut = np.sort(degree)[::-1][size - 1]
    above = sorted(np.flatnonzero(degree > cut).tolist(), key=lambda node: (-degree[node], node))
    level = np.flatnonzero(degree == cut).tolist()
    return [(*above, *rest) for rest in islice(combinations(level, size - len(above)), limit)]
