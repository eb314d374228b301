"""The minimum covariance determinant (MCD): centre and covariance of the most concentrated half of the records.

FAST-MCD (Rousseeuw and Van Driessen 1999). From many small subsets of the records, concentration steps (C-steps) are
made: the h records nearest to the centre of a subset, by its own covariance, are the next subset, and the determinant
never grows. Of a long table parts are searched first. The subsets to start from are positions, drawn without a look at
the values, so that the estimate is affine equivariant: turned, stretched or moved records give the same subset.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_STARTS = 500
_BEST = 10  # subsets that are kept after the first two steps
_LONG = 600  # above so many records parts are searched first
_PART, _PARTS = 300, 5
_MOST_STEPS = 100
_SINGULAR = 1e-12  # smallest eigenvalue of a correlation matrix that is not taken for 0
_FLAT = 1e-6  # extent of the records in a direction, in the measure of their own distances, that is taken for none
_REWEIGHTED = 0.975  # records within this quantile of the raw distances make the final estimate
_SHARES = (0.625, 0.75, 0.875, 1.0)  # tried in turn where more than the asked share lies in a hyperplane


@dataclass(frozen=True)
class RobustEllipsoid:
    """A centre and a covariance that far records have no say in.

    `share` is that of the records whose covariance has the least determinant: larger than asked for where these lie in
    a hyperplane.
    """

    centre: FloatArray
    covariance: FloatArray
    share: float

    @classmethod
    def of(
        cls, rows: FloatArray, share: float, rng: np.random.Generator, progress: Progress = silent
    ) -> RobustEllipsoid | None:
        """Of rows without missing cells, none of whose columns has a spread of 0 in its shortest half.

        Where columns are linear combinations of others the ellipsoid is flat. None where no share of the records has a
        covariance that can be inverted.
        """
        scale = np.array([shortest_half(column) for column in rows.T])
        scaled = rows / scale
        origin, axes = _span(scaled)
        inside = (scaled - origin) @ axes.T
        for tried in (share, *(larger for larger in _SHARES if larger > share)):
            subset = least_determinant(inside, subset_size(inside.shape[0], inside.shape[1], tried), rng, progress)
            if subset is not None:
                centre, covariance = _reweighted(inside, subset)
                back = axes * scale
                return cls((origin + centre @ axes) * scale, back.T @ covariance @ back, tried)
        return None

    def squared_distances(self, rows: FloatArray) -> tuple[FloatArray, IntArray]:
        """Squared Mahalanobis distances of rows by the cells that they have, and the dimensions these are about."""
        squared, dimensions = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64)
        patterns, pattern_of = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
        for number, present in enumerate(patterns):
            if not present.any():
                continue
            members = np.flatnonzero(pattern_of.reshape(-1) == number)
            block = self.covariance[np.ix_(present, present)]
            deviation = np.sqrt(np.diag(block))
            eigenvalues, vectors = np.linalg.eigh(block / np.outer(deviation, deviation))
            kept = eigenvalues > _SINGULAR
            gaps = (rows[np.ix_(members, present)] - self.centre[present]) / deviation
            squared[members] = ((gaps @ vectors[:, kept]) ** 2 / eigenvalues[kept]).sum(axis=1)
            dimensions[members] = int(kept.sum())
        return squared, dimensions


def subset_size(records: int, dimensions: int, share: float) -> int:
    """h: how many records the share stands for, from (n + p + 1) / 2 to n as the share goes from a half to 1.

    >>> subset_size(100, 3, 0.5), subset_size(100, 3, 1.0)
    (52, 100)
    """
    least = (records + dimensions + 1) // 2
    return min(records, int(2 * least - records + 2 * (records - least) * share))


def shortest_half(values: FloatArray) -> float:
    """The length of the shortest interval with more than half of the values: a spread that outliers do not change.

    >>> shortest_half(np.array([1.0, 2.0, 4.0, 90.0])), shortest_half(np.array([0.0, 0.0, 0.0, 5.0, 7.0]))
    (3.0, 0.0)
    """
    present = np.sort(values[~np.isnan(values)])
    if not len(present):
        return 0.0
    width = len(present) // 2
    return float((present[width:] - present[: len(present) - width]).min())


def chi_squared_quantile(probability: float, dimensions: FloatArray | IntArray | int) -> FloatArray:
    from scipy.special import chdtri

    return np.asarray(chdtri(dimensions, 1.0 - probability), dtype=np.float64)


def _span(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A record near the middle, and orthonormal directions in which the others lie from it.

    Directions are looked for among records at distance 1, so that no far record makes the others look flat.
    """
    origin = rows[np.argmin(((rows - np.median(rows, axis=0)) ** 2).sum(axis=1))]
    gaps = rows - origin
    length = np.sqrt((gaps**2).sum(axis=1))
    signs = gaps[length > 0] / length[length > 0, None]
    _, extent, directions = np.linalg.svd(signs, full_matrices=False)
    kept = extent > _FLAT * extent[0]
    if kept.all() and len(directions) == rows.shape[1]:
        return origin, np.eye(rows.shape[1])
    return origin, directions[kept]


