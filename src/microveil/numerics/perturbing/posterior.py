"""The posterior probabilities of true categories given the published ones and the transition matrix.

Row k of a matrix holds the probabilities with which category k is published as each category; frequencies count the
records of each category before the drawing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from microveil.typing import BoolArray, FloatArray, IntArray

Convention = Literal["column", "source"]
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Ratios:
    """Expected ratios: for each category, and their mean by frequency over the categories whose ratio is finite.

    `unbounded` is the share of the records whose category nobody else is published as, so that its ratio is infinite.
    """

    by_category: FloatArray
    mean: float
    unbounded: float

    @property
    def chances(self) -> FloatArray:
        """The same as probabilities: that a record published as a category has it in truth."""
        finite = np.isfinite(self.by_category)
        return np.where(finite, self.by_category / (1.0 + np.where(finite, self.by_category, 0.0)), 1.0)


def expected_ratios(matrix: FloatArray, frequencies: npt.ArrayLike, convention: Convention = "column") -> Ratios:
    """For category k the records expected to be published as k that were k, over those that were not:

        ER(k) = t_k p_kk / sum over j != k of t_j p_jk.

    With the convention "source" the sum runs over t_j p_kj, with the indices transposed, as some tables were printed.

    >>> expected_ratios(np.array([[0.9, 0.1], [0.4, 0.6]]), [30, 10]).by_category.tolist()
    [6.75, 2.0]
    """
    t = np.asarray(frequencies, dtype=np.float64)
    kept = t * np.diag(matrix)
    flows = t[:, None] * matrix if convention == "column" else t[:, None] * matrix.T
    others = flows - np.diag(np.diag(flows))
    came = others.sum(axis=0)
    ratios = np.divide(kept, came, out=np.where(kept > 0, np.inf, 0.0), where=came > 0)
    finite = np.isfinite(ratios)
    counted, total = t[finite].sum(), t.sum()
    mean = float((t[finite] * ratios[finite]).sum() / counted) if counted > 0 else np.inf
    return Ratios(ratios, mean, float(t[~finite].sum() / total) if total > 0 else 0.0)


def likeliest(matrix: FloatArray, frequencies: npt.ArrayLike) -> BoolArray:
    """For each published category (row) the true categories (columns) that are most probable; several where they tie.

    A category that cannot be published is taken for itself.

    >>> likeliest(np.array([[0.1, 0.9], [0.9, 0.1]]), [1, 1]).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    joint = (np.asarray(frequencies, dtype=np.float64)[:, None] * matrix).T
    most = joint.max(axis=1, keepdims=True)
    found = joint >= most * (1.0 - _ROUNDING)
    never = most[:, 0] <= 0
    found[never] = np.eye(len(matrix), dtype=np.bool_)[never]
    return np.asarray(found)


def map_disclosure(matrix: FloatArray, frequencies: npt.ArrayLike) -> float:
    """The share of the records whose true category the most probable one is: the sum over l of max over k of v_k p_kl.

    >>> map_disclosure(np.array([[0.1, 0.9], [0.9, 0.1]]), [1, 1])
    0.9
    """
    t = np.asarray(frequencies, dtype=np.float64)
    return float((t[:, None] * matrix).max(axis=0).sum() / t.sum()) if t.sum() > 0 else 0.0


def observed_matrix(before: IntArray, after: IntArray, size: int) -> FloatArray:
    """The transitions that happened, as a matrix; a category without records stays.

    >>> observed_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), 3).tolist()
    [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    counts = np.bincount(before * size + after, minlength=size * size).reshape(size, size).astype(np.float64)
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(counts, totals, out=np.eye(size), where=totals > 0))
