"""Points whose Euclidean distances stand for dynamic time warping, so that any partitioner works on warped series.

Warping gives a dissimilarity of pairs and no coordinates, while a partitioner asks for means, axes and medians.
Classical multidimensional scaling finds points for dissimilarities, but for the part that no Euclidean space can hold
(the negative eigenvalues of the centred squares), and warping, which breaks the triangle inequality, has much of it.
Therefore the squared distance of two points stands for the root of the cost of warping: this keeps the order of all
dissimilarities, so that the nearest stay the nearest, and leaves out far less. On random walks, the hardest of three
files, the groups of 3 that MDAV makes on these points have 1.04 times the cost within of those that it makes on the
exact costs; with the costs themselves for squares it is 1.26 times, and with Euclidean distances 1.48 times
(benchmarks/series.py).

The matrix of all costs has n^2 entries. Long files have landmarks instead: series as far from each other as possible,
one after the other, are scaled, and every other one is placed by its costs to these as in de Silva and Tenenbaum
(2004). Nothing is drawn and the order of the records plays no part: different records are sorted first, equal ones
share a point.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.series.curves import Curves, distinct
from microveil.numerics.series.dtw_search import dtw_distances, dtw_matrix
from microveil.progress import Part, Progress, silent
from microveil.typing import FloatArray

MOST_EXACT = 3000  # different records whose matrix of all costs is scaled; 20 s of work for series of 50 points
LANDMARKS = 300
AXES = 50  # more of them do not make groups better (measured)
_SMALLEST = 1e-9  # of the largest eigenvalue: axes below it hold rounding


def dtw_coordinates(
    given: Curves,
    band: int | None = None,
    progress: Progress = silent,
    label: str = "warping series",
    *,
    most_exact: int = MOST_EXACT,
    landmarks: int = LANDMARKS,
) -> FloatArray:
    """Coordinates of the records, (n, axes), with the spread that the costs of warping have; at least one axis.

    A record without any point has NaN.
    """
    rows, which = distinct(given)
    some = np.flatnonzero((rows.lengths > 0).any(axis=0))
    points = np.full((rows.records, 1), np.nan)
    if len(some):
        present = rows.at(some)
        if present.records <= most_exact:
            placed = _placed_by_all(_comparable(dtw_matrix(present, band, progress, label)))
        else:
            placed = _placed_by_landmarks(present, band, min(landmarks, present.records), progress, label)
        points = np.full((rows.records, placed.shape[1]), np.nan)
        points[some] = placed
    progress(1.0, label)
    return np.asarray(points[which])


def _comparable(costs: FloatArray) -> FloatArray:
    """Costs with records that have no variable in common as far apart as any are."""
    finite = np.isfinite(costs)
    return costs if finite.all() else np.where(finite, costs, costs[finite].max(initial=0.0))


def _placed_by_all(costs: FloatArray) -> FloatArray:
    return _spread_as(costs, scaled_points(np.sqrt(costs)))


def _spread_as(costs: FloatArray, points: FloatArray) -> FloatArray:
    """The points with a total variance of half the mean cost, as squared distances have it: beside other attributes
    the series then weigh as if their costs were squared distances."""
    spread = float(points.var(axis=0).sum())
    return points * np.sqrt(costs.mean() / 2.0 / spread) if spread > 0 else points


def scaled_points(squares: FloatArray) -> FloatArray:
    """Classical multidimensional scaling of squared dissimilarities (n, n): (n, axes), the widest axis first.

    >>> points = scaled_points(np.array([[0.0, 9.0, 25.0], [9.0, 0.0, 16.0], [25.0, 16.0, 0.0]]))
    >>> np.round([np.sum((points[i] - points[j]) ** 2) for i, j in ((0, 1), (0, 2), (1, 2))], 6).tolist()
    [9.0, 25.0, 16.0]
    """
    values, vectors = _axes(squares)
    return np.asarray(vectors * np.sqrt(values)) if len(values) else np.zeros((len(squares), 1))


def _axes(squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The positive eigenvalues of the centred dissimilarities, from the largest on, and their vectors.

    A vector's largest entry, of equals the first, is positive, so that no library's choice of a sign shows.
    """
    from scipy.linalg import eigh

    n = len(squares)
    mean = squares.mean(axis=0)
    centred = -0.5 * (squares - mean - mean[:, None] + mean.mean())
    values, vectors = eigh(centred, subset_by_index=(max(0, n - AXES), n - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > _SMALLEST * max(values[0], 0.0)
    values, vectors = values[kept], vectors[:, kept]
    largest = np.argmax(np.abs(vectors), axis=0)
    return values, vectors * np.sign(vectors[largest, np.arange(len(values))])


def _placed_by_landmarks(given: Curves, band: int | None, wanted: int, progress: Progress, label: str) -> FloatArray:
    """Every record placed by its costs to the landmarks, and these by scaling."""
    n = given.records
    costs = np.empty((n, wanted))
    chosen = np.empty(wanted, dtype=np.int64)
    nearest = _comparable(dtw_distances(given, given.at(np.array([0])), band)[:, 0])
    at = int(np.argmax(nearest))  # the one farthest from the first
    nearest = np.full(n, np.inf)
    for count in range(wanted):
        chosen[count] = at
        part = Part(progress, count / wanted, (count + 1) / wanted)
        costs[:, count] = _comparable(
            dtw_distances(given, given.at(chosen[count : count + 1]), band, part, label)[:, 0]
        )
        nearest = np.minimum(nearest, costs[:, count])
        at = int(np.argmax(nearest))
    squares = np.sqrt(costs)
    among = squares[chosen]
    values, vectors = _axes((among + among.T) / 2.0)
    if not len(values):
        return np.zeros((n, 1))
    return _spread_as(costs, -0.5 * (squares - among.mean(axis=0)) @ (vectors / np.sqrt(values)))
