"""Steps that groupings share: distances to a point, the nearest and the farthest record left, and closing a group.

The records that are not grouped yet are compact in memory, column by column (`alive`), with their record numbers
(`ids`); a group's `members` are positions among them. Ties for farthest and for nearest go to the lowest record number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.exact_sums import add_exactly, exact_total
from microveil.numerics.grouping.groups import group_centres
from microveil.typing import FloatArray, IntArray

SAFETY = 1.0 + 1e-9  # bounds are widened by this much, so that rounding never hides a record
MANY_RECORDS = 4000  # from here on an index of leaves pays (measured)
_CHUNK = 512


class RecordsLeft(NamedTuple):
    """The records that are not grouped yet, in the first positions, and what kernels carry from group to group.

    `total` is the sum of the records left (`exact_sums`). `bound` belongs to the records and moves with them: as a rule
    their distances to `anchor`, an earlier centre. `distances` are those to the last seed. `labels` has the groups by
    record number, -1 where there is none.
    """

    alive: FloatArray
    ids: IntArray
    total: FloatArray
    anchor: FloatArray
    bound: FloatArray
    distances: FloatArray
    labels: IntArray

    def add_up(self, size: int) -> None:
        """Take the sum of the records left anew: digits that a huge value cost come back once it is gone."""
        self.total[:] = exact_total(self.alive[:, :size].T)


def all_left(columns: FloatArray) -> RecordsLeft:
    """All records of an (n, d) matrix without a group, with squared distances to their mean as bounds."""
    n, d = columns.shape
    alive = np.array(columns.T, dtype=np.float64, order="C", copy=True)  # the kernels move records about
    total, bound = exact_total(columns), np.empty(n)
    distances_to(alive, total[0] / n, bound, n)
    ids, labels = np.arange(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    return RecordsLeft(alive, ids, total, np.full(d, np.nan), bound, np.empty(n), labels)


def join_nearest(columns: FloatArray, labels: IntArray, groups: int) -> IntArray:
    """Give each record without a group (label -1) to the group with the nearest mean; the means stay as they are."""
    leftover = np.flatnonzero(labels < 0)
    joined = labels.copy()
    if len(leftover) == 0:
        return joined
    if groups == 0:
        joined[:] = 0
        return joined
    means = np.ascontiguousarray(group_centres(columns, labels, groups).T)
    distances = np.empty(groups)
    for record in leftover:
        distances_to(means, columns[record], distances, groups)
        joined[record] = np.argmin(distances)
    return joined


def divide_large(labels: IntArray, k: int, divide: Callable[[IntArray], IntArray]) -> IntArray:
    """Divide every group of 2k records or more, given by their rows; the others stay."""
    divided = labels.copy()
    sizes = np.bincount(labels)
    used = len(sizes)
    for group in np.flatnonzero(sizes >= 2 * k):
        rows = np.flatnonzero(labels == group)
        pieces = divide(rows)
        divided[rows] = np.where(pieces == 0, group, used + pieces - 1)
        used += int(pieces.max())
    return divided


@kernel
def labels_of_parts(parent: IntArray, order: IntArray) -> IntArray:
    """The parts of a forest, numbered from their roots, where `order` lists parents before their children."""
    labels = np.empty(order.shape[0], dtype=np.int64)
    used = 0
    for vertex in order:
        if parent[vertex] < 0:
            labels[vertex] = used
            used += 1
        else:
            labels[vertex] = labels[parent[vertex]]
    return labels


@kernel(steps=lambda alive, point, out, size: 2 * size * len(alive))
def distances_to(alive: FloatArray, point: FloatArray, out: FloatArray, size: int) -> None:
    """Squared distances of the first `size` records to a point, in chunks that stay in the processor's cache."""
    for begin in range(0, size, _CHUNK):
        distances_between(alive, point, out, begin, min(size, begin + _CHUNK))


