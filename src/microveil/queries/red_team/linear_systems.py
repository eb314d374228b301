"""Exact solution of the linear systems that answers form: which records' values follow, and from which answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from microveil.typing import BoolArray


def weights_for(sets: BoolArray, record: int) -> list[Fraction] | None:
    """The weights with which the sums over sets of records add up to the value of one record; None where it does not
    follow from them. `sets` has a row for each sum.

    Records that lie in the same sets count as one column, and a record follows only if its column is its own. Weights
    are rational, so that nothing is taken for determined that is not.

    >>> sets = np.array([[1, 1, 1, 0], [0, 1, 1, 0]], dtype=bool)
    >>> [str(weight) for weight in weights_for(sets, 0)], weights_for(sets, 1)
    (['1', '-1'], None)
    """
    columns, place = np.unique(sets, axis=1, return_inverse=True)
    place = np.ravel(place)
    own = int(place[record])
    if not len(sets) or int(np.count_nonzero(place == own)) > 1:
        return None
    # the transposed system: weights w with columns^T w = e_own
    rows = [
        [Fraction(int(entry)) for entry in column] + [Fraction(int(at == own))] for at, column in enumerate(columns.T)
    ]
    return _solved(rows, len(sets))


def _solved(rows: list[list[Fraction]], unknowns: int) -> list[Fraction] | None:
    """A solution of a system with the right sides in the last column, by Gauss-Jordan elimination."""
    pivots: list[int] = []
    for unknown in range(unknowns):
        done = len(pivots)
        found = next((at for at in range(done, len(rows)) if rows[at][unknown]), None)
        if found is None:
            continue
        rows[done], rows[found] = rows[found], rows[done]
        head = rows[done][unknown]
        rows[done] = [entry / head for entry in rows[done]]
        for at, row in enumerate(rows):
            if at != done and row[unknown]:
                factor = row[unknown]
                rows[at] = [a - factor * b for a, b in zip(row, rows[done], strict=True)]
        pivots.append(unknown)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = [Fraction(0)] * unknowns
    for row, unknown in zip(rows, pivots, strict=False):
        solution[unknown] = row[-1]
    return solution
