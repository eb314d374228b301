"""How many records agree with each row of codes, counted without listing the pairs; a missing cell (-1) agrees with
every code."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.typing import FloatArray, IntArray

_FEW_ROWS = 8000  # of which all pairs are compared sooner than patterns are joined


@kernel
def agree(one: IntArray, other: IntArray) -> bool:
    """Whether two rows are equal wherever both are known."""
    for j in range(len(one)):  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if one[j] != other[j] and one[j] >= 0 and other[j] >= 0:
            return False
    return True


@kernel
def sums_by_pairs(codes: IntArray, masses: FloatArray, records: int) -> FloatArray:
    """The same as `agreeing_sums` by comparing rows one by one; among the first records there may be equal ones."""
    sums = masses.copy()
    may = np.arange(len(codes)) < records
    for one in range(records, len(codes)):
        may[one] = np.min(codes[one]) < 0  # other rows are distinct and agree with none of their like
    for one in range(len(codes)):
        if may[one]:
            for other in range(len(codes)):
                if (other < one or not may[other]) and agree(codes[one], codes[other]):
                    sums[one] += masses[other]
                    sums[other] += masses[one]
    return sums


def agreeing_sums(codes: IntArray, masses: FloatArray) -> FloatArray:
    """For distinct rows of codes, the masses of all rows that agree with each, itself included; a column a measure.

    Rows with missing cells in the same columns are compared together with those of another such pattern on the columns
    that both know, so the work grows with the number of patterns and not with that of agreeing pairs.

    >>> agreeing_sums(np.array([[0, 0], [0, 1], [0, -1]]), np.array([[5.0], [1.0], [2.0]]))[:, 0].tolist()
    [7.0, 3.0, 8.0]
    """
    known = codes >= 0
    sums = masses.astype(np.float64, copy=True)
    if known.all():
        return sums
    if len(codes) <= _FEW_ROWS:
        return sums_by_pairs(np.ascontiguousarray(codes), np.ascontiguousarray(sums), 0)
    pattern_of, first = number_rows([column.astype(np.int64) for column in known.T], [2] * known.shape[1])
    members = [np.flatnonzero(pattern_of == pattern) for pattern in range(len(first))]
    for p in range(len(members)):
        for q in range(p + 1):
            if p == q and known[first[p]].all():
                continue
            both = np.flatnonzero(known[first[p]] & known[first[q]])
            _add(sums, codes, masses, members[p], members[q], both)
    return sums


def _add(
    sums: FloatArray, codes: IntArray, masses: FloatArray, one: IntArray, other: IntArray, columns: IntArray
) -> None:
    """Add to the rows of each set what agrees with them in the other, by their codes in these columns."""
    rows = np.concatenate([one, other]) if one is not other else one
    number, count = np.zeros(len(rows), dtype=np.int64), 1
    if len(columns):
        number, found = number_rows([codes[rows, column] for column in columns])
        count = len(found)
    for measure, mass in enumerate(masses.T):
        if one is other:
            together = np.bincount(number, weights=mass[one], minlength=count)
            sums[one, measure] += together[number] - mass[one]  # a row is counted with itself already
        else:
            mine, theirs = number[: len(one)], number[len(one) :]
            sums[one, measure] += np.bincount(theirs, weights=mass[other], minlength=count)[mine]
            sums[other, measure] += np.bincount(mine, weights=mass[one], minlength=count)[theirs]