@kernel
def distances_between(alive: FloatArray, point: FloatArray, out: FloatArray, begin: int, end: int) -> None:
    """Squared distances of the records from `begin` to `end` to a point.

    Two columns at a time over slices: the compiler turns these loops into vector instructions, and the sum is still
    taken in the order of the columns.
    """
    d = alive.shape[0]
    sums = out[begin:end]
    sums[:] = 0.0
    j = 0
    while j + 1 < d:
        one, other = alive[j, begin:end], alive[j + 1, begin:end]
        at_one, at_other = point[j], point[j + 1]
        for i in range(sums.shape[0]):
            across, along = one[i] - at_one, other[i] - at_other
            sums[i] = (sums[i] + across * across) + along * along
        j += 2
    if j < d:
        one, at_one = alive[j, begin:end], point[j]
        for i in range(sums.shape[0]):
            across = one[i] - at_one
            sums[i] += across * across


@kernel
def square_distance(alive: FloatArray, point: FloatArray, position: int) -> float:
    square = 0.0
    for j in range(alive.shape[0]):
        across = alive[j, position] - point[j]
        square += across * across
    return square


@kernel
def square_between(rows: FloatArray, row: int, others: FloatArray, other: int) -> float:
    """The squared distance of a row of one matrix to a row of another, or of the same."""
    square = 0.0
    for j in range(rows.shape[1]):
        square += (rows[row, j] - others[other, j]) ** 2
    return square


@kernel
def nearest(
    alive: FloatArray,
    ids: IntArray,
    seed: FloatArray,
    at: int,
    members: IntArray,
    distances: FloatArray,
    size: int,
) -> None:
    """Fill `members` with the seed's position and those of its k-1 nearest; `distances` are those to the seed."""
    k = members.shape[0]
    distances_to(alive, seed, distances, size)
    distances[at] = -1.0  # before all others
    found, border = 0, np.inf
    for i in range(size):
        distance = distances[i]
        if distance <= border and (found < k or distance < border or ids[i] < ids[members[k - 1]]):
            found = min(found + 1, k)
            insert(members, found, i, distances, ids)
            if found == k:
                border = distances[members[k - 1]]


@kernel
def insert(members: IntArray, found: int, position: int, distances: FloatArray, ids: IntArray) -> None:
    """Put a position in its place among the first `found` members, ordered by distance, then by record number."""
    slot = found - 1
    while slot > 0:
        before = members[slot - 1]
        if distances[before] < distances[position] or (
            distances[before] == distances[position] and ids[before] < ids[position]
        ):
            break
        members[slot] = before
        slot -= 1
    members[slot] = position


@kernel
def largest(values: FloatArray, ids: IntArray, size: int) -> int:
    """The position of the largest value; ties go to the lowest record number."""
    best = 0
    for i in range(size):
        if values[i] > values[best] or (values[i] == values[best] and ids[i] < ids[best]):
            best = i
    return best


@kernel
def farthest_from_centre(left: RecordsLeft, size: int) -> int:
    """The position of the record farthest from the mean of the records left.

    `bound` holds distances to `anchor`, an earlier centre: no record can be farther from the centre of today than its
    bound plus the distance between the two centres. When too many records pass that test the anchor is renewed.
    """
    alive, ids, anchor, bound, distances = left.alive, left.ids, left.anchor, left.bound, left.distances
    d = alive.shape[0]
    centre = left.total[0] / size
    moved = 0.0
    for j in range(d):
        across = centre[j] - anchor[j]
        moved += across * across
    if not np.isnan(moved):
        moved = np.sqrt(moved)
        top, highest = 0, -1.0
        for i in range(size):
            if bound[i] > highest:
                top, highest = i, bound[i]
        best, best_square = top, square_distance(alive, centre, top)
        reach = np.sqrt(best_square) / SAFETY - moved * SAFETY
        tried = 0
        for i in range(size):
            if bound[i] >= reach and i != best:
                tried += 1
                square = square_distance(alive, centre, i)
                if square > best_square or (square == best_square and ids[i] < ids[best]):
                    best, best_square = i, square
                    reach = np.sqrt(best_square) / SAFETY - moved * SAFETY
        if tried * 16 < size:
            return best
    for j in range(d):
        anchor[j] = centre[j]  # an assignment to the whole takes numba three seconds to compile
    distances_to(alive, centre, distances, size)
    for i in range(size):
        bound[i] = np.sqrt(distances[i])
    return largest(distances, ids, size)


