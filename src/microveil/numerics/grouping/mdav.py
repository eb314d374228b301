"""MDAV's grouping: the record farthest from the centre gathers its neighbours, then the record farthest from that one.

All kernels follow the same rule: ties for farthest and for nearest go to the lowest record number, and the sums behind
the centre do not depend on the order of the records (`exact_sums`). One column is grouped from its two ends, and long
files in leaves of similar records (`mdav_leaves`). The kernel for the others keeps the records that are not grouped yet
compact in memory, column by column, so that distances to one point are one straight pass; distances from a seed serve
both its nearest and its farthest search; and because the centre moves little, the farthest record from it is found from
old distances plus the distance the centre has moved.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.exact_sums import add_exactly, exact_total
from microveil.numerics.grouping.mdav_leaves import grouped_in_leaves
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_SEED_PAIRS_PER_CALL = 256
_MANY_RECORDS = 4000  # from here on an index of leaves pays (measured)
_SAFETY = 1.0 + 1e-9
_BLOCK = 512


def mdav_groups(
    columns: FloatArray, k: int, progress: Progress = silent, label: str = "grouping", *, literal: bool = False
) -> IntArray:
    """Group the rows of an (n, d) matrix without missing cells into groups of k to 2k-1; n must be at least k.

    The `literal` rule of some sources goes on while more than k records are left: the last group may be smaller.
    """
    n, d = columns.shape
    labels = np.full(n, -1, dtype=np.int64)
    enough = k + 1 if literal else 2 * k  # so many records must be left for another group
    if n < enough:
        labels[:] = 0
        progress(1.0, label)
        return labels
    if d == 1:
        values = np.ascontiguousarray(columns[:, 0])
        order = np.argsort(values, kind="stable")
        labels = _group_one_column(values, order, exact_total(columns), k, enough)
        progress(1.0, label)
        return labels
    if n >= _MANY_RECORDS:
        return grouped_in_leaves(columns, k, enough, progress, label)
    alive = np.array(columns.T, dtype=np.float64, order="C", copy=True)  # the kernel moves records about
    ids = np.arange(n, dtype=np.int64)
    anchor = np.full(d, np.nan)
    bound = np.zeros(n)
    distances = np.empty(n)
    size, groups = n, 0
    while size >= enough:
        total = exact_total(alive[:, :size].T)  # anew: the digits that a huge value cost come back once it is gone
        size, groups = _group_some(
            alive, ids, total, anchor, bound, distances, labels, size, groups, k, enough, _SEED_PAIRS_PER_CALL
        )
        progress(1.0 - size / n, label)
    labels[ids[:size]] = groups
    progress(1.0, label)
    return labels


@kernel
def _group_some(
    alive: FloatArray,
    ids: IntArray,
    total: FloatArray,
    anchor: FloatArray,
    bound: FloatArray,
    distances: FloatArray,
    labels: IntArray,
    size: int,
    groups: int,
    k: int,
    enough: int,
    pairs: int,
) -> tuple[int, int]:
    """Up to `pairs` rounds: two groups a round, or one where too few records are left for a second."""
    d = alive.shape[0]
    seed = np.empty(d)
    members = np.empty(k, dtype=np.int64)
    for _ in range(pairs):
        if size < enough:
            break
        first = _farthest_from_centre(alive, ids, total[0], anchor, bound, distances, size)
        for j in range(d):
            seed[j] = alive[j, first]
        _nearest(alive, ids, seed, first, members, distances, size)
        opposite_id = ids[_farthest_left(ids, members, distances, size)]
        _take_out(total, alive, members)
        size = _close_group(alive, ids, bound, labels, members, size, groups)
        groups += 1
        if size < enough:
            break  # the second seed of the pair is not used
        at = 0
        while ids[at] != opposite_id:
            at += 1
        for j in range(d):
            seed[j] = alive[j, at]
        _nearest(alive, ids, seed, at, members, distances, size)
        _take_out(total, alive, members)
        size = _close_group(alive, ids, bound, labels, members, size, groups)
        groups += 1
    return size, groups


@kernel
def _distances_to(alive: FloatArray, point: FloatArray, out: FloatArray, size: int) -> None:
    """Squared distances of the first `size` records to a point, in blocks that stay in the processor's cache."""
    for begin in range(0, size, _BLOCK):
        _distances_between(alive, point, out, begin, min(size, begin + _BLOCK))


