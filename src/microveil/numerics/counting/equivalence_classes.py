"""How many records agree with each row of codes, counted without listing the pairs; a missing cell (-1) agrees with
every code."""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.typing import FloatArray, IntArray, ShortArray

_FEW_ROWS = 8000  # of which all pairs are compared sooner than patterns are joined
_BITS = 62  # of a whole number into which codes are packed
_MANY_PATTERNS = 16  # of which every two would be joined


@kernel
def agree(one: IntArray, other: IntArray) -> bool:
    """Whether two rows are equal wherever both are known."""
    for j in range(len(one)):  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if one[j] != other[j] and one[j] >= 0 and other[j] >= 0:
            return False
    return True


@kernel
def bit_fields(highest: IntArray) -> IntArray:
    """Where the codes of each column stand when rows are packed into few whole numbers: in which number, from which
    bit on, and the bits of the largest code there."""
    fields = np.zeros((len(highest), 3), dtype=np.int64)
    word, used = 0, 0
    for j in range(len(highest)):
        bits = 1
        while (highest[j] >> bits) > 0:
            bits += 1
        if used + bits > _BITS:
            word, used = word + 1, 0
        fields[j, 0], fields[j, 1], fields[j, 2] = word, used, (1 << bits) - 1
        used += bits
    return fields


@kernel
def pack(row: IntArray, fields: IntArray, key: IntArray, known: IntArray) -> None:
    """Pack the codes of a row, and which bits of them are known, so that two rows are compared at once."""
    key[:] = 0
    known[:] = 0
    for j in range(len(row)):
        if row[j] >= 0:
            key[fields[j, 0]] |= row[j] << fields[j, 1]
            known[fields[j, 0]] |= fields[j, 2] << fields[j, 1]


@kernel
def packed_agree(keys: IntArray, known: IntArray, one: int, other: int) -> bool:
    """Whether two packed rows are equal wherever both are known."""
    for word in range(keys.shape[1]):
        if (keys[one, word] ^ keys[other, word]) & known[one, word] & known[other, word]:
            return False
    return True


@kernel(steps=lambda codes, masses, records: 2 * len(codes) ** 2)
def sums_by_pairs(codes: IntArray, masses: FloatArray, records: int) -> FloatArray:
    """The same as `agreeing_sums` by comparing rows one by one; among the first records there may be equal ones."""
    sums = masses.copy()
    highest = np.zeros(codes.shape[1], dtype=np.int64)
    for one in range(len(codes)):
        for j in range(codes.shape[1]):
            highest[j] = max(highest[j], codes[one, j])
    fields = bit_fields(highest)
    keys = np.empty((len(codes), fields[-1, 0] + 1 if len(fields) else 1), dtype=np.int64)
    known = np.empty_like(keys)
    for one in range(len(codes)):
        pack(codes[one], fields, keys[one], known[one])
    may = np.arange(len(codes)) < records
    for one in range(records, len(codes)):
        may[one] = np.min(codes[one]) < 0  # other rows are distinct and agree with none of their like
    for one in range(len(codes)):
        if may[one]:
            for other in range(len(codes)):
                if (other < one or not may[other]) and packed_agree(keys, known, one, other):
                    sums[one] += masses[other]
                    sums[other] += masses[one]
    return sums


def agreeing_sums(codes: IntArray, masses: FloatArray) -> FloatArray:
    """For distinct rows of codes, the masses of all rows that agree with each, itself included; a column a measure.

    Rows with missing cells in the same columns are compared together with those of another such pattern on the columns
    that both know, so the work grows with the number of patterns and not with that of agreeing pairs. Where there are
    many patterns, each row looks for those that agree with it in a tree of all rows instead.

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
    if len(first) > _MANY_PATTERNS:
        return _sums_by_tree(codes, sums)
    members = [np.flatnonzero(pattern_of == pattern) for pattern in range(len(first))]
    for p in range(len(members)):
        for q in range(p + 1):
            if p == q and known[first[p]].all():
                continue
            both = np.flatnonzero(known[first[p]] & known[first[q]])
            _add(sums, codes, masses, members[p], members[q], both)
    return sums


def _sums_by_tree(codes: IntArray, masses: FloatArray) -> FloatArray:
    """The same by a tree whose levels are the columns: those with few codes first, so that a missing cell, which leads
    to every branch, meets few of them at the top, and at the bottom those of few rows."""
    columns = codes[:, np.argsort(codes.max(axis=0), kind="stable")]
    order = np.lexsort(columns.T[::-1])
    ordered = np.ascontiguousarray(columns[order].astype(np.int32))
    begins = np.zeros(len(order) + 1, dtype=np.bool_)
    begins[[0, -1]] = True
    ends = np.empty(ordered.shape, dtype=np.int32)  # of the branch at each level that a row is in
    for level, column in enumerate(ordered.T):
        begins[1:-1] |= column[1:] != column[:-1]
        bounds = np.flatnonzero(begins)
        ends[:, level] = np.repeat(bounds[1:], np.diff(bounds))
    sums = np.empty_like(masses)
    sums[order] = _found_in_tree(ordered, ends, masses[order])
    return sums


@kernel
def _found_in_tree(codes: ShortArray, ends: ShortArray, masses: FloatArray) -> FloatArray:
    """For each row the masses of those that agree with it: the rows are sorted, and a branch is a stretch of them.

    Rows without missing cells agree with none of their like, so they are found and need not look.
    """
    n, levels = codes.shape
    looks = np.zeros(n, dtype=np.bool_)
    for each in range(n):
        looks[each] = np.min(codes[each]) < 0
    sums = masses.copy()
    branches = np.empty((n + 1, 3), dtype=np.int64)  # level, first row, end
    for row in np.flatnonzero(looks):
        branches[0, 0], branches[0, 1], branches[0, 2] = 0, 0, n
        waiting = 1
        while waiting > 0:
            waiting -= 1
            level, low, high = branches[waiting, 0], branches[waiting, 1], branches[waiting, 2]
            if high - low == 1:
                while level < levels and (
                    codes[row, level] == codes[low, level] or codes[row, level] < 0 or codes[low, level] < 0
                ):
                    level += 1
                if level == levels and low != row:
                    for measure in range(masses.shape[1]):
                        sums[row, measure] += masses[low, measure]
                        if not looks[low]:
                            sums[low, measure] += masses[row, measure]
                continue
            code = codes[row, level]
            at = low
            while at < high and (code < 0 or codes[at, level] < 0):  # a missing cell agrees with every branch
                end = ends[at, level]
                branches[waiting, 0], branches[waiting, 1], branches[waiting, 2] = level + 1, at, end
                waiting += 1
                at = end
            if code >= 0:
                above = high
                while at < above:
                    middle = (at + above) // 2
                    if codes[middle, level] < code:
                        at = middle + 1
                    else:
                        above = middle
                if at < high and codes[at, level] == code:
                    branches[waiting, 0], branches[waiting, 1], branches[waiting, 2] = level + 1, at, ends[at, level]
                    waiting += 1
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