@kernel
def lowest_outside(members: IntArray, ids: IntArray, size: int) -> int:
    """The position with the lowest record number that is not a member; -1 if there is none."""
    lowest = -1
    for i in range(size):
        inside = False
        for member in members:
            if member == i:
                inside = True
                break
        if not inside and (lowest < 0 or ids[i] < ids[lowest]):
            lowest = i
    return lowest


@kernel
def gather(left: RecordsLeft, at: int, members: IntArray, size: int) -> None:
    """Fill `members` with a record's position and those of its k-1 nearest."""
    nearest(left.alive, left.ids, left.alive[:, at].copy(), at, members, left.distances, size)


@kernel
def farthest_left(left: RecordsLeft, members: IntArray, size: int) -> int:
    """The position of the record farthest from the seed that is not a member."""
    ids, distances = left.ids, left.distances
    far, far_distance = -1, -1.0
    for i in range(size):
        distance = distances[i]
        if distance >= far_distance and (distance > far_distance or ids[i] < ids[far]):
            far, far_distance = i, distance
    if far_distance <= distances[members[-1]]:  # all records left are equally far
        far = lowest_outside(members, ids, size)
    return far


@kernel
def descending(positions: IntArray) -> IntArray:
    """A few positions, the last first; what numpy has for it takes numba two seconds to compile.

    >>> descending(np.array([3, 9, 1])).tolist()
    [9, 3, 1]
    """
    ordered = positions.copy()
    for i in range(1, len(ordered)):
        position, slot = ordered[i], i
        while slot > 0 and ordered[slot - 1] < position:
            ordered[slot] = ordered[slot - 1]
            slot -= 1
        ordered[slot] = position
    return ordered


@kernel
def close_group(left: RecordsLeft, members: IntArray, size: int, group: int) -> int:
    """Label the members and move records from the end into their places; return how many are left."""
    alive, ids, bound, total = left.alive, left.ids, left.bound, left.total
    d = alive.shape[0]
    for index in members:
        for j in range(d):
            add_exactly(total, j, -alive[j, index])
    for index in descending(members):
        left.labels[ids[index]] = group
        size -= 1
        for j in range(d):
            alive[j, index] = alive[j, size]
        ids[index] = ids[size]
        bound[index] = bound[size]
    return size


@kernel
def close_pair(
    left: RecordsLeft, first: int, members: IntArray, size: int, groups: int, enough: int
) -> tuple[int, int]:
    """A group around a record, and one around the record farthest from it if `enough` are left for a second.

    `members` is room for k positions; returns how many records are left and how many groups there are.
    """
    gather(left, first, members, size)
    opposite = left.ids[farthest_left(left, members, size)]
    size = close_group(left, members, size, groups)
    if size < enough:
        return size, groups + 1
    ids, at = left.ids, 0
    while ids[at] != opposite:
        at += 1
    gather(left, at, members, size)
    return close_group(left, members, size, groups + 1), groups + 2


@kernel
def holds(members: IntArray, count: int, record: int) -> bool:
    """Whether a record, or its position, is among the first `count` members."""
    for m in range(count):  # noqa: SIM110 - numba compiles a loop, not a generator
        if members[m] == record:
            return True
    return False


# Two records change groups: sums of the groups' members in, `i` from group a, `j` from group b


@kernel
def swap_change(
    columns: FloatArray, sums: FloatArray, i: int, j: int, a: int, b: int, size_a: int, size_b: int
) -> float:
    """How the sum of squares changes; the squared lengths of all records stay, so only those of the two sums count."""
    along_a, along_b, square = 0.0, 0.0, 0.0
    for c in range(columns.shape[1]):
        step = columns[j, c] - columns[i, c]
        along_a += sums[a, c] * step
        along_b += sums[b, c] * step
        square += step * step
    return float(-(2.0 * along_a + square) / size_a + (2.0 * along_b - square) / size_b)


@kernel
def swap_sums(columns: FloatArray, sums: FloatArray, i: int, j: int, a: int, b: int) -> None:
    for c in range(columns.shape[1]):
        step = columns[j, c] - columns[i, c]
        sums[a, c] += step
        sums[b, c] -= step
