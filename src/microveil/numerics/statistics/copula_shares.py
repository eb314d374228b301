"""The share of a population that has a combination of categories, by a Gaussian copula with the categories' shares.

Each attribute is a normal variable cut at the quantiles of its categories' cumulated shares, so a combination is a box,
and its share the probability of the box under a multivariate normal distribution. Genz (1992) turns this into an
integral over the unit cube, one attribute after the other given those before; it is taken over points that fill the
cube evenly, so that it depends on nothing but the box.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.statistics.copula import Latent, latent_correlation
from microveil.typing import FloatArray, IntArray

_POINTS = 256
_AT_ONCE = 2_000
_FREE = 1e-6  # the least variance of an attribute given those before it


def copula_correlation(codes: IntArray, weights: IntArray, rng: np.random.Generator) -> FloatArray:
    """The correlation of the normal variables behind columns of ordered codes, each row as often as its weight; -1 is
    missing."""
    cells = np.repeat(np.where(codes < 0, np.nan, codes.astype(np.float64)), weights, axis=0)
    return latent_correlation([Latent.of(column, rng) for column in cells.T])


def category_bounds(codes: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The normal variables between which each code of a column lies, by the shares of the codes; -1 has no bounds, and
    a code from beyond those that weigh something has none between.

    >>> lower, upper = category_bounds(np.array([0, 1, -1]), np.array([1.0, 1.0, 1.0]))
    >>> lower.tolist(), upper.tolist()
    ([-inf, 0.0, -inf], [0.0, inf, inf])
    """
    from scipy.special import ndtri

    known = codes >= 0
    mass = np.bincount(codes[known], weights=weights[known], minlength=1)
    edges = ndtri(np.clip(np.concatenate([[0.0], np.cumsum(mass) / max(mass.sum(), 1e-300)]), 0.0, 1.0))
    edges[-1] = np.inf
    place = np.where(known, codes, 0)
    return np.where(known, edges[place], -np.inf), np.where(known, edges[place + 1], np.inf)


def box_probabilities(lower: FloatArray, upper: FloatArray, correlation: FloatArray) -> FloatArray:
    """The probability of each row's box under the normal distribution with mean 0 and this correlation.

    >>> half = box_probabilities(np.array([[-np.inf, -np.inf]]), np.array([[0.0, 0.0]]), np.eye(2))
    >>> half.round(6).tolist()
    [0.25]
    """
    d = lower.shape[1]
    root = np.linalg.cholesky(correlation * (1.0 - _FREE) + _FREE * np.eye(d)).astype(np.float64)
    steps = np.sqrt(np.array(_primes(max(1, d - 1)), dtype=np.float64))
    points = np.abs(2.0 * np.modf(np.outer(np.arange(1, _POINTS + 1), steps))[0] - 1.0)
    chunks = [slice(start, start + _AT_ONCE) for start in range(0, len(lower), _AT_ONCE)]
    return np.concatenate([np.zeros(0), *(_boxes(lower[rows], upper[rows], root, points) for rows in chunks)])


def _boxes(lower: FloatArray, upper: FloatArray, root: FloatArray, points: FloatArray) -> FloatArray:
    from scipy.special import ndtr, ndtri

    drawn: list[FloatArray] = []
    found = np.ones((len(lower), len(points)))
    for axis in range(lower.shape[1]):
        shift = sum((root[axis, j] * drawn[j] for j in range(axis)), np.zeros((len(lower), len(points))))
        low = ndtr((lower[:, axis, None] - shift) / root[axis, axis])
        width = np.maximum(ndtr((upper[:, axis, None] - shift) / root[axis, axis]) - low, 0.0)
        found *= width
        if axis + 1 < lower.shape[1]:
            drawn.append(ndtri(np.clip(low + points[None, :, axis] * width, 1e-16, 1 - 1e-16)))
    return np.asarray(found.mean(axis=1))


def _primes(count: int) -> list[int]:
    """The first prime numbers."""
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found
