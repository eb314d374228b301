"""MDAV with the records in small leaves of similar ones: the same partition, faster where few attributes matter.

Each leaf is compact in memory, column by column. The box around a leaf bounds the distances of its records, so that
most leaves are passed over in a search; and because the centre moves little, the farthest record from it is found from
old distances plus the distance the centre has moved. On data of many independent attributes the boxes tell little, and
the plain scan of `mdav` is faster.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from microveil.numerics.blocks import similar_blocks
from microveil.numerics.compiled import kernel
from microveil.numerics.mdav import _distances_between, _insert, _square_distance
from microveil.progress import Progress

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_SEED_PAIRS_PER_CALL = 256
_LEAF = 128
_SAFETY = 1.0 + 1e-9  # bounds are widened by this much, so that rounding never hides a record


def grouped_in_leaves(columns: FloatArray, k: int, progress: Progress, label: str) -> IntArray:
    """Group the rows of an (n, d) matrix into groups of k to 2k-1; n must be at least 2k."""
    n = len(columns)
    labels = np.full(n, -1, dtype=np.int64)
    ids, groups = np.arange(n), 0
    while len(ids) >= 2 * k:
        # leaves are made anew when half of their records are gone
        leaves = Leaves(np.asarray(columns[ids], dtype=np.float64), ids)
        while leaves.size >= max(2 * k, len(ids) // 2):
            leaves.size, groups = _group_some(*leaves.arrays, labels, leaves.size, groups, k, _SEED_PAIRS_PER_CALL)
            progress(1.0 - leaves.size / n, label)
        ids = leaves.left()
    labels[ids] = groups
    progress(1.0, label)
    return labels


class Leaves:
    """Records in leaves of similar ones: cells by column, record numbers, where each leaf starts, its count, its box.

    `bound` is each record's distance to `anchor`, an earlier centre, and `peak` the largest bound in a leaf.
    """

    def __init__(self, columns: FloatArray, ids: IntArray) -> None:
        blocks = similar_blocks(columns, _LEAF)
        order = np.concatenate(blocks)
        counts = np.array([len(block) for block in blocks], dtype=np.int64)
        starts = np.cumsum(counts) - counts
        self.size = len(ids)
        self.ids = ids[order]
        self.starts, self.counts = starts, counts
        low = np.ascontiguousarray(np.minimum.reduceat(columns[order], starts, axis=0).T)
        high = np.ascontiguousarray(np.maximum.reduceat(columns[order], starts, axis=0).T)
        cells = np.ascontiguousarray(columns[order].T)
        leaf_of = np.repeat(np.arange(len(counts)), counts)
        n, d = columns.shape
        anchor, bound, peak, distances = np.full(d, np.nan), np.zeros(n), np.zeros(len(counts)), np.empty(n)
        self.arrays = (cells, self.ids, starts, counts, low, high, leaf_of, anchor, bound, peak, distances)

    def left(self) -> IntArray:
        """The record numbers that are not grouped yet."""
        within = np.arange(len(self.ids)) - np.repeat(self.starts, np.diff([*self.starts, len(self.ids)]))
        return np.sort(self.ids[within < np.repeat(self.counts, np.diff([*self.starts, len(self.ids)]))])


@kernel
def _group_some(
    cells: FloatArray,
    ids: IntArray,
    starts: IntArray,
    counts: IntArray,
    low: FloatArray,
    high: FloatArray,
    leaf_of: IntArray,
    anchor: FloatArray,
    bound: FloatArray,
    peak: FloatArray,
    distances: FloatArray,
    labels: IntArray,
    size: int,
    groups: int,
    k: int,
    pairs: int,
) -> tuple[int, int]:
    """Up to `pairs` rounds: two groups a round while 3k records are left, one more while 2k are left."""
    d = cells.shape[0]
    seed = np.empty(d)
    members = np.empty(k, dtype=np.int64)
    total = np.zeros(d)  # summed anew in every call, so that rounding does not build up
    for leaf in range(len(counts)):
        for j in range(d):
            total[j] += cells[j, starts[leaf] : starts[leaf] + counts[leaf]].sum()
    for _ in range(pairs):
        if size < 2 * k:
            break
        at = _farthest_from_centre(cells, ids, starts, counts, anchor, bound, peak, distances, total, size)
        for j in range(d):
            seed[j] = cells[j, at]
        _nearest(cells, ids, starts, counts, low, high, leaf_of, seed, at, members, distances)
        size = _close_group(cells, ids, starts, counts, leaf_of, bound, total, labels, members, size, groups)
        groups += 1
        if size < 2 * k:
            break  # fewer than 3k were left, so there is no second group in this round
        at = _farthest_from(cells, ids, starts, counts, low, high, seed, distances)
        for j in range(d):
            seed[j] = cells[j, at]
        _nearest(cells, ids, starts, counts, low, high, leaf_of, seed, at, members, distances)
        size = _close_group(cells, ids, starts, counts, leaf_of, bound, total, labels, members, size, groups)
        groups += 1
    return size, groups


@kernel
def _farthest_from_centre(
    cells: FloatArray,
    ids: IntArray,
    starts: IntArray,
    counts: IntArray,
    anchor: FloatArray,
    bound: FloatArray,
    peak: FloatArray,
    distances: FloatArray,
    total: FloatArray,
    size: int,
) -> int:
    """The position of the record farthest from the mean of the records left.

    No record can be farther from the centre of today than its bound plus the distance the centre has moved since. When
    too many records pass that test the bounds are renewed.
    """
    centre = total / size
    moved = 0.0
    for j in range(len(centre)):
        moved += (centre[j] - anchor[j]) ** 2
    moved = np.sqrt(moved)
    best, best_square, tried = -1, -1.0, 0
    if not np.isnan(moved):
        top = -1
        for leaf in range(len(counts)):
            if counts[leaf] > 0 and (top < 0 or peak[leaf] > peak[top]):
                top = leaf
        reach = -1.0
        for turn in range(len(counts) + 1):
            leaf = top if turn == 0 else turn - 1
            if peak[leaf] < reach or (turn > 0 and leaf == top):
                continue
            for i in range(starts[leaf], starts[leaf] + counts[leaf]):
                if bound[i] >= reach:
                    tried += 1
                    square = _square_distance(cells, centre, i)
                    if square > best_square or (square == best_square and ids[i] < ids[best]):
                        best, best_square = i, square
                        reach = np.sqrt(best_square) / _SAFETY - moved * _SAFETY
        if tried * 16 < size:
            return best
    anchor[:] = centre
    best = -1
    for leaf in range(len(counts)):
        begin, end = starts[leaf], starts[leaf] + counts[leaf]
        _distances_between(cells, centre, distances, begin, end)
        peak[leaf] = -1.0
        for i in range(begin, end):
            bound[i] = np.sqrt(distances[i])
            peak[leaf] = max(peak[leaf], bound[i])
            if best < 0 or distances[i] > distances[best] or (distances[i] == distances[best] and ids[i] < ids[best]):
                best = i
    return best


@kernel
def _nearest(
    cells: FloatArray,
    ids: IntArray,
    starts: IntArray,
    counts: IntArray,
    low: FloatArray,
    high: FloatArray,
    leaf_of: IntArray,
    seed: FloatArray,
    at: int,
    members: IntArray,
    distances: FloatArray,
) -> None:
    """Fill `members` with the seed's position and those of its k-1 nearest."""
    k = members.shape[0]
    found, border = 0, np.inf
    home = leaf_of[at]
    least = _least_distances(low, high, seed)
    for turn in range(len(counts) + 1):
        leaf = home if turn == 0 else turn - 1
        if counts[leaf] == 0 or (turn > 0 and leaf == home) or least[leaf] > border * _SAFETY:
            continue
        begin, end = starts[leaf], starts[leaf] + counts[leaf]
        _distances_between(cells, seed, distances, begin, end)
        if leaf == home:
            distances[at] = -1.0  # before all others
        for i in range(begin, end):
            distance = distances[i]
            if distance <= border and (found < k or distance < border or ids[i] < ids[members[k - 1]]):
                found = min(found + 1, k)
                _insert(members, found, i, distances, ids)
                if found == k:
                    border = distances[members[k - 1]]


