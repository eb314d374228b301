"""Gaussian elimination of sparse whole-number equations modulo a large prime.

Equations of tables have coefficients 1 and -1, so elimination passes through fractions that floating point would have
to round, and whether a rest is zero would be a matter of tolerance. Modulo a prime every step is exact: what is zero
over the rational numbers is zero here. The reverse fails only where the prime divides a non-zero minor of the matrix;
with a prime near 2^31 that does not happen by accident, and whoever needs a proof checks the result by other means.

Rows lie in one pool, sorted by column; a row that grows moves to the end of the pool. The rows of a column are a linked
list in which entries may be stale: whether a row has a column is looked up in the row.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import BoolArray, IntArray

PRIME = 2**31 - 1
PUBLISHED, KEPT, IMPLIED = 1, 2, 3


@kernel
def _inverse(number: int) -> int:
    result, power, base = 1, PRIME - 2, number % PRIME
    while power:
        if power & 1:
            result = result * base % PRIME
        base = base * base % PRIME
        power >>= 1
    return result


@kernel
def _at(columns: IntArray, start: int, length: int, column: int) -> int:
    """Where in a row a column stands, or -1."""
    low, high = start, start + length
    while low < high:
        middle = (low + high) // 2
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < start + length and columns[low] == column else -1


@kernel
def _grown(array: IntArray, least: int) -> IntArray:
    larger = np.zeros(max(least, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def _link(
    store: tuple[IntArray, IntArray], first: IntArray, column: int, row: int, used: int
) -> tuple[IntArray, IntArray]:
    """One more row in the list of a column."""
    after, which = store
    if used >= len(after):
        after, which = _grown(after, used + 1), _grown(which, used + 1)
    after[used], which[used] = first[column], row
    first[column] = used
    return after, which


@kernel
def _combine(
    pool: tuple[IntArray, IntArray], start: IntArray, length: IntArray, room: IntArray, free: int,
    target: int, source: int, factor: int, buffer: tuple[IntArray, IntArray],
    lists: tuple[IntArray, IntArray], first: IntArray, linked: int,
) -> tuple[tuple[IntArray, IntArray], int, tuple[IntArray, IntArray], int]:  # fmt: skip
    """Row `target` minus `factor` times row `source`."""
    columns, values = pool
    new_columns, new_values = buffer
    i, end_i = start[target], start[target] + length[target]
    j, end_j = start[source], start[source] + length[source]
    count = 0
    while i < end_i or j < end_j:
        if j >= end_j or (i < end_i and columns[i] < columns[j]):
            new_columns[count], new_values[count] = columns[i], values[i]
            i += 1
            count += 1
        elif i >= end_i or columns[j] < columns[i]:
            new_columns[count] = columns[j]
            new_values[count] = (PRIME - factor * values[j] % PRIME) % PRIME
            lists = _link(lists, first, columns[j], target, linked)
            linked += 1
            j += 1
            count += 1
        else:
            value = (values[i] - factor * values[j]) % PRIME
            if value:
                new_columns[count], new_values[count] = columns[i], value
                count += 1
            i += 1
            j += 1
    if count > room[target]:
        if free + 2 * count > len(columns):
            columns, values = _grown(columns, free + 2 * count), _grown(values, free + 2 * count)
        start[target], room[target] = free, 2 * count
        free += 2 * count
    begin = start[target]
    for k in range(count):
        columns[begin + k], values[begin + k] = new_columns[k], new_values[k]
    length[target] = count
    return (columns, values), free, lists, linked


@kernel
def _drop(pool: tuple[IntArray, IntArray], start: IntArray, length: IntArray, row: int, column: int) -> None:
    """Take a column out of a row."""
    columns, values = pool
    at = _at(columns, start[row], length[row], column)
    if at < 0:
        return
    for k in range(at, start[row] + length[row] - 1):
        columns[k], values[k] = columns[k + 1], values[k + 1]
    length[row] -= 1


@kernel
def _proportional(
    pool: tuple[IntArray, IntArray], start: IntArray, length: IntArray, row: int, pivot: int, other: int, skipped: int
) -> bool:
    """Whether a row without its pivot is a multiple of another row without one column."""
    columns, values = pool
    if length[row] != length[other]:
        return False
    i, end_i = start[row], start[row] + length[row]
    j, end_j = start[other], start[other] + length[other]
    factor = 0
    while True:
        if i < end_i and columns[i] == pivot:
            i += 1
        if j < end_j and columns[j] == skipped:
            j += 1
        if i >= end_i or j >= end_j:
            return bool(i >= end_i and j >= end_j)
        if columns[i] != columns[j]:
            return False
        if factor == 0:
            factor = values[i] * _inverse(values[j]) % PRIME
        elif values[i] != factor * values[j] % PRIME:
            return False
        i += 1
        j += 1


@kernel
def eliminated(
    indptr: IntArray, indices: IntArray, data: IntArray, size: int, primary: BoolArray, publish: BoolArray
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Publish columns one after the other, from the first on, unless a primary column would be determined.

    Columns are in the order in which they are to be published; `primary` ones come last and are never published, and
    only those with `publish` are tried. Returns what became of each column, and the rows that are left (their starts,
    columns and values) with the pivot of each, from which `kernel_vectors` are made.

    At any time the rows are in reduced echelon form with their pivots in the last columns, so that a column is
    determined if and only if it is the pivot of a row with nothing else in it.
    """
    rows = len(indptr) - 1
    start, length, room = indptr[:-1].copy(), indptr[1:] - indptr[:-1], indptr[1:] - indptr[:-1]
    capacity = max(2 * len(indices), 16)
    columns, values = np.zeros(capacity, dtype=np.int64), np.zeros(capacity, dtype=np.int64)
    columns[: len(indices)] = indices
    values[: len(indices)] = data % PRIME
    pool, free = (columns, values), len(indices)
    first = np.full(size, -1, dtype=np.int64)
    lists, linked = (np.zeros(capacity, dtype=np.int64), np.zeros(capacity, dtype=np.int64)), 0
    for row in range(rows):
        for k in range(start[row], start[row] + length[row]):
            lists = _link(lists, first, pool[0][k], row, linked)
            linked += 1
    buffer = (np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))
    pivot = np.full(rows, -1, dtype=np.int64)
    row_of = np.full(size, -1, dtype=np.int64)

    for column in range(size - 1, -1, -1):  # the last columns become pivots, each in the shortest row that has it
        chosen, entry = -1, first[column]
        while entry >= 0:
            row = lists[1][entry]
            shorter = pivot[row] < 0 and (chosen < 0 or length[row] < length[chosen])
            if shorter and _at(pool[0], start[row], length[row], column) >= 0:
                chosen = row
            entry = lists[0][entry]
        if chosen >= 0:
            pool, free, lists, linked = _pivot(
                pool, start, length, room, free, chosen, column, buffer, lists, first, linked, pivot, row_of
            )

    outcome = np.zeros(size, dtype=np.int64)
    for column in range(size):
        if not publish[column] or primary[column]:
            continue
        own = row_of[column]
        if own < 0:
            allowed, entry = True, first[column]
            while entry >= 0 and allowed:
                row = lists[1][entry]
                if length[row] == 2 and primary[pivot[row]] and _at(pool[0], start[row], length[row], column) >= 0:
                    allowed = False
                entry = lists[0][entry]
            if not allowed:
                outcome[column] = KEPT
                continue
            entry = first[column]
            while entry >= 0:
                _drop(pool, start, length, lists[1][entry], column)
                entry = lists[0][entry]
            outcome[column] = PUBLISHED
            continue
        if length[own] == 1:  # whoever has the others has this one, too
            length[own], pivot[own], row_of[column] = 0, -1, -1
            outcome[column] = IMPLIED
            continue
        successor = _last_beside(pool[0], start[own], length[own], column)
        allowed, entry = True, first[successor]
        while entry >= 0 and allowed:
            row = lists[1][entry]
            at_stake = row != own and pivot[row] >= 0 and primary[pivot[row]]
            if at_stake and _at(pool[0], start[row], length[row], successor) >= 0:
                allowed = not _proportional(pool, start, length, row, pivot[row], own, column)
            entry = lists[0][entry]
        if allowed and primary[successor] and length[own] == 2:
            allowed = False
        if not allowed:
            outcome[column] = KEPT
            continue
        _drop(pool, start, length, own, column)
        pivot[own], row_of[column] = -1, -1
        pool, free, lists, linked = _pivot(
            pool, start, length, room, free, own, successor, buffer, lists, first, linked, pivot, row_of
        )
        outcome[column] = PUBLISHED
    total = length.sum()
    left_columns, left_values = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    left_start = np.zeros(rows + 1, dtype=np.int64)
    for row in range(rows):
        begin = left_start[row]
        for k in range(length[row]):
            left_columns[begin + k], left_values[begin + k] = pool[0][start[row] + k], pool[1][start[row] + k]
        left_start[row + 1] = begin + length[row]
    return outcome, pivot, left_start, left_columns, left_values


