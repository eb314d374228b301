"""Local suppression as one would write it first: the measure that `suppress` must not need more cells than."""

from __future__ import annotations

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