@kernel
def _least_distances(low: FloatArray, high: FloatArray, point: FloatArray) -> FloatArray:
    """How near a record of each leaf could be to a point: the squared distance to the leaf's box."""
    least = np.zeros(low.shape[1])
    for j in range(low.shape[0]):
        below, above, at = low[j], high[j], point[j]
        for leaf in range(least.shape[0]):
            outside = max(below[leaf] - at, at - above[leaf], 0.0)
            least[leaf] += outside * outside
    return least


@kernel
def _greatest_distances(low: FloatArray, high: FloatArray, point: FloatArray) -> FloatArray:
    """How far a record of each leaf could be from a point: the squared distance to the box's farthest corner."""
    most = np.zeros(low.shape[1])
    for j in range(low.shape[0]):
        below, above, at = low[j], high[j], point[j]
        for leaf in range(most.shape[0]):
            side = max(at - below[leaf], above[leaf] - at)
            most[leaf] += side * side
    return most


@kernel
def _farthest_from(
    cells: FloatArray,
    ids: IntArray,
    starts: IntArray,
    counts: IntArray,
    low: FloatArray,
    high: FloatArray,
    seed: FloatArray,
    distances: FloatArray,
) -> int:
    """The position of the record farthest from a seed that is grouped already."""
    most = _greatest_distances(low, high, seed)
    top = -1
    for leaf in range(len(counts)):
        if counts[leaf] > 0 and (top < 0 or most[leaf] > most[top]):
            top = leaf
    far = -1
    for turn in range(len(counts) + 1):
        leaf = top if turn == 0 else turn - 1
        if counts[leaf] == 0 or (turn > 0 and leaf == top) or (far >= 0 and most[leaf] * _SAFETY < distances[far]):
            continue
        begin, end = starts[leaf], starts[leaf] + counts[leaf]
        _distances_between(cells, seed, distances, begin, end)
        for i in range(begin, end):
            if far < 0 or distances[i] > distances[far] or (distances[i] == distances[far] and ids[i] < ids[far]):
                far = i
    return far


@kernel
def _close_group(
    cells: FloatArray,
    ids: IntArray,
    starts: IntArray,
    counts: IntArray,
    leaf_of: IntArray,
    bound: FloatArray,
    total: FloatArray,
    labels: IntArray,
    members: IntArray,
    size: int,
    group: int,
) -> int:
    """Label the members and move records from the end of their leaf into their places; return how many are left."""
    d = cells.shape[0]
    for place in np.sort(members)[::-1]:
        labels[ids[place]] = group
        leaf = leaf_of[place]
        counts[leaf] -= 1
        last = starts[leaf] + counts[leaf]
        for j in range(d):
            total[j] -= cells[j, place]
            cells[j, place] = cells[j, last]
        ids[place] = ids[last]
        bound[place] = bound[last]
    return size - len(members)
