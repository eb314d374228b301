"""Discrepancies between six matrices of the original and of the release, in three ways of averaging."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure
from microveil.losses.numeric.moments import Moments, moments_of, relative_change
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray

Matrix = Literal["x", "v", "r", "rf", "c", "f"]
Average = Literal["mse", "mae", "mv"]
MATRICES: tuple[Matrix, ...] = ("x", "v", "r", "rf", "c", "f")
AVERAGES: tuple[Average, ...] = ("mse", "mae", "mv")
_NO_FACTOR = 1e-12  # an eigenvalue below it belongs to no factor
_TIE = 1e-9  # loadings, or eigenvalues, that differ by less are the same


@parameterised
class MatrixDiscrepancy(LossMeasure):
    """How far six matrices moved: X the values, V the covariances, R the correlations, RF the correlations between
    attributes and principal components, C the communality of each attribute with the first component, and F the
    coefficients of the component scores.

    `details` has all eighteen discrepancies (`x_mse` to `f_mv`), as fractions and not in per cent: the mean square
    error, the mean absolute error and the mean variation, in which each difference is relative to the original cell (to
    the released one, if the original is 0). Errors of X and V are those of values standardised by the original's means
    and standard deviations. Components are paired by the order of their eigenvalues, each with the sign that makes its
    largest loading positive. Equal eigenvalues leave the components between them open; then each component is laid as
    near as can be to one attribute. The value is the discrepancy chosen, or the mean of the six matrices'.

    >>> from microveil.microdata import Microdata
    >>> before = Microdata.of({"a": [1.0, 2.0, 3.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0]})
    >>> after = Microdata.of({"a": [1.5, 1.5, 4.5, 4.5], "b": [1.5, 1.5, 4.5, 4.5]})
    >>> MatrixDiscrepancy(matrix="c").measure(before, after).value.__round__(4)
    20.4196
    """

    name: ClassVar[str] = "matrix-discrepancy"
    family: ClassVar[str] = "numeric"
    summary: ClassVar[str] = "changes of values, covariances, correlations, factors, communalities and factor scores"
    meaning: ClassVar[str] = "change of the matrices that multivariate analyses start from; lower is better"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "moments are taken over the cells present in the original; a suppressed cell counts as replaced by the mean"
    )
    source: ClassVar[str] = "Domingo-Ferrer and Torra (2001a); Fayyoumi (2008), section 2.4.2"

    matrix: Literal["x", "v", "r", "rf", "c", "f", "all"] = parameter(
        default="all", help="matrix whose discrepancy is the loss; all: the mean over the six"
    )
    by: Average = parameter(default="mae", help="mean square error, mean absolute error or mean variation")
    standardise: bool = parameter(default=True, help="take errors of X and V on values standardised by the original")
    cells: Literal["upper", "all"] = parameter(
        default="upper",
        help="count each covariance and each correlation of two attributes once, or every cell of the matrix",
    )

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        before, after = moments_of(pair, attributes)
        scaling = Scaling.of(before.cells)
        suppressed = np.isnan(after.cells) & ~np.isnan(before.cells)
        after = Moments(np.where(suppressed, scaling.mean, after.cells))
        found: dict[tuple[Matrix, Average], float] = {}
        ways: tuple[tuple[tuple[Average, ...], bool], ...] = ((("mse", "mae"), self.standardise), (("mv",), False))
        for averages, standard in ways:
            one, other = (self._matrices(moments, scaling if standard else None) for moments in (before, after))
            found |= {(m, by): _discrepancy(one[m], other[m], by) for m in MATRICES for by in averages}
        chosen = MATRICES if self.matrix == "all" else (self.matrix,)
        value = sum(found[matrix, self.by] for matrix in chosen) / len(chosen)
        details = {f"{matrix}_{by}": found[matrix, by] for matrix in MATRICES for by in AVERAGES}
        return Loss.of(self.name, value, attributes, details=details)

    def _matrices(self, moments: Moments, scaling: Scaling | None) -> dict[Matrix, FloatArray]:
        """The cells of the six matrices that count; values and covariances standardised if there is a scaling."""
        values, covariances, correlations = moments.cells, moments.covariances, moments.correlations
        if scaling is not None:
            units = np.where(scaling.deviation > 0, scaling.deviation, 1.0)
            values, covariances = scaling.apply(values), covariances / np.outer(units, units)
        if self.cells == "upper":
            size = len(covariances)
            once, pairs = np.triu_indices(size), np.triu_indices(size, 1)
            return {"x": values, "v": covariances[once], "r": correlations[pairs], **_factors(correlations)}
        return {"x": values, "v": covariances, "r": correlations, **_factors(correlations)}


def _discrepancy(before: FloatArray, after: FloatArray, by: Average) -> float:
    """The mean over the cells that the original has."""
    present = ~np.isnan(before)
    before, after = before[present], after[present]
    if not before.size:
        return 0.0
    if by == "mv":
        return float(relative_change(before, after, before, "released").mean())
    return float(np.square(before - after).mean() if by == "mse" else np.abs(before - after).mean())


def _factors(correlations: FloatArray) -> dict[Matrix, FloatArray]:
    """RF, C and F of correlations R = U L U': U L^(1/2), the squares of its first column, and U L^(-1/2)."""
    eigenvalues, vectors = _components(correlations)
    sizes = np.abs(vectors)
    largest = np.argmax(sizes >= sizes.max(axis=0) - _TIE, axis=0)
    vectors = vectors * np.where(vectors[largest, np.arange(len(vectors))] < 0, -1.0, 1.0)
    roots = np.sqrt(np.where(eigenvalues < _NO_FACTOR, 0.0, eigenvalues))
    loadings = vectors * roots
    coefficients = np.divide(vectors, roots, out=np.zeros_like(vectors), where=roots > 0)
    return {"rf": loadings, "c": loadings[:, 0] ** 2, "f": coefficients}


def _components(correlations: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues from the largest down, and their vectors; those of the same eigenvalue span one space, whose axes
    rounding must not choose."""
    eigenvalues, vectors = np.linalg.eigh(correlations)
    eigenvalues, vectors = np.maximum(eigenvalues[::-1], 0.0), vectors[:, ::-1].copy()
    for same in np.split(np.arange(len(eigenvalues)), np.flatnonzero(-np.diff(eigenvalues) > _TIE) + 1):
        if len(same) > 1:
            eigenvalues[same] = eigenvalues[same].mean()
            vectors[:, same] = _nearest_axes(vectors[:, same])
    return eigenvalues, vectors


def _nearest_axes(basis: FloatArray) -> FloatArray:
    """Another orthonormal basis of the same space: each vector is the projection of the coordinate axis that keeps most
    of its length (of equals the first) on what the vectors before it leave of the space."""
    projector = basis @ basis.T
    axes = np.empty_like(basis)
    for j in range(basis.shape[1]):
        kept = np.diag(projector)
        axis = projector[:, int(np.argmax(kept >= kept.max() - _TIE))]
        axes[:, j] = axis / np.linalg.norm(axis)
        projector = projector - np.outer(axes[:, j], axes[:, j])
    return axes