@kernel
def _last_beside(columns: IntArray, start: int, length: int, column: int) -> int:
    """The last column of a row that is not this one."""
    last = columns[start + length - 1]
    return int(last if last != column else columns[start + length - 2])


@kernel
def _pivot(
    pool: tuple[IntArray, IntArray], start: IntArray, length: IntArray, room: IntArray, free: int,
    row: int, column: int, buffer: tuple[IntArray, IntArray], lists: tuple[IntArray, IntArray], first: IntArray,
    linked: int, pivot: IntArray, row_of: IntArray,
) -> tuple[tuple[IntArray, IntArray], int, tuple[IntArray, IntArray], int]:  # fmt: skip
    """Make a column the pivot of a row: 1 there, and 0 in all other rows."""
    scale = _inverse(pool[1][_at(pool[0], start[row], length[row], column)])
    for k in range(start[row], start[row] + length[row]):
        pool[1][k] = pool[1][k] * scale % PRIME
    pivot[row], row_of[column] = column, row
    entry = first[column]
    while entry >= 0:
        other = lists[1][entry]
        entry = lists[0][entry]
        if other == row:
            continue
        at = _at(pool[0], start[other], length[other], column)
        if at >= 0:
            pool, free, lists, linked = _combine(
                pool, start, length, room, free, other, row, pool[1][at], buffer, lists, first, linked
            )
    return pool, free, lists, linked


