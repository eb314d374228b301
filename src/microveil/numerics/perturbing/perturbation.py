"""Records drawn around the means of their groups so that means and covariances of the file are kept.

With W the sum of squares and products within the groups, N records and G groups, the noise has one covariance for all
groups: preserving each group's own would put masked records close to the originals where attributes are correlated.

- "paper": independent noise with covariance W/(N-G). The printed rule; the covariance of the file comes out too large
  by (G-1)/((N-1)(N-G)) W, because the means of the drawn groups scatter too.
- "iid": independent noise with covariance W/(N-1); the covariance is right in expectation.
- "centred": noise with covariance W/(N-G), less its mean in every group; group means are exact, the covariance is
  right in expectation.
- "exact": centred noise turned so that its sum of squares and products is W; means and covariance are exact. Where
  the groups leave no more dimensions than W has, nothing would be left to chance, and the noise is only centred.

A missing cell (NaN) has no residual. Sums of squares and products go over the cells, and the pairs of cells, that are
present, each divided by degrees of freedom of its own, so that variances and covariances within the groups are right in
expectation; where the matrix so made is no covariance, the one near it with the same variances is taken. "exact" then
keeps means and variances exactly. Resampled noise takes whole records, missing cells as 0: its variances are right, its
covariances too small.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from microveil.numerics.grouping.groups import means_by_group
from microveil.numerics.statistics.scaling import Correlations
from microveil.typing import BoolArray, FloatArray, IntArray

Mode = Literal["centred", "iid", "exact", "paper"]
Noise = Literal["normal", "bootstrap"]

_CUT_OFF = 1e-12  # eigenvalues below this share of the largest are rounding


def perturb(values: FloatArray, labels: IntArray, mode: Mode, noise: Noise, rng: np.random.Generator) -> FloatArray:
    """Each record as a draw around the mean of its group; NaN where a cell is missing.

    >>> values, labels = np.array([[1.0], [3.0], [7.0], [9.0], [8.0]]), np.array([0, 0, 1, 1, 1])
    >>> drawn = perturb(values, labels, "exact", "normal", np.random.default_rng(1))
    >>> bool(np.isclose(drawn.mean(), values.mean()) and np.isclose(drawn.var(), values.var()))
    True
    """
    means = means_by_group(values, labels)
    return np.where(np.isnan(values), np.nan, means + _noise_within(values - means, labels, mode, noise, rng))


def _noise_within(
    residuals: FloatArray, labels: IntArray, mode: Mode, noise: Noise, rng: np.random.Generator
) -> FloatArray:
    """Noise for every cell, from what is left of the values after their group means."""
    present = ~np.isnan(residuals)
    filled = np.where(present, residuals, 0.0)
    freedom = _degrees_of_freedom(present, labels, mode)
    active = (freedom > 0) & (filled != 0).any(axis=0)
    drawn = np.zeros_like(filled)
    if active.any():
        drawn[:, active] = _shaped(filled[:, active], present[:, active], freedom[active], labels, mode, noise, rng)
    return drawn


def _shaped(
    residuals: FloatArray,
    present: BoolArray,
    freedom: FloatArray,
    labels: IntArray,
    mode: Mode,
    noise: Noise,
    rng: np.random.Generator,
) -> FloatArray:
    if noise == "normal" and not present.all():
        drawn = _normal(_pairwise_covariance(residuals, present, labels, mode), len(residuals), rng)
    else:
        drawn = _draw(residuals / np.sqrt(freedom), noise, rng)
    if mode in ("paper", "iid"):
        return drawn
    drawn = _centred(drawn, present, labels)
    if mode == "centred":
        return drawn
    return _turned(drawn, residuals, freedom[0]) if present.all() else _stretched(drawn, residuals, freedom)


def _degrees_of_freedom(present: BoolArray, labels: IntArray, mode: Mode) -> FloatArray:
    """For each attribute what its squared residuals are divided by: N-1 for independent noise, else N-G."""
    held = present.sum(axis=0)
    if mode == "iid":
        return np.asarray(held - 1.0)
    groups = [len(np.unique(labels[cells])) for cells in present.T]
    return np.asarray(held - np.array(groups, dtype=np.float64))


def _pairwise_covariance(residuals: FloatArray, present: BoolArray, labels: IntArray, mode: Mode) -> FloatArray:
    """The covariance of the noise where cells are missing (their residual is 0), pair by pair of attributes."""
    freedom = _joint_degrees_of_freedom(present, labels, mode)
    covariance = np.zeros_like(freedom)
    np.divide(residuals.T @ residuals, freedom, out=covariance, where=freedom > _CUT_OFF * len(residuals))
    return nearest_covariance(covariance)


def _joint_degrees_of_freedom(present: BoolArray, labels: IntArray, mode: Mode) -> FloatArray:
    """For each pair of attributes what its products of residuals are divided by; the diagonal is that of `present`.

    A group with p cells of one attribute, q of the other and m records that have both adds m(1 - 1/p - 1/q + m/pq): so
    much of a covariance is left, in expectation, in the products of residuals from the two group means.
    """
    cells = present[np.argsort(labels, kind="stable")].astype(np.float64)
    both = cells.T @ cells
    if mode == "iid":
        return np.asarray(both - 1.0)
    starts = np.flatnonzero(np.diff(np.sort(labels), prepend=-1))
    held = np.add.reduceat(cells, starts, axis=0)
    share = np.divide(1.0, held, out=np.zeros_like(held), where=held > 0)
    freedom = np.empty_like(both)
    for j in range(len(both)):
        joint = np.add.reduceat(cells * cells[:, [j]], starts, axis=0)
        freedom[j] = (joint * (1.0 - share[:, [j]] - share + joint * share[:, [j]] * share)).sum(axis=0)
    return freedom


def nearest_covariance(matrix: FloatArray) -> FloatArray:
    """A covariance matrix with the variances of the given one: negative eigenvalues of the correlations are dropped.

    >>> nearest_covariance(np.array([[4.0, 9.0], [9.0, 9.0]])).round(6).tolist()
    [[4.0, 6.0], [6.0, 9.0]]
    """
    deviations = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    outer = np.outer(deviations, deviations)
    correlations = np.divide(matrix, outer, out=np.eye(len(matrix)), where=outer > 0)
    eigenvalues, vectors = np.linalg.eigh(correlations)
    if eigenvalues[0] >= 0.0:
        return matrix
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    root /= np.sqrt(np.square(root).sum(axis=1, keepdims=True))
    return np.asarray(root @ root.T * outer)


def _draw(residuals: FloatArray, noise: Noise, rng: np.random.Generator) -> FloatArray:
    """Independent rows whose covariance is the sum of squares and products of the residuals."""
    n = len(residuals)
    if noise == "bootstrap":
        return np.asarray(residuals[rng.integers(0, n, size=n)] * np.sqrt(n))
    return _normal(residuals.T @ residuals, n, rng)


def _normal(covariance: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    root = square_root(covariance)
    return np.asarray(rng.standard_normal((n, root.shape[1])) @ root.T)


def square_root(matrix: FloatArray) -> FloatArray:
    """A matrix R with R R' = the given one, as wide as its rank.

    Decomposed as a correlation matrix; negative and vanishing eigenvalues are dropped.
    """
    deviations, _, correlations = Correlations.of(matrix)
    eigenvalues, vectors = np.linalg.eigh(correlations)
    kept = eigenvalues > _CUT_OFF * max(float(eigenvalues[-1]), 0.0)
    return np.asarray(deviations[:, None] * vectors[:, kept] * np.sqrt(eigenvalues[kept]))


def _centred(drawn: FloatArray, present: BoolArray, labels: IntArray) -> FloatArray:
    cells = np.where(present, drawn, np.nan)
    return np.where(present, drawn - means_by_group(cells, labels), 0.0)


def _turned(drawn: FloatArray, residuals: FloatArray, freedom: float) -> FloatArray:
    """Centred noise turned and stretched so that its sum of squares and products is that of the residuals."""
    deviations = np.sqrt(np.square(residuals).sum(axis=0))
    unit = residuals / deviations
    root = square_root(unit.T @ unit)
    if freedom <= root.shape[1]:
        return drawn  # otherwise the residuals themselves would come back, turned at most
    coordinates = (drawn / deviations) @ np.linalg.pinv(root).T
    eigenvalues, vectors = np.linalg.eigh(coordinates.T @ coordinates)
    if eigenvalues[0] <= _CUT_OFF * eigenvalues[-1]:
        return drawn  # a resample that happens not to span all directions
    return np.asarray(coordinates @ (vectors / np.sqrt(eigenvalues)) @ vectors.T @ root.T * deviations)


def _stretched(drawn: FloatArray, residuals: FloatArray, freedom: FloatArray) -> FloatArray:
    """Each attribute's noise stretched to the sum of squares of its residuals."""
    has, wanted = np.square(drawn).sum(axis=0), np.square(residuals).sum(axis=0)
    factors = np.ones(len(freedom))
    np.sqrt(np.divide(wanted, has, out=factors, where=(has > 0) & (freedom > 1)), out=factors)
    return np.asarray(drawn * factors)


