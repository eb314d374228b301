"""Mardia's multivariate skewness and kurtosis: how far a table is from a normal distribution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray

_SINGULAR = 1e-10


class Shape(NamedTuple):
    """A normal distribution in d dimensions has skewness 0 and kurtosis d (d + 2)."""

    skewness: float
    kurtosis: float
    dimensions: int


def mardia(columns: FloatArray) -> Shape:
    """Skewness and kurtosis of complete rows, in the dimensions in which they vary.

    The skewness, a mean over all pairs of rows, is the sum of the squared third moments of the whitened columns, so
    that it takes one pass.

    >>> mardia(np.array([[-1.0], [1.0], [-1.0], [1.0]]))
    Shape(skewness=0.0, kurtosis=1.0, dimensions=1)
    """
    white = _whitened(columns)
    d = white.shape[1]
    if d == 0:
        return Shape(0.0, 0.0, 0)
    thirds = _third_moments(np.ascontiguousarray(white))
    return Shape(float(np.square(thirds).sum()), float(np.square(np.square(white).sum(axis=1)).mean()), d)


@kernel
def _third_moments(white: FloatArray) -> FloatArray:
    """The mean of z_a z_b z_c for all a, b, c."""
    n, d = len(white), white.shape[1]
    sums = np.zeros((d, d, d))
    for row in white:
        for a in range(d):
            for b in range(a + 1):
                product = row[a] * row[b]
                for c in range(b + 1):
                    sums[a, b, c] += product * row[c]
    for a in range(d):
        for b in range(d):
            for c in range(d):
                high, low = max(a, b, c), min(a, b, c)
                sums[a, b, c] = sums[high, a + b + c - high - low, low]
    sums /= n
    return sums


def _whitened(columns: FloatArray) -> FloatArray:
    """Uncorrelated columns of variance 1 that span the same space."""
    deviation = columns.std(axis=0)
    varying = np.ptp(columns, axis=0) > 0
    if not varying.any():
        return np.zeros((len(columns), 0))
    z = (columns[:, varying] - columns[:, varying].mean(axis=0)) / deviation[varying]
    eigenvalues, vectors = np.linalg.eigh(z.T @ z / len(z))
    kept = eigenvalues > _SINGULAR * eigenvalues[-1]
    return np.asarray(z @ (vectors[:, kept] / np.sqrt(eigenvalues[kept])))
