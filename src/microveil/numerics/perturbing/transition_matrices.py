"""Transition matrices of categories: ways to make them, to make them keep frequencies, and to draw from them.

Row k holds the probabilities with which category k is published as each category, so frequencies t become t P in
expectation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.errors import DataError
from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray, IntArray

_GRID = np.arange(1, 101) / 100  # factors alpha of a raised diagonal
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


def raised(matrix: FloatArray, alpha: float) -> FloatArray:
    """alpha P + (1 - alpha) I (Eq. 4.6): a larger diagonal that keeps what P keeps."""
    return np.asarray(alpha * matrix + (1.0 - alpha) * np.eye(len(matrix)))


def lowered(matrix: FloatArray, highest: float = 0.75, *, printed: bool = False) -> FloatArray:
    """The diagonal brought down to `highest` (Eq. 4.7): a row above it is multiplied by beta = highest / diagonal, and
    the other cells of the row share what is gone. Frequencies are not kept.

    As printed, one beta from the greatest diagonal serves all rows and the shares are (1 - beta) / L instead of
    (1 - beta) / (L - 1), so rows are divided by their sums afterwards.

    >>> lowered(np.array([[0.9, 0.1], [0.4, 0.6]])).round(6).tolist()
    [[0.75, 0.25], [0.4, 0.6]]
    """
    size, diagonal = len(matrix), np.diag(matrix)
    if size == 1 or diagonal.max() <= highest:
        return matrix.copy()
    if printed:
        beta = np.full(size, highest / diagonal.max())
        share = (1.0 - beta) / size
    else:
        beta = np.divide(highest, diagonal, out=np.ones(size), where=diagonal > highest)
        share = (1.0 - beta) / (size - 1)
    made = beta[:, None] * matrix + share[:, None]
    np.fill_diagonal(made, beta * diagonal)
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def within_range(matrix: FloatArray, lowest: float, highest: float, *, printed: bool = False) -> FloatArray:
    """Each row by itself raised or lowered until its diagonal lies in the range."""
    diagonal = np.diag(matrix)
    alpha = np.divide(1.0 - lowest, 1.0 - diagonal, out=np.ones(len(matrix)), where=diagonal < lowest)[:, None]
    return lowered(np.asarray(alpha * matrix + (1.0 - alpha) * np.eye(len(matrix))), highest, printed=printed)


class Controlled(NamedTuple):
    """An invariant matrix, the factor of the last raise, and whether its diagonal lies in the range wanted."""

    matrix: FloatArray
    alpha: float
    in_range: bool


def invariant_within_range(
    matrix: FloatArray, frequencies: npt.ArrayLike, lowest: float = 0.55, highest: float = 0.75
) -> Controlled:
    """An invariant matrix with its diagonal in a range, as far as raising it can do that.

    A matrix whose diagonal does not dominate is first raised as little as makes it do so. The invariant matrix is then
    raised as far as the range allows, by factors on a grid of 0.01; and as little as the range demands where both ends
    cannot be kept. Categories without records do not count.
    """
    t = np.asarray(frequencies, dtype=np.float64)
    if len(t) == 1 or not t.any():
        return Controlled(np.eye(len(t)), 1.0, True)
    if np.diag(matrix).min() <= 0.5:
        dominant = 1.0 - _GRID * (1.0 - np.diag(matrix).min()) > 0.5
        matrix = raised(matrix, float(_GRID[dominant].max()))
    invariant = invariant_matrix(matrix, t)
    diagonal = np.diag(invariant)[t > 0]
    low, high = (1.0 - _GRID * (1.0 - end) for end in (diagonal.min(), diagonal.max()))
    low_enough, high_enough = high <= highest + _ROUNDING, low >= lowest - _ROUNDING
    alpha = float(_GRID[low_enough].min()) if low_enough.any() else 1.0
    if not high_enough[np.searchsorted(_GRID, alpha)]:
        alpha = float(_GRID[high_enough].max(initial=_GRID[0]))
    at = int(np.searchsorted(_GRID, alpha))
    return Controlled(raised(invariant, alpha), alpha, bool(low_enough[at] and high_enough[at]))


def expected_frequencies(frequencies: npt.ArrayLike, matrix: FloatArray) -> FloatArray:
    """The frequencies to expect after the drawing: t P.

    >>> expected_frequencies([30, 10], np.array([[0.9, 0.1], [0.4, 0.6]])).tolist()
    [31.0, 9.0]
    """
    return np.asarray(np.asarray(frequencies, dtype=np.float64) @ matrix)


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


def draw_categories(codes: IntArray, matrix: FloatArray, rng: np.random.Generator) -> IntArray:
    """For every record a category drawn from the row of its own; code -1 (missing) stays."""
    draws = rng.random(len(codes))
    positive = matrix > 0
    # the last category with any probability also takes what rounding leaves over
    last = matrix.shape[1] - 1 - np.argmax(positive[:, ::-1], axis=1)
    return _drawn(codes, np.cumsum(matrix, axis=1), last, draws)


@kernel
def _drawn(codes: IntArray, cumulative: FloatArray, last: IntArray, draws: FloatArray) -> IntArray:
    drawn = codes.copy()
    for i in range(len(codes)):
        row = codes[i]
        if row >= 0:
            drawn[i] = min(np.searchsorted(cumulative[row], draws[i], side="right"), last[row])
    return drawn