@kernel
def kernel_vectors(
    pivot: IntArray, starts: IntArray, columns: IntArray, values: IntArray, randoms: IntArray
) -> IntArray:
    """Vectors that solve all equations, one for each column of `randoms`, whose entries the free columns take."""
    made = randoms % PRIME
    for row in range(len(pivot)):
        if pivot[row] < 0:
            continue
        for vector in range(made.shape[1]):
            total = 0
            for k in range(starts[row], starts[row + 1]):
                if columns[k] != pivot[row]:
                    total = (total + values[k] * made[columns[k], vector]) % PRIME
            made[pivot[row], vector] = (PRIME - total) % PRIME
    return made


@kernel
def without_known(vectors: IntArray, known: IntArray) -> IntArray:
    """Combinations of solutions in which these columns of the equations are zero; a solution of none is all zeros."""
    rest = vectors.copy()
    for row in known:
        lead = -1
        for vector in range(rest.shape[1]):
            if rest[row, vector] != 0:
                lead = vector
                break
        if lead < 0:
            continue
        inverse = _inverse(rest[row, lead])
        for vector in range(rest.shape[1]):
            if vector != lead and rest[row, vector] != 0:
                factor = rest[row, vector] * inverse % PRIME
                for other in range(rest.shape[0]):
                    rest[other, vector] = (rest[other, vector] - factor * rest[other, lead]) % PRIME
        for other in range(rest.shape[0]):
            rest[other, lead] = 0
    return rest
