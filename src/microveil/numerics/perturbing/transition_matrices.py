"""Transition matrices of categories: ways to make them, to make them keep frequencies, and to draw from them.

Row k holds the probabilities with which category k is published as each category, so frequencies t become t P in
expectation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.errors import DataError
from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.draws import Uniforms
from microveil.typing import FloatArray, IntArray

Scope = Literal["row", "matrix"]  # whether each row of a matrix has a factor of its own
# how a diagonal is lowered: so that an invariant matrix stays one; by Eq. 4.7 with rows that sum to 1; as it is printed
Lowering = Literal["corrected", "eq-4.7", "printed"]
_STEP = 0.01  # of the factors alpha
_STAYS = 1e-6  # a category that leaves with no more probability is said to stay
_ROUNDING = 1e-12


def frequency_matrix(frequencies: npt.ArrayLike, p: float) -> FloatArray:
    """Transition matrix whose diagonal is p and whose rows favour rare categories: row k goes to l != k with

        (1 - p) (T - t_k - t_l) / ((L - 2) (T - t_k)),    T the sum of the frequencies t of the L categories.

    >>> frequency_matrix([2, 1, 1], 0.8).round(3).tolist()
    [[0.8, 0.1, 0.1], [0.067, 0.8, 0.133], [0.067, 0.133, 0.8]]
    """
    t = np.asarray(frequencies, dtype=np.float64)
    size, total = len(t), t.sum()
    if size == 1:
        return np.ones((1, 1))
    left = total - t
    if size == 2:
        matrix = np.full((2, 2), 1.0 - p)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            matrix = (1.0 - p) * (left[:, None] - t[None, :]) / ((size - 2) * left[:, None])
        # all records in one category: nothing to weigh by, so the others share alike
        matrix[left == 0] = (1.0 - p) / (size - 1)
    np.fill_diagonal(matrix, p)
    return matrix


def proportional_matrix(frequencies: npt.ArrayLike, p: float) -> FloatArray:
    """Diagonal p; the rest of row k goes to the other categories in proportion to their frequencies.

    >>> proportional_matrix([1, 1, 3], 0.6).round(3).tolist()
    [[0.6, 0.1, 0.3], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]]
    """
    t = np.asarray(frequencies, dtype=np.float64)
    if len(t) == 1:
        return np.ones((1, 1))
    left = (t.sum() - t)[:, None]
    matrix = np.full((len(t), len(t)), (1.0 - p) / (len(t) - 1))
    np.divide((1.0 - p) * t[None, :], left, out=matrix, where=left > 0)
    np.fill_diagonal(matrix, p)
    return matrix


def uniform_matrix(frequencies: npt.ArrayLike, theta: float) -> FloatArray:
    """Category k stays with 1 - theta t_K / t_k, t_K the least frequency above 0, and else goes to any other alike.

    Without empty categories it keeps the frequencies. An empty category stays.

    >>> uniform_matrix([2, 4], 0.5).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    t = np.asarray(frequencies, dtype=np.float64)
    if len(t) == 1 or not t.any():
        return np.eye(len(t))
    leaves = np.divide(theta * t[t > 0].min(), t, out=np.zeros_like(t), where=t > 0)
    matrix = np.repeat((leaves / (len(t) - 1))[:, None], len(t), axis=1)
    np.fill_diagonal(matrix, 1.0 - leaves)
    return matrix


def entropy_matrix(size: int, p: float) -> FloatArray:
    """Diagonal p, all other cells alike: of all matrices with this diagonal the one with the greatest entropy.

    >>> entropy_matrix(3, 0.6).tolist()
    [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    """
    if size == 1:
        return np.ones((1, 1))
    matrix = np.full((size, size), (1.0 - p) / (size - 1))
    np.fill_diagonal(matrix, p)
    return matrix


def bayes_inverse(matrix: FloatArray, frequencies: npt.ArrayLike) -> FloatArray:
    """Q[k, j]: the probability that a published k was j. Who is never published stays."""
    joint = matrix * np.asarray(frequencies, dtype=np.float64)[:, None]
    published = joint.sum(axis=0)
    inverse = np.eye(len(matrix))
    np.divide(joint.T, published[:, None], out=inverse, where=published[:, None] > 0)
    return inverse


