"""The Gaussian copula of columns: its correlations, and new records drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.typing import FloatArray

_TERMS = 40  # of the series in the correlation
_SMOOTH = 500  # a column with more distinct values is as good as continuous
_HALVINGS = 50
_ZERO = 1e-10


@dataclass(frozen=True)
class Latent:
    """A column as a cut normal variable.

    `scores` are each cell's mean of that variable (NaN where missing), `randomised` a draw of it from the cell's
    interval (from the whole line where missing), and `series` the coefficients of the scores in Hermite polynomials.
    """

    scores: FloatArray
    randomised: FloatArray
    series: FloatArray

    @classmethod
    def of(cls, values: FloatArray, rng: np.random.Generator) -> Latent:
        """Cut where the shares of the values are those of the column, in ascending order of the values."""
        from scipy.special import ndtri

        present = ~np.isnan(values)
        distinct, value_of, counts = np.unique(values[present], return_inverse=True, return_counts=True)
        uniform = rng.random(len(values))
        scores, randomised = np.full(len(values), np.nan), ndtri(np.clip(uniform, 1e-16, None))
        if len(distinct) < 2:
            scores[present] = 0.0
            return cls(scores, randomised, np.zeros(_TERMS))
        shares = counts / counts.sum()
        upper = np.cumsum(counts) / counts.sum()
        lower = upper - shares
        cuts = ndtri(upper[:-1])
        heights = np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi)
        fall = -np.diff(heights, prepend=0.0, append=0.0)
        means = fall / shares
        scores[present] = means[value_of.reshape(-1)]
        within = lower[value_of.reshape(-1)] + shares[value_of.reshape(-1)] * uniform[present]
        randomised[present] = ndtri(np.clip(within, 1e-16, 1 - 1e-16))
        return cls(scores, randomised, _series(cuts, heights, means))


def _series(cuts: FloatArray, heights: FloatArray, means: FloatArray) -> FloatArray:
    """The coefficients of a step function in the normalised Hermite polynomials of order 1, 2, ...

    A polynomial of order k integrates to the difference of that of order k - 1, over the root of k, at the two cuts.
    """
    series = np.zeros(_TERMS)
    if len(means) > _SMOOTH:
        series[0] = 1.0
        return series
    steps = np.diff(means)
    older, polynomial = np.zeros_like(cuts), np.ones_like(cuts)
    for k in range(1, _TERMS + 1):
        series[k - 1] = (steps * polynomial * heights).sum() / np.sqrt(k)
        older, polynomial = polynomial, (cuts * polynomial - np.sqrt(k - 1) * older) / np.sqrt(k)
    return series


def latent_correlation(columns: list[Latent]) -> FloatArray:
    """The correlation of the normal variables under which the scores vary together as they do.

    The covariance of two columns' scores is a series in the correlation that rises with it, so halving finds it. Each
    pair is compared over the records that have both.
    """
    d = len(columns)
    found = pairwise_covariance(np.column_stack([column.scores for column in columns]))
    series = np.stack([column.series for column in columns])
    one, other = np.triu_indices(d, 1)
    products, wanted = series[one] * series[other], found[one, other]
    low, high = np.full(len(one), -1.0), np.full(len(one), 1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = np.zeros(len(one))
        for k in range(_TERMS - 1, -1, -1):
            reached = (reached + products[:, k]) * middle
        low, high = np.where(reached < wanted, middle, low), np.where(reached < wanted, high, middle)
    varies = np.abs(products).sum(axis=1) > 0
    correlation = np.eye(d)
    correlation[one, other] = correlation[other, one] = np.where(varies, (low + high) / 2, 0.0)
    return _as_correlation(correlation)


def _as_correlation(matrix: FloatArray) -> FloatArray:
    """A matrix near this one that is a correlation: no direction has a negative variance."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0:
        return matrix
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    spread = np.sqrt(np.diag(clipped))
    return np.asarray(clipped / np.outer(spread, spread))


def pairwise_covariance(columns: FloatArray) -> FloatArray:
    """Population covariances, each over the records in which both columns are present; 0 where there are none."""
    present = (~np.isnan(columns)).astype(np.float64)
    if present.all():
        centred = columns - columns.mean(axis=0)
        return np.asarray(centred.T @ centred / len(columns))
    shifted = np.nan_to_num(columns - np.nan_to_num(np.nansum(columns, axis=0) / np.maximum(present.sum(axis=0), 1)))
    both = np.maximum(present.T @ present, 1.0)
    sums = shifted.T @ present  # of the first column, where the second is present
    return np.asarray(shifted.T @ shifted / both - (sums / both) * (sums.T / both))


def draw_given(
    covariance: FloatArray, given: FloatArray, rng: np.random.Generator, *, exact: bool, size: int
) -> FloatArray:
    """Draw records of centred normal columns, conditionally on columns that are given and come first in `covariance`.

    `exact`: the draws have mean 0 and that covariance, with each other and with the given columns, but for rounding
    (where the given ones have theirs): the noise is made orthogonal to them and white before it is coloured.
    """
    g = given.shape[1]
    values, vectors = np.linalg.eigh(covariance[:g, :g])
    kept = values > _ZERO * max(values.max(initial=0.0), 1e-300)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    slopes = covariance[g:, :g] @ inverse
    rest = covariance[g:, g:] - slopes @ covariance[:g, g:]
    values, vectors = np.linalg.eigh(rest)
    kept = values > _ZERO * max(np.diag(covariance[g:, g:]).max(initial=0.0), 1e-300)
    colours = (vectors[:, kept] * np.sqrt(values[kept])).T
    noise = rng.standard_normal((size, len(colours)))
    if exact:
        noise = _whitened(noise, given)
        colours = colours[len(colours) - noise.shape[1] :]  # fewer records than columns: the greatest variances
    return np.asarray(given @ slopes.T + noise @ colours)


def _whitened(noise: FloatArray, given: FloatArray) -> FloatArray:
    """Noise with mean 0, covariance 1 and none with the given columns; as many columns of it as the records allow."""
    n = len(noise)
    basis, spread, _ = np.linalg.svd(np.column_stack([np.ones(n), given]), full_matrices=False)
    basis = basis[:, spread > _ZERO * spread[0]]
    noise = noise[:, : max(0, n - basis.shape[1])]
    for _ in range(2):  # the second time takes away what rounding has left
        noise = noise - basis @ (basis.T @ noise)
        noise = np.linalg.qr(noise)[0] if noise.shape[1] else noise
    return np.asarray(noise * np.sqrt(n))
