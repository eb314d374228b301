"""The intervals in which single values must lie, given sums over sets of records and bounds of every value.

Records that lie in the same sets form an atom. What can be said of a member follows from the sum of its atom: the
others take up at most their upper and at least their lower bounds. So a linear program has a variable for every atom.
"""

from __future__ import annotations

import numpy as np

from microveil.typing import BoolArray, FloatArray, IntArray

_FEWER = 0.9  # share of atoms that corners must leave at most, so that another is tried
_STILL = 1e-12  # a change of a sum, of directions of length one, that is none but for rounding


def atoms_of(sets: list[IntArray], records: int) -> tuple[FloatArray, IntArray, IntArray]:
    """The 0/1 matrix of sets by atoms, the number of records of each atom, and the atom of every record."""
    inside = np.zeros((len(sets), records), dtype=bool)
    for row, members in zip(inside, sets, strict=True):
        row[members] = True
    columns, atoms, sizes = np.unique(inside, axis=1, return_inverse=True, return_counts=True)
    return columns.astype(float), sizes.astype(np.int64), np.ravel(atoms).astype(np.int64)


def _extreme_sums(
    cost: FloatArray, matrix: FloatArray, totals: FloatArray, sizes: IntArray, low: float, high: float
) -> FloatArray:
    """The sums of all atoms that cost least, and those that cost most."""
    from scipy.optimize import linprog

    bounds = np.column_stack(_bounds(sizes, low, high))
    ends = np.full((2, len(sizes)), np.nan)
    for end, sign in zip(ends, (1.0, -1.0), strict=True):
        solved = linprog(sign * cost, A_eq=matrix, b_eq=totals, bounds=bounds, method="highs")
        if solved.status == 0:
            end[:] = solved.x
    return ends


def confine_somebody(
    matrix: FloatArray, sums: FloatArray, sizes: IntArray, low: float, high: float, width: float,
    changes: FloatArray | None = None,
) -> bool:  # fmt: skip
    """Whether the totals that these sums of atoms give confine a member of some atom to an interval shorter than so.

    An atom is cleared by possible sums that leave its members as much as that. Sums that are possible tell something
    about all atoms, so all that are found serve all of them. They are the given sums; then the ends of lines through
    the mean of what was found, each along which one atom changes; then corners of what is possible, in which all atoms
    that are not cleared are pushed up or down at once; and only for what is still left, its own least and largest sum.
    `changes` span what leaves the totals as they are: the null space of the matrix, which a caller with many sums may
    compute once.
    """
    changes = changes_of(matrix) if changes is None else changes
    (lower, upper), totals = _bounds(sizes, low, high), matrix @ sums
    found, rng = _Possible(sums), np.random.default_rng(0)

    def short() -> IntArray:
        return np.flatnonzero(~_as_long_as(width, intervals_of_members(found.ends.T, sizes, low, high)))

    for atom in short():
        if atom in short():
            found.add(_chord(found.centre, changes @ changes[atom], lower, upper))
    left, before = short(), len(sizes)
    while left.size and left.size <= _FEWER * before:
        cost, before = np.zeros(len(sizes)), left.size
        cost[left] = rng.choice((-1.0, 1.0), left.size) * rng.uniform(0.5, 1.0, left.size)
        found.add(_extreme_sums(cost, matrix, totals, sizes, low, high))
        left = short()
    for atom in left:
        if atom in short():
            found.add(_extreme_sums(np.eye(len(sizes))[atom], matrix, totals, sizes, low, high))
            if atom in short():
                return True
    return False


class _Possible:
    """Sums of all atoms that agree with the totals: the least and the largest of each atom, and the mean of all."""

    def __init__(self, sums: FloatArray) -> None:
        self.ends, self.total, self.count = np.stack([sums, sums]), sums.copy(), 1

    def add(self, points: FloatArray) -> None:
        points = points[~np.isnan(points).any(axis=1)]
        self.ends = np.stack([np.vstack([self.ends, points]).min(axis=0), np.vstack([self.ends, points]).max(axis=0)])
        self.total += points.sum(axis=0)
        self.count += len(points)

    @property
    def centre(self) -> FloatArray:
        return self.total / self.count


def _bounds(sizes: IntArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """The least and the largest sum of every atom that bounds of values allow."""
    return np.asarray(sizes * low, dtype=np.float64), np.asarray(sizes * high, dtype=np.float64)


def changes_of(matrix: FloatArray) -> FloatArray:
    """Directions, at right angles to each other, in which sums of atoms can change while all totals stay."""
    from scipy.linalg import null_space

    return np.asarray(null_space(matrix)) if len(matrix) else np.eye(matrix.shape[1])


def _chord(at: FloatArray, way: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The two points where a line through sums that are possible meets the bounds."""
    first, last = _reach(at, way, lower, upper)
    return np.clip(at + np.array([[min(first, 0.0)], [max(last, 0.0)]]) * way, lower, upper)


def _reach(at: FloatArray, way: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[float, float]:
    """How far one can go along a line in both directions without leaving the bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(lower - at) / way, (upper - at) / way])
    ends = np.where(np.abs(way) > _STILL, ends, np.array([[-np.inf], [np.inf]]))
    first, last = float(ends.min(axis=0).max()), float(ends.max(axis=0).min())
    return (first, last) if np.isfinite([first, last]).all() else (0.0, 0.0)


def _as_long_as(width: float, intervals: FloatArray) -> BoolArray:
    return np.asarray(intervals[:, 1] - intervals[:, 0] >= width - 1e-9)


def intervals_of_members(sums: FloatArray, sizes: IntArray, low: float, high: float) -> FloatArray:
    """The interval of a member of every atom."""
    others = sizes - 1
    return np.column_stack([np.maximum(low, sums[:, 0] - others * high), np.minimum(high, sums[:, 1] - others * low)])


def consistent_sums(
    matrix: FloatArray, totals: FloatArray, sizes: IntArray, low: float, high: float, draws: int,
    rng: np.random.Generator, steps: int = 50,
) -> FloatArray:  # fmt: skip
    """Sums of the atoms that agree with the totals, drawn by hit and run from all that do: one row for each draw."""
    from scipy.optimize import linprog

    lower, upper = _bounds(sizes, low, high)
    # the point that is farthest from all bounds, as a share of their distance
    count = len(sizes)
    width = upper - lower
    solved = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=np.block([[np.eye(count), width[:, None]], [-np.eye(count), width[:, None]]]),
        b_ub=np.concatenate([upper, -lower]),
        A_eq=np.column_stack([matrix, np.zeros(len(matrix))]) if len(matrix) else None,
        b_eq=totals if len(matrix) else None,
        bounds=[(None, None)] * count + [(0, 1)],
        method="highs",
    )
    if solved.status != 0:
        return np.empty((0, count))
    at = solved.x[:-1]
    directions = changes_of(matrix)
    found = np.empty((draws, count))
    for draw in range(draws):
        for _ in range(steps if directions.shape[1] else 0):
            way = directions @ rng.standard_normal(directions.shape[1])
            first, last = _reach(at, way, lower, upper)
            if last > first:
                at = np.clip(at + rng.uniform(first, last) * way, lower, upper)
        found[draw] = at
    return found
