"""Local suppression as one would write it first: the measure that `suppress` must not need more cells than."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from microveil.typing import IntArray


def plain_wildcards(codes: IntArray, k: int) -> IntArray:
    """Record after record in the order of the file: while fewer than k agree with it, it loses the cell that makes most
    agree. Code -1 agrees with every code.
    """
    codes = codes.copy()

    def agreeing(row: IntArray) -> int:
        return int(((codes == row) | (codes < 0) | (row < 0)).all(axis=1).sum())

    for record in range(len(codes)):
        while agreeing(codes[record]) < k:
            trials = {}
            for column in np.flatnonzero(codes[record] >= 0):
                trial = codes[record].copy()
                trial[column] = -1
                trials[column] = agreeing(trial)
            codes[record, max(trials, key=lambda column: trials[column])] = -1
    return codes


def plain_own_category(codes: IntArray, k: int) -> IntArray:
    """Column after column, that with most codes first: records whose row is rare lose it; code -1 is one like others.

    Those rare to the end take further records with them, in the order of the file.
    """
    codes = codes.copy()

    def rare() -> npt.NDArray[np.bool_]:
        _, row, count = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
        return np.asarray(count[row.reshape(-1)] < k)

    for column in np.argsort([-len(np.unique(column)) for column in codes.T], kind="stable"):
        codes[rare(), column] = -1
    while rare().any():
        codes[np.flatnonzero((codes >= 0).any(axis=1))[0]] = -1
        codes[rare()] = -1
    return codes


def plain_combinations(codes: IntArray, wanted: list[tuple[tuple[int, ...], int]], *, wildcard: bool) -> IntArray:
    """Set after set of columns, and record after record in the order of the file: while its combination is rare, it
    loses the cell of the set that makes most agree; again from the first set until none is rare.

    Code -1 agrees with every code, or else is one like others.
    """
    codes = codes.copy()

    def agreeing(row: IntArray, columns: tuple[int, ...]) -> int:
        alike = codes[:, columns] == row[list(columns)]
        if wildcard:
            alike |= (codes[:, columns] < 0) | (row[list(columns)] < 0)
        return int(alike.all(axis=1).sum())

    changed = True
    while changed:
        changed = False
        for columns, least in wanted:
            for record in range(len(codes)):
                while agreeing(codes[record], columns) < least:
                    shown = [column for column in columns if codes[record, column] >= 0]
                    if not shown:  # only others can help a record that shows nothing
                        codes[np.flatnonzero((codes[:, columns] >= 0).any(axis=1))[0], list(columns)] = -1
                    else:
                        codes[record, _most_agreeing(codes[record], shown, columns, agreeing)] = -1
                    changed = True
    return codes


def _most_agreeing(
    row: IntArray, shown: list[int], columns: tuple[int, ...], agreeing: Callable[[IntArray, tuple[int, ...]], int]
) -> int:
    trials = {}
    for column in shown:
        trial = row.copy()
        trial[column] = -1
        trials[column] = agreeing(trial, columns)
    return max(trials, key=lambda column: trials[column])
