"""Least squares from cross products, so that one pass over a long table serves many regressions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.statistics.scaling import Correlations
from microveil.typing import BoolArray, FloatArray, IntArray

_SINGULAR = 1e-10  # of the largest eigenvalue: a smaller one belongs to a direction that the columns do not span
_SPANNED = 1e-9  # a coefficient is spanned, or not at all, but for so much rounding
_EXACT = 1e-12  # of the response's sum of squares: residuals with a smaller one are rounding


@dataclass(frozen=True)
class Fit:
    """Coefficients with their standard errors, and the residual variance; `found` says which of the coefficients and
    their errors the observations determine."""

    coefficients: FloatArray
    errors: FloatArray
    residual_variance: float
    found: BoolArray


@dataclass(frozen=True)
class CrossProducts:
    """The weighted cross products of columns, the first of them the constant, over so many observations."""

    products: FloatArray
    observations: int

    @classmethod
    def of(cls, columns: FloatArray, weights: FloatArray | None = None) -> CrossProducts:
        """Of the columns of a matrix, to which the constant is added."""
        weights = np.ones(len(columns)) if weights is None else weights
        return cls(_products(np.ascontiguousarray(columns), weights), len(columns))

    def __add__(self, other: CrossProducts) -> CrossProducts:
        """Those of both sets of rows together."""
        return CrossProducts(self.products + other.products, self.observations + other.observations)

    def fit(self, response: int, predictors: IntArray) -> Fit:
        """The regression of a column on others and the constant; columns are numbered from 0 without the constant.

        Where predictors depend on each other, of all solutions the shortest. The residual variance is over the
        observations less the coefficients that could be found; residuals that are rounding are none.

        >>> fit = CrossProducts.of(np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])).fit(1, np.array([0]))
        >>> fit.coefficients.round(6).tolist(), fit.residual_variance
        ([1.0, 2.0], 0.0)
        """
        chosen, y = np.concatenate([[0], predictors + 1]), response + 1
        square, with_response = self.products[np.ix_(chosen, chosen)], self.products[chosen, y]
        inverse, spanned, rank = _inverse(square)
        coefficients = inverse @ with_response
        total = float(self.products[y, y])
        left = total - 2 * float(coefficients @ with_response) + float(coefficients @ square @ coefficients)
        variance = left / max(1, self.observations - rank) if left > _EXACT * total else 0.0
        errors = np.sqrt(variance * np.maximum(np.diag(inverse), 0.0))
        return Fit(coefficients, errors, variance, (spanned > 1 - _SPANNED) & (self.observations > rank))


@kernel
def _products(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Summed row by row, so that the result does not depend on how many threads a matrix product would use."""
    size = columns.shape[1] + 1
    sums = np.zeros((size, size))
    row = np.ones(size)
    for i in range(len(columns)):
        row[1:] = columns[i]
        for a in range(size):
            weighted = weights[i] * row[a]
            if weighted != 0.0:
                for b in range(a + 1):
                    sums[a, b] += weighted * row[b]
    for a in range(size):
        for b in range(a):
            sums[b, a] = sums[a, b]
    return sums


def _inverse(square: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """The inverse of a matrix of cross products, scaled to ones on its diagonal first; how much of each column's own
    direction the columns span, from 0 to 1; and the rank."""
    _, scale, correlations = Correlations.of(square)
    eigenvalues, vectors = np.linalg.eigh(correlations)
    kept = eigenvalues > _SINGULAR * max(float(eigenvalues[-1]), 0.0)
    spanned = np.square(vectors[:, kept]).sum(axis=1)
    vectors = np.where((spanned > _SPANNED)[:, None], vectors, 0.0)  # what is not spanned has coefficient 0 exactly
    inverse = (vectors[:, kept] / eigenvalues[kept]) @ vectors[:, kept].T
    return np.asarray(inverse / np.outer(scale, scale)), spanned, int(kept.sum())


def grouped(columns: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """The means of groups of rows and, as weights, their sizes: what a regression on grouped data starts from.

    >>> means, sizes = grouped(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1]))
    >>> means[:, 0].tolist(), sizes.tolist()
    ([2.0, 7.0], [2.0, 1.0])
    """
    _, group_of, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = [np.bincount(group_of, weights=column) for column in columns.T]
    return np.column_stack(sums) / sizes[:, None], sizes.astype(np.float64)