@kernel
def _distances_between(alive: FloatArray, point: FloatArray, out: FloatArray, begin: int, end: int) -> None:
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
def _farthest_from_centre(
    alive: FloatArray,
    ids: IntArray,
    total: FloatArray,
    anchor: FloatArray,
    bound: FloatArray,
    distances: FloatArray,
    size: int,
) -> int:
    """The position of the record farthest from the mean of the records left.

    `bound` holds distances to `anchor`, an earlier centre: no record can be farther from the centre of today than its
    bound plus the distance between the two centres. When too many records pass that test the anchor is renewed.
    """
    d = alive.shape[0]
    centre = total / size
    moved = 0.0
    for j in range(d):
        moved += (centre[j] - anchor[j]) ** 2
    if not np.isnan(moved):
        moved = np.sqrt(moved)
        top, highest = 0, -1.0
        for i in range(size):
            if bound[i] > highest:
                top, highest = i, bound[i]
        best, best_square = top, _square_distance(alive, centre, top)
        reach = np.sqrt(best_square) / _SAFETY - moved * _SAFETY
        tried = 0
        for i in range(size):
            if bound[i] >= reach and i != best:
                tried += 1
                square = _square_distance(alive, centre, i)
                if square > best_square or (square == best_square and ids[i] < ids[best]):
                    best, best_square = i, square
                    reach = np.sqrt(best_square) / _SAFETY - moved * _SAFETY
        if tried * 16 < size:
            return best
    anchor[:] = centre
    _distances_to(alive, centre, distances, size)
    best = 0
    for i in range(size):
        if distances[i] > distances[best] or (distances[i] == distances[best] and ids[i] < ids[best]):
            best = i
        bound[i] = np.sqrt(distances[i])
    return best


@kernel
def _square_distance(alive: FloatArray, point: FloatArray, position: int) -> float:
    square = 0.0
    for j in range(alive.shape[0]):
        square += (alive[j, position] - point[j]) ** 2
    return square


@kernel
def _nearest(
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
    _distances_to(alive, seed, distances, size)
    distances[at] = -1.0  # before all others
    found, border = 0, np.inf
    for i in range(size):
        distance = distances[i]
        if distance <= border and (found < k or distance < border or ids[i] < ids[members[k - 1]]):
            found = min(found + 1, k)
            _insert(members, found, i, distances, ids)
            if found == k:
                border = distances[members[k - 1]]


@kernel
def _farthest_left(ids: IntArray, members: IntArray, distances: FloatArray, size: int) -> int:
    """The position of the record farthest from the seed that is not a member."""
    far, far_distance = -1, -1.0
    for i in range(size):
        distance = distances[i]
        if distance >= far_distance and (distance > far_distance or ids[i] < ids[far]):
            far, far_distance = i, distance
    if far_distance <= distances[members[-1]]:  # all records left are equally far
        far = _lowest_outside(members, ids, size)
    return far


@kernel
def _insert(members: IntArray, found: int, position: int, distances: FloatArray, ids: IntArray) -> None:
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
def _lowest_outside(members: IntArray, ids: IntArray, size: int) -> int:
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
def _close_group(
    alive: FloatArray,
    ids: IntArray,
    bound: FloatArray,
    labels: IntArray,
    members: IntArray,
    size: int,
    group: int,
) -> int:
    """Label the members and move records from the end into their places; return how many are left."""
    d = alive.shape[0]
    for place in np.sort(members)[::-1]:
        labels[ids[place]] = group
        size -= 1
        for j in range(d):
            alive[j, place] = alive[j, size]
        ids[place] = ids[size]
        bound[place] = bound[size]
    return size


@kernel
def _take_out(total: FloatArray, alive: FloatArray, members: IntArray) -> None:
    """Take members off a total of `exact_sums`."""
    for place in members:
        for j in range(alive.shape[0]):
            add_exactly(total, j, -alive[j, place])


@kernel
def _group_one_column(values: FloatArray, order: IntArray, total: FloatArray, k: int, enough: int) -> IntArray:
    """MDAV in one dimension: groups are always taken from the two ends of the sorted values.

    Equal values form a run; records leave a run from its front, the lowest record number first, at both ends.
    """
    n = values.shape[0]
    run_start = np.empty(n + 1, dtype=np.int64)
    runs = 0
    for position in range(n):
        if position == 0 or values[order[position]] != values[order[position - 1]]:
            run_start[runs] = position
            runs += 1
    run_start[runs] = n
    front = run_start[:runs].copy()
    labels = np.full(n, -1, dtype=np.int64)
    low, high, size, group = 0, runs - 1, n, 0
    while size >= enough:
        centre = total[0, 0] / size
        at_low, at_high = order[front[low]], order[front[high]]
        from_low, from_high = (values[at_low] - centre) ** 2, (values[at_high] - centre) ** 2
        start_low = from_low > from_high or (from_low == from_high and at_low <= at_high)
        pair = 2 if size - k >= enough else 1
        for turn in range(pair):
            take_low = start_low if turn == 0 else not start_low
            for _ in range(k):
                run = low if take_low else high
                record = order[front[run]]
                labels[record] = group
                add_exactly(total, 0, -values[record])
                front[run] += 1
                while low < high and front[low] == run_start[low + 1]:
                    low += 1
                while high > low and front[high] == run_start[high + 1]:
                    high -= 1
            size -= k
            group += 1
    for record in range(n):
        if labels[record] < 0:
            labels[record] = group
    return labels
