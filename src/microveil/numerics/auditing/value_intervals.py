"""The intervals in which single values must lie, given sums over sets of records and bounds of every value.

Records that lie in the same sets form an atom. What can be said of a member follows from the sum of its atom: the
others take up at most their upper and at least their lower bounds. So a linear program has a variable for every atom.
"""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray, IntArray

_FEWER = 0.9  # share of atoms that lines must leave at most, so that others are tried
_STILL = 1e-12  # a change of a sum, of directions of length one, that is none but for rounding
_NEAREST = 1e-9  # share of its range that the sum of an atom is taken to be away from its bounds at least
_ROUNDING = 1e-6  # share of a direction that must be left when parts are taken out of it, or it is mostly rounding


def atoms_of(sets: list[IntArray], records: int) -> tuple[FloatArray, IntArray, IntArray]:
    """The 0/1 matrix of sets by atoms, the number of records of each atom, and the atom of every record."""
    inside = np.zeros((len(sets), records), dtype=bool)
    for row, members in zip(inside, sets, strict=True):
        row[members] = True
    columns, atoms, sizes = np.unique(inside, axis=1, return_inverse=True, return_counts=True)
    return columns.astype(float), sizes.astype(np.int64), np.ravel(atoms).astype(np.int64)


def _largest_sum(
    atom: int, sign: float, matrix: FloatArray, totals: FloatArray, sizes: IntArray, low: float, high: float
) -> FloatArray:
    """Sums of all atoms that agree with the totals and in which this one is largest, or least with a negative sign."""
    from scipy.optimize import linprog

    bounds = np.column_stack(_bounds(sizes, low, high))
    solved = linprog(-sign * np.eye(len(sizes))[atom], A_eq=matrix, b_eq=totals, bounds=bounds, method="highs")
    return np.atleast_2d(solved.x if solved.status == 0 else np.full(len(sizes), np.nan))


def confine_somebody(
    matrix: FloatArray, sums: FloatArray, sizes: IntArray, low: float, high: float, width: float,
    rows: FloatArray | None = None,
) -> bool:  # fmt: skip
    """Whether the totals that these sums of atoms give confine a member of some atom to an interval shorter than so.

    An atom is cleared by possible sums that leave its members as much as that. Sums that are possible tell something
    about all atoms, so all that are found serve all of them. They are the given sums; then the ends of lines through
    the mean of what was found, along each of which one atom changes; and for what these leave, the atom with the
    shortest interval first, its own largest and least sum. `rows` span what the totals are made of, which a caller with
    many sums may compute once.
    """
    rows = rows_of(matrix) if rows is None else rows
    bounds, totals, found = _bounds(sizes, low, high), matrix @ sums, _Possible(sums)

    def lengths() -> FloatArray:
        intervals = intervals_of_members(found.ends.T, sizes, low, high)
        return np.asarray(intervals[:, 1] - intervals[:, 0])

    def short() -> IntArray:
        return np.flatnonzero(lengths() < width - 1e-9)

    while True:
        left, before = short(), np.inf
        while left.size and left.size <= _FEWER * before:
            before = left.size
            found.add(chords(found.centre, left, matrix, rows, *bounds))
            left = short()
        if not left.size:
            return False
        atom = int(left[np.argmin(lengths()[left])])
        for sign in (1.0, -1.0):
            if atom in short():
                found.add(_largest_sum(atom, sign, matrix, totals, sizes, low, high))
        if atom in short():
            return True


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


def rows_of(matrix: FloatArray) -> FloatArray:
    """Directions, at right angles to each other, in which sums of atoms cannot change while all totals stay."""
    from scipy.linalg import orth

    return np.asarray(orth(matrix.T)) if len(matrix) else np.zeros((matrix.shape[1], 0))


def _changes_of(matrix: FloatArray) -> FloatArray:
    """Directions, at right angles to each other, in which sums of atoms can change while all totals stay."""
    from scipy.linalg import null_space

    return np.asarray(null_space(matrix)) if len(matrix) else np.eye(matrix.shape[1])


def chords(
    at: FloatArray, atoms: IntArray, matrix: FloatArray, rows: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """The points where lines through sums that are possible meet the bounds, two for each of these atoms.

    Along its line an atom changes most among all changes of a given size, where the changes of other atoms count the
    more the nearer these are to their bounds: so a line is rarely cut short by an atom that has no room.
    """
    room = np.maximum(np.minimum(at - lower, upper - at), _NEAREST * (upper - lower))
    toward = np.eye(len(at))[:, atoms]
    ways = _without(rows, room[:, None] * _without(rows_of(matrix * room), toward))
    first, last = _reach(at, ways, lower, upper)
    ends = at[:, None, None] + ways[:, :, None] * np.stack([np.minimum(first, 0.0), np.maximum(last, 0.0)], axis=1)
    return np.asarray(np.clip(ends.reshape(len(at), -1).T, lower, upper))


def _without(basis: FloatArray, directions: FloatArray) -> FloatArray:
    """The directions without their parts in a space, each of length one; nothing where that is all of it."""
    rest = directions - basis @ (basis.T @ directions)
    before, after = (np.linalg.norm(each, axis=0) for each in (directions, rest))
    is_left = after > _ROUNDING * before
    return np.asarray(np.where(is_left, rest / np.where(is_left, after, 1.0), 0.0))


def _reach(at: FloatArray, ways: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far one can go along each line, a column of `ways`, in both directions without leaving the bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_lower, to_upper = ((limit - at)[:, None] / ways for limit in (lower, upper))
    moves = np.abs(ways) > _STILL
    first = np.where(moves, np.minimum(to_lower, to_upper), -np.inf).max(axis=0, initial=-np.inf)
    last = np.where(moves, np.maximum(to_lower, to_upper), np.inf).min(axis=0, initial=np.inf)
    ends_somewhere = np.isfinite(first) & np.isfinite(last)
    return np.where(ends_somewhere, first, 0.0), np.where(ends_somewhere, last, 0.0)


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
    directions = _changes_of(matrix)
    found = np.empty((draws, count))
    for draw in range(draws):
        for _ in range(steps if directions.shape[1] else 0):
            way = directions @ rng.standard_normal(directions.shape[1])
            (first,), (last,) = _reach(at, way[:, None], lower, upper)
            if last > first:
                at = np.clip(at + rng.uniform(first, last) * way, lower, upper)
        found[draw] = at
    return found
