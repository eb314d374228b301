"""First and second moments of a table, roots of covariances, and maps that give one table another's moments."""

from __future__ import annotations

import numpy as np

from microveil.numerics.perturbing.perturbation import square_root
from microveil.numerics.statistics.scaling import Correlations, divisors_of
from microveil.typing import BoolArray, FloatArray, IntArray

_SINGULAR = 1e-10  # a correlation matrix with a smaller eigenvalue has no usable inverse


def paired_covariance(columns: FloatArray) -> FloatArray:
    """The covariance of each pair of columns over the rows that have both, each column less its own mean.

    A constant has covariance exactly 0.

    >>> paired_covariance(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])).round(2).tolist()
    [[2.67, 4.0], [4.0, 4.0]]
    """
    present = ~np.isnan(columns)
    held = np.maximum(present.sum(axis=0), 1)
    mean = np.sum(columns, axis=0, where=present) / held
    # rounding must not pass for variance
    low = np.min(columns, axis=0, where=present, initial=np.inf)
    varies = low < np.max(columns, axis=0, where=present, initial=-np.inf)
    centred = np.where(present & varies, columns - mean, 0.0)
    both = present.astype(np.float64).T @ present.astype(np.float64)
    return np.asarray(centred.T @ centred / np.maximum(both, 1.0))


def covariance_root(covariance: FloatArray) -> FloatArray:
    """A square matrix U with U'U the covariance, so that standard normal rows times U have it.

    Upper triangular where the covariance is regular. Otherwise its symmetric root: what depends linearly on other
    columns then does so in the noise too, and a column without variance gets none. A matrix put together from pairs
    may be no covariance at all; its negative eigenvalues are dropped and the variances kept.

    >>> covariance_root(np.array([[4.0, 2.0], [2.0, 5.0]])).round(3).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    deviations, _, correlations = Correlations.of(covariance)
    if _is_regular(correlations):
        return np.asarray(np.linalg.cholesky(correlations).T * deviations)
    eigenvalues, vectors = np.linalg.eigh(correlations)
    root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    lengths = np.sqrt(np.square(root).sum(axis=0))
    return np.asarray(root / divisors_of(lengths) * deviations)


def _is_regular(correlations: FloatArray) -> bool:
    return bool(np.linalg.eigvalsh(correlations)[0] > _SINGULAR)


def moment_map(has: FloatArray, wanted: FloatArray) -> tuple[FloatArray, bool]:
    """A matrix T with T' (has) T = wanted: it turns rows of one covariance into rows of another.

    With regular covariances T is the quotient of their Cholesky factors. A singular one is decomposed by eigenvalues,
    and of all T the one that turns least is taken; then the truth value says whether there are directions enough for
    the covariance wanted, or whether only a part of it is reached.

    >>> T, reached = moment_map(np.array([[4.0]]), np.array([[9.0]]))
    >>> T.tolist(), reached
    ([[1.5]], True)
    """
    (_, divisors, one), (after, _, other) = Correlations.of(has), Correlations.of(wanted)
    if _is_regular(one) and _is_regular(other):
        quotient, reached = np.linalg.solve(np.linalg.cholesky(one).T, np.linalg.cholesky(other).T), True
    else:
        first, second = square_root(one), square_root(other)
        left, _, right = np.linalg.svd(first.T @ second, full_matrices=False)
        quotient = np.linalg.pinv(first).T @ (left @ right) @ second.T
        reached = first.shape[1] >= second.shape[1]
    return np.asarray(quotient / divisors[:, None] * after), reached


def complete_rows(original: FloatArray, masked: FloatArray) -> BoolArray:
    """The rows without a missing cell in either table; columns that are missing throughout do not count."""
    used = _used(original, masked)
    return np.asarray(~np.isnan(original[:, used]).any(axis=1) & ~np.isnan(masked[:, used]).any(axis=1))


def _used(original: FloatArray, masked: FloatArray) -> BoolArray:
    return np.asarray(~np.isnan(original).all(axis=0) & ~np.isnan(masked).all(axis=0))


def with_moments_of(original: FloatArray, masked: FloatArray) -> tuple[FloatArray, bool]:
    """The masked rows mapped so that their means and covariances are those of the original rows.

    Exact over the rows without a missing cell. A row with missing cells is mapped, by the moments of the complete
    rows, with the map that belongs to the columns it has. The truth value says whether the covariance is reached:
    it is not where the masked rows vary in fewer directions than the original.

    >>> original, masked = np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([[1.0], [1.0], [3.0], [3.0]])
    >>> with_moments_of(original, masked)[0].round(3)[:, 0].tolist()
    [0.764, 0.764, 5.236, 5.236]
    """
    complete = complete_rows(original, masked)
    has, wanted = masked[complete], original[complete]
    used = _used(original, masked)
    has_mean, wanted_mean = has.mean(axis=0), wanted.mean(axis=0)
    has_covariance, wanted_covariance = paired_covariance(has), paired_covariance(wanted)
    mapped, reached = masked.copy(), True
    for columns, rows in _by_pattern(~np.isnan(masked) & used):
        among = np.ix_(columns, columns)
        turn, enough = moment_map(has_covariance[among], wanted_covariance[among])
        cells = np.ix_(rows, columns)
        mapped[cells] = (masked[cells] - has_mean[columns]) @ turn + wanted_mean[columns]
        reached &= enough
    return mapped, reached


def _by_pattern(present: BoolArray) -> list[tuple[IntArray, IntArray]]:
    """For each pattern of present columns, these columns and the rows that have it; rows with none are left out."""
    if present.all():
        return [(np.arange(present.shape[1]), np.arange(len(present)))]
    patterns, number = np.unique(present, axis=0, return_inverse=True)
    order = np.argsort(number.reshape(-1), kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(number.reshape(-1)))[:-1])
    return [(np.flatnonzero(p), r) for p, r in zip(patterns, rows, strict=True) if p.any()]