def least_determinant(
    rows: FloatArray, h: int, rng: np.random.Generator, progress: Progress = silent
) -> IntArray | None:
    """The positions of h rows whose covariance has the least determinant found; None if h rows lie in a hyperplane.

    In one dimension, and where there are few subsets to start from, it is the least of all.
    """
    n, p = rows.shape
    if p == 1:
        return _shortest_window(rows[:, 0], h)
    if h == n:
        return np.arange(n) if _factor(rows, np.arange(n)) is not None else None
    if n <= _LONG:
        found = _concentrated(rows, _starts(rows, h, _STARTS, rng), h, progress)
        return None if found is None else _least(rows, h, found)
    some = rng.permutation(n)[: _PART * _PARTS]
    parts = np.array_split(some, max(1, len(some) // _PART))
    kept: list[IntArray] = []
    for number, part in enumerate(parts):
        size = max(p + 1, int(len(part) * h / n))
        starts = _starts(rows[part], size, _STARTS // len(parts), rng)
        found = _concentrated(rows[part], starts, size)
        if found is None:  # also true of all records, or of too few of them to matter; all are looked at next
            found = list(_starts(rows[part], size, _BEST, rng))
        kept += [part[members] for members in found]
        progress(0.5 * (number + 1) / len(parts), "minimum covariance determinant")
    pooled = _concentrated(rows[some], [_positions(some, members) for members in kept], max(p + 1, len(some) * h // n))
    found = _concentrated(rows, kept if pooled is None else [some[members] for members in pooled], h)
    return None if found is None else _least(rows, h, found[:3])


def _positions(some: IntArray, members: IntArray) -> IntArray:
    order = np.argsort(some)
    return np.asarray(order[np.searchsorted(some, members, sorter=order)])


def _starts(rows: FloatArray, h: int, wanted: int, rng: np.random.Generator) -> Iterable[IntArray]:
    """Subsets of p + 1 rows, all of them where there are few; more rows where their covariance has no inverse."""
    n, p = rows.shape
    if comb(n, p + 1) <= wanted:
        few = [np.array(chosen) for chosen in combinations(range(n), p + 1)]
        return [members for members in few if _factor(rows, members) is not None]
    found = []
    for _ in range(wanted):
        order, size = rng.permutation(n), p + 1
        while size < h and _factor(rows, order[:size]) is None:
            size = min(h, 2 * size)
        found.append(order[:size])
    return found


def _concentrated(
    rows: FloatArray, starts: Iterable[IntArray], h: int, progress: Progress = silent
) -> list[IntArray] | None:
    """The best subsets after two steps from each start; None if a step ends in a hyperplane."""
    found: list[tuple[float, tuple[int, ...]]] = []
    usable = [members for members in starts if _factor(rows, members) is not None]
    for number, start in enumerate(usable):
        members: IntArray = start
        for _ in range(2):
            members = _c_step(rows, members, h)
            if _factor(rows, members) is None:
                return None
        found.append((_log_determinant(rows, members), tuple(members.tolist())))
        if number % 50 == 0:
            progress(number / len(usable), "minimum covariance determinant")
    best = sorted(set(found))[:_BEST]
    return [np.array(members) for _, members in best] or None


def _least(rows: FloatArray, h: int, subsets: list[IntArray]) -> IntArray | None:
    """The subset with the least determinant after as many steps as change anything."""
    ended = []
    for subset in subsets:
        members = subset
        for _ in range(_MOST_STEPS):
            following = _c_step(rows, members, h)
            if _factor(rows, following) is None:
                return None
            if np.array_equal(following, members):
                break
            members = following
        ended.append((_log_determinant(rows, members), tuple(members.tolist())))
    return np.array(min(ended)[1])


def _c_step(rows: FloatArray, members: IntArray, h: int) -> IntArray:
    """The h rows nearest to the centre of some, by their covariance."""
    return np.sort(np.argpartition(_squared(rows, members), h - 1)[:h])


def _squared(rows: FloatArray, members: IntArray) -> FloatArray:
    factor = _factor(rows, members)
    assert factor is not None
    gaps = rows - rows[members].mean(axis=0)
    return np.asarray((np.linalg.solve(factor, gaps.T) ** 2).sum(axis=0))


def _factor(rows: FloatArray, members: IntArray) -> FloatArray | None:
    """The Cholesky factor of the covariance of some rows; None where it has no inverse."""
    covariance = _covariance(rows[members])
    deviation = np.sqrt(np.diag(covariance))
    if not (deviation > 0).all():
        return None
    if np.linalg.eigvalsh(covariance / np.outer(deviation, deviation))[0] <= _SINGULAR:
        return None
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _covariance(rows: FloatArray) -> FloatArray:
    gaps = rows - rows.mean(axis=0)
    return np.asarray(gaps.T @ gaps / len(rows))


def _log_determinant(rows: FloatArray, members: IntArray) -> float:
    return float(np.linalg.slogdet(_covariance(rows[members]))[1])


def _shortest_window(values: FloatArray, h: int) -> IntArray | None:
    """In one dimension the best h are neighbours, so all windows are compared."""
    order = np.argsort(values, kind="stable")
    windows = np.lib.stride_tricks.sliding_window_view(values[order], h)
    spread = windows.var(axis=1)
    first = int(np.argmin(spread))
    return np.sort(order[first : first + h]) if windows[first][-1] > windows[first][0] else None


def _reweighted(rows: FloatArray, members: IntArray) -> tuple[FloatArray, FloatArray]:
    """Centre and covariance of the records that are near by the raw estimate, consistent for normal records.

    The raw covariance is stretched so that half of the records lie within the median of the distribution (Rousseeuw and
    Van Driessen 1999); the final one by how much cutting off the far records shrinks it (Croux and Haesbroeck 1999).
    """
    p = rows.shape[1]
    squared = _squared(rows, members)
    stretch = np.median(squared) / chi_squared_quantile(0.5, p)
    kept = np.flatnonzero(squared <= stretch * chi_squared_quantile(_REWEIGHTED, p))
    if _factor(rows, kept) is None:
        return rows[members].mean(axis=0), _covariance(rows[members]) * stretch
    return rows[kept].mean(axis=0), _covariance(rows[kept]) * _consistency(p, _REWEIGHTED)


def _consistency(p: int, share: float) -> float:
    """By how much the covariance of the nearest share of normal records is smaller than that of all."""
    from scipy.special import chdtr

    return float(share / chdtr(p + 2, chi_squared_quantile(share, p)))