def invariant_matrix(matrix: FloatArray, frequencies: npt.ArrayLike) -> FloatArray:
    """The two-stage matrix P Q, Q the Bayes inverse of P: it keeps the frequencies in expectation.

    >>> invariant = invariant_matrix(np.array([[0.9, 0.1], [0.4, 0.6]]), [30, 10])
    >>> (np.array([30, 10]) @ invariant).round(9).tolist()
    [30.0, 10.0]
    """
    return np.asarray(matrix @ bayes_inverse(matrix, frequencies))


def raised(matrix: FloatArray, alpha: float | FloatArray) -> FloatArray:
    """alpha P + (1 - alpha) I (Eq. 4.6), which keeps what P keeps: a larger diagonal, or with alpha > 1 a smaller one.

    An alpha for each row raises rows one by one, and that may lose what P keeps.
    """
    factor = np.broadcast_to(np.asarray(alpha, dtype=np.float64), len(matrix))[:, None]
    return np.asarray(factor * matrix + (1.0 - factor) * np.eye(len(matrix)))


def lowered(matrix: FloatArray, highest: float = 0.75, *, scope: Scope = "row", printed: bool = False) -> FloatArray:
    """The diagonal brought down to `highest` (Eq. 4.7): a row above it is multiplied by beta = highest / diagonal, and
    the other cells of the row share what is gone. Frequencies are not kept.

    With the scope "matrix" one beta, from the greatest diagonal, serves all rows. As printed it does so too, and the
    shares are (1 - beta) / L instead of (1 - beta) / (L - 1), so rows are divided by their sums afterwards.

    >>> lowered(np.array([[0.9, 0.1], [0.4, 0.6]])).round(6).tolist()
    [[0.75, 0.25], [0.4, 0.6]]
    """
    size, diagonal = len(matrix), np.diag(matrix)
    if size == 1 or diagonal.max() <= highest:
        return matrix.copy()
    if printed or scope == "matrix":
        beta = np.full(size, highest / diagonal.max())
    else:
        beta = np.divide(highest, diagonal, out=np.ones(size), where=diagonal > highest)
    share = (1.0 - beta) / (size if printed else size - 1)
    made = beta[:, None] * matrix + share[:, None]
    np.fill_diagonal(made, beta * diagonal)
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def within_range(
    matrix: FloatArray, lowest: float, highest: float, *, scope: Scope = "row", printed: bool = False
) -> FloatArray:
    """Rows below the range raised to its lower end (Eq. 4.6), then rows above it lowered to its upper end (Eq. 4.7).

    With the scope "matrix" one factor each, from the row that needs it most, serves all rows, as it does in Marés
    (2013); then lowering may leave rows below the range.

    >>> within_range(np.array([[0.9, 0.1], [0.7, 0.3]]), 0.55, 0.75).round(6).tolist()
    [[0.75, 0.25], [0.45, 0.55]]
    """
    diagonal = np.diag(matrix)
    alpha = np.divide(1.0 - lowest, 1.0 - diagonal, out=np.ones(len(matrix)), where=diagonal < lowest)
    if scope == "matrix":
        alpha = np.full(len(matrix), alpha.min())
    return lowered(raised(matrix, alpha), highest, scope=scope, printed=printed)


class Controlled(NamedTuple):
    """A matrix whose diagonal was brought nearer to a range: the factor alpha of its invariant form, whether the
    diagonal is in the range, and whether the frequencies are kept."""

    matrix: FloatArray
    alpha: float
    in_range: bool
    is_invariant: bool = True


def invariant_within_range(
    matrix: FloatArray,
    frequencies: npt.ArrayLike,
    lowest: float = 0.55,
    highest: float = 0.75,
    *,
    lowering: Lowering = "corrected",
    scope: Scope = "row",
) -> Controlled:
    """An invariant matrix with its diagonal in a range, if one factor can do that.

    A matrix whose diagonal does not dominate is first raised as little as makes it do so. The invariant matrix R is
    then made alpha R + (1 - alpha) I, by the least alpha in hundredths that has no diagonal above the range. Where that
    leaves a diagonal below it, alpha is the greatest one that does not. An alpha above 1 lowers the diagonal; row sums
    and frequencies are kept by any. Categories without records do not count.

    With another `lowering` than "corrected", alpha is 1 at most and what is still above the range is lowered by
    Eq. 4.7, which brings every diagonal into the range and does not keep the frequencies.
    """
    t = np.asarray(frequencies, dtype=np.float64)
    if len(t) == 1 or not t.any():
        return Controlled(np.eye(len(t)), 1.0, True)
    invariant = invariant_matrix(dominant(matrix), t)
    diagonal = np.diag(invariant)[t > 0]
    leaves = 1.0 - np.array([diagonal.max(), diagonal.min()])
    unbounded = np.array([np.inf if highest < 1.0 else 0.0, np.inf])
    bounds = np.divide([1.0 - highest, 1.0 - lowest], leaves, out=unbounded, where=leaves > _STAYS)
    alpha, in_range = _factor_between(*bounds.tolist())
    if lowering != "corrected" and (alpha > 1.0 or not in_range):
        made = lowered(raised(invariant, min(alpha, 1.0)), highest, scope=scope, printed=lowering == "printed")
        kept = np.allclose(t @ made, t, rtol=1e-9, atol=1e-9)
        return Controlled(made, min(alpha, 1.0), is_within(np.diag(made)[t > 0], lowest, highest), bool(kept))
    # the row of an empty category is never used, and a factor above 1 could make it negative
    made = raised(invariant, np.where(t > 0, alpha, min(alpha, 1.0)))
    return Controlled(np.maximum(made, 0.0), alpha, in_range)


