"""The intervals in which single values must lie, given sums over sets of records and bounds of every value.

Records that lie in the same sets form an atom. What can be said of a member follows from the sum of its atom: the
others take up at most their upper and at least their lower bounds. So a linear program has a variable for every atom.
"""

from __future__ import annotations

import numpy as np

from microveil.typing import BoolArray, FloatArray, IntArray


def atoms_of(sets: list[IntArray], records: int) -> tuple[FloatArray, IntArray, IntArray]:
    """The 0/1 matrix of sets by atoms, the number of records of each atom, and the atom of every record."""
    inside = np.zeros((len(sets), records), dtype=bool)
    for row, members in zip(inside, sets, strict=True):
        row[members] = True
    columns, atoms, sizes = np.unique(inside, axis=1, return_inverse=True, return_counts=True)
    return columns.astype(float), sizes.astype(np.int64), np.ravel(atoms).astype(np.int64)


def sums_of_atom(
    atom: int, matrix: FloatArray, totals: FloatArray, sizes: IntArray, low: float, high: float
) -> tuple[float, float]:
    """The least and the largest sum of an atom; NaN where the totals contradict the bounds."""
    from scipy.optimize import linprog

    bounds = np.column_stack([sizes * low, sizes * high])
    cost = np.zeros(len(sizes))
    ends = []
    for sign in (1.0, -1.0):
        cost[atom] = sign
        solved = linprog(cost, A_eq=matrix, b_eq=totals, bounds=bounds, method="highs")
        ends.append(sign * solved.fun if solved.status == 0 else np.nan)
    return ends[0], ends[1]


def confine_somebody(
    matrix: FloatArray, sums: FloatArray, sizes: IntArray, low: float, high: float, width: float
) -> bool:
    """Whether the totals that these sums of atoms give confine a member of some atom to an interval shorter than so.

    The sums themselves are possible, so what they leave to a member is possible too; only where that is too short a
    linear program has to say what else there is.
    """
    possible = intervals_of_members(np.column_stack([sums, sums]), sizes, low, high)
    totals = matrix @ sums
    for atom in np.flatnonzero(~_as_long_as(width, possible)):
        ends = np.array([sums_of_atom(int(atom), matrix, totals, sizes, low, high)])
        if not _as_long_as(width, intervals_of_members(ends, sizes[[atom]], low, high)).all():
            return True
    return False


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
    from scipy.linalg import null_space
    from scipy.optimize import linprog

    lower, upper = sizes * low, sizes * high
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
    directions = null_space(matrix) if len(matrix) else np.eye(count)
    found = np.empty((draws, count))
    for draw in range(draws):
        for _ in range(steps if directions.shape[1] else 0):
            way = directions @ rng.standard_normal(directions.shape[1])
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.stack([(lower - at) / way, (upper - at) / way])
            ends = np.where(np.abs(way) > 1e-12, ends, np.array([[-np.inf], [np.inf]]))
            first, last = ends.min(axis=0).max(), ends.max(axis=0).min()
            if last > first:
                at = np.clip(at + rng.uniform(first, last) * way, lower, upper)
        found[draw] = at
    return found