# --- two relatives ---------------------------------------------------------------------------------------------------


def hybrid(values: FloatArray, labels: IntArray, rng: np.random.Generator) -> tuple[FloatArray, int]:
    """R-microhybrid: every group gets drawn records with exactly its own mean and covariance.

    A group needs at least two records more than there are attributes, and no missing cell: with one less the draws
    are the original records, only turned about their mean, and with one attribute the originals themselves. The other
    groups get the centred noise that all groups share; how many they are is returned too.
    """
    drawn = perturb(values, labels, "centred", "normal", rng)
    least = values.shape[1] + 2
    empty = np.isnan(values)
    incomplete = np.asarray(empty[:, ~empty.all(axis=0)].any(axis=1))
    order = np.argsort(labels, kind="stable")
    fallen_back = 0
    for rows in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        if len(rows) < least or incomplete[rows].any():
            fallen_back += 1
            continue
        drawn[rows] = perturb(values[rows], np.zeros(len(rows), dtype=np.int64), "exact", "normal", rng)
    return drawn, fallen_back


def perturb_average(values: FloatArray, groupings: list[IntArray], rng: np.random.Generator) -> FloatArray:
    """The average of the group means over several groupings, with noise that makes up for what it lost.

    Averaging masked files would average their noise away. The noise is independent normal with the covariance of the
    file less that of the averaged means, so that the covariance is right in expectation.
    """
    present = ~np.isnan(values)
    middle = np.mean([means_by_group(values, labels) for labels in groupings], axis=0)
    held = np.maximum(present.sum(axis=0), 1)
    centre = np.where(present, values, 0.0).sum(axis=0) / held
    before = np.where(present, values - centre, 0.0)
    after = np.where(present, middle - centre, 0.0)
    pairs = present.astype(np.float64).T @ present
    lost = (before.T @ before - after.T @ after) / np.maximum(pairs - 1.0, 1.0)
    active = (np.where(present, values - middle, 0.0) != 0).any(axis=0)
    drawn = np.zeros_like(values)
    if active.any():
        drawn[:, active] = _normal(lost[np.ix_(active, active)], len(values), rng)
    return np.where(present, middle + drawn, np.nan)


def dealt_anew(codes: IntArray, labels: IntArray, rng: np.random.Generator) -> IntArray:
    """The categories of each group dealt out among its members at random, so that all frequencies are kept.

    A category is a number from 0 up; those below 0 are missing and stay where they are.

    >>> dealt_anew(np.array([5, 5, -1, 7]), np.array([0, 0, 0, 1]), np.random.default_rng(1)).tolist()
    [5, 5, -1, 7]
    """
    rows = np.flatnonzero(codes >= 0)
    dealt = codes.copy()
    shuffled = rows[np.lexsort((rng.random(len(rows)), labels[rows]))]
    dealt[rows[np.argsort(labels[rows], kind="stable")]] = codes[shuffled]
    return dealt