def _factor_between(least: float, greatest: float) -> tuple[float, bool]:
    """The least factor in hundredths that is not below `least`, if it is not above `greatest`; else the greatest one
    that is not above that. And whether it lies between the two."""
    if np.isinf(greatest):  # every category stays, whatever the factor is
        return 1.0, bool(np.isfinite(least))
    alpha = max(_in_hundredths(least, np.ceil), _STEP)
    if alpha <= greatest + _ROUNDING:
        return alpha, True
    alpha = _in_hundredths(greatest, np.floor)
    return alpha, bool(alpha >= least - _ROUNDING)


def _in_hundredths(number: float, to_whole: Callable[[float], float]) -> float:
    """Rounded up or down to hundredths, unless nothing but a rounding error is in the way."""
    steps = number / _STEP
    if np.isfinite(steps) and abs(steps - round(steps)) <= _ROUNDING / _STEP:
        return round(steps) / 100
    return float(to_whole(steps)) / 100


def is_within(diagonal: FloatArray, lowest: float, highest: float) -> bool:
    """Whether all of a diagonal lies in a range, but for rounding."""
    return bool(((diagonal >= lowest - _ROUNDING) & (diagonal <= highest + _ROUNDING)).all())


def dominant(matrix: FloatArray) -> FloatArray:
    """The matrix raised by the largest factor in hundredths that makes every diagonal exceed the rest of its row.

    >>> dominant(np.array([[0.2, 0.8], [0.3, 0.7]])).round(3).tolist()
    [[0.504, 0.496], [0.186, 0.814]]
    """
    smallest = np.diag(matrix).min()
    if smallest > 0.5:
        return matrix
    alpha = _in_hundredths(0.5 / (1.0 - smallest), np.floor)
    return raised(matrix, alpha if 1.0 - alpha * (1.0 - smallest) > 0.5 + _ROUNDING else alpha - _STEP)


def estimated_frequencies(published: npt.ArrayLike, matrix: FloatArray) -> FloatArray:
    """What the frequencies were before the drawing, without bias, from those after it: the inverse of P, transposed,
    times the published frequencies. Estimates can be negative.

    >>> estimated_frequencies([31, 9], np.array([[0.9, 0.1], [0.4, 0.6]])).round(9).tolist()
    [30.0, 10.0]
    """
    if np.linalg.matrix_rank(matrix) < len(matrix):
        raise DataError(
            "the transition matrix cannot be inverted, so the frequencies before it cannot be estimated; its diagonal "
            "must dominate"
        )
    return np.asarray(np.linalg.solve(matrix.T, np.asarray(published, dtype=np.float64)))


def draw_categories(codes: IntArray, matrix: FloatArray, rng: Uniforms) -> IntArray:
    """For every record a category drawn from the row of its own; code -1 (missing) stays."""
    draws = rng.random(len(codes))
    positive = matrix > 0
    # the last category with any probability also takes what rounding leaves over
    last = matrix.shape[1] - 1 - np.argmax(positive[:, ::-1], axis=1)
    return _drawn(codes, np.cumsum(matrix, axis=1), last, draws)


@kernel(steps=lambda codes, cumulative, last, draws: 10 * len(codes))
def _drawn(codes: IntArray, cumulative: FloatArray, last: IntArray, draws: FloatArray) -> IntArray:
    drawn = codes.copy()
    for i in range(len(codes)):
        row = codes[i]
        if row >= 0:
            drawn[i] = min(np.searchsorted(cumulative[row], draws[i], side="right"), last[row])
    return drawn
