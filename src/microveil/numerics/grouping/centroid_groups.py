"""Groups that grow one at a time around the record farthest from a centre: cbfs, IAMAT and V-MDAV.

The centre is that of the records left, or that of all records for good. A group grows by the records nearest to its
seed, or by those nearest to all its members (interaction), and with V-MDAV by further records that lie closer to it
than to anything else. The records left lie compact in memory as in `mdav`; a group's later members are looked for only
among records that the distances to its seed do not rule out. Groups of a fixed size in long files are looked for in
leaves of similar records (`centroid_leaves`), with the same result.

The two ends that several partitioners share live here too: leftover records join the nearest group, and groups that
became too large are divided.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.exact_sums import exact_total
from microveil.numerics.grouping.centroid_leaves import centroid_groups_in_leaves
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.grouping.steps import (
    MANY_RECORDS,
    SAFETY,
    close_group,
    distances_to,
    divide_large,
    farthest_from_centre,
    holds,
    join_nearest,
    largest,
    nearest,
    square_distance,
    take_out,
)
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

Partitioner = Callable[[FloatArray, int], IntArray]

_GROUPS_PER_CALL = 100  # then the running sum is taken anew


def centroid_groups(
    columns: FloatArray,
    k: int,
    *,
    recomputed: bool = True,
    interaction: bool = False,
    progress: Progress = silent,
    label: str = "grouping",
) -> tuple[IntArray, IntArray]:
    """Groups of k, the last of up to 2k-1; labels in the order of the groups, and the records in order of entry."""
    if len(columns) >= max(MANY_RECORDS, k):
        return centroid_groups_in_leaves(columns, k, recomputed, interaction, progress, label)
    left = _Left(columns)
    while left.size >= k:
        left.take_sum_anew()
        left.size, left.groups = _fixed_size_groups(
            *left.state, left.size, left.groups, k, recomputed, interaction, _GROUPS_PER_CALL
        )
        progress(1.0 - left.size / len(columns), label)
    leftover = left.leftover
    left.labels[leftover] = max(left.groups - 1, 0)
    left.entry[len(columns) - left.size :] = leftover
    progress(1.0, label)
    return left.labels, left.entry


def variable_groups(
    columns: FloatArray, k: int, gamma: float, progress: Progress = silent, label: str = "grouping"
) -> IntArray:
    """V-MDAV: groups of k that go on, up to 2k-1, while the next record is nearer to them than gamma times to others.

    Fewer than k leftovers join the groups with the nearest means, which may take one beyond 2k-1.
    """
    left = _Left(columns)
    while left.size >= k:
        left.size, left.groups = _extended_groups(*left.state, left.size, left.groups, k, gamma, _GROUPS_PER_CALL)
        progress(1.0 - left.size / len(columns), label)
    labels = join_nearest(columns, left.labels, left.groups)
    progress(1.0, label)
    return labels


def split_large(columns: FloatArray, labels: IntArray, k: int, divide: Partitioner = mdav_groups) -> IntArray:
    """Divide every group of 2k records or more by another partitioner; the others stay."""
    return divide_large(labels, k, lambda rows: divide(np.ascontiguousarray(columns[rows]), k))


class _Left:
    """The records that are not grouped yet, compact in memory, and what the kernels carry from group to group."""

    def __init__(self, columns: FloatArray) -> None:
        n, d = columns.shape
        self.alive = np.array(columns.T, dtype=np.float64, order="C", copy=True)  # the kernels move records about
        self.ids = np.arange(n, dtype=np.int64)
        self.total = exact_total(columns)
        self.anchor = np.full(d, np.nan)
        self.distances = np.empty(n)
        self.bound = _distances_to_mean(self.alive, self.total[0] / n)
        self.labels = np.full(n, -1, dtype=np.int64)
        self.entry = np.empty(n, dtype=np.int64)
        self.size, self.groups = n, 0

    @property
    def state(self) -> tuple[FloatArray, IntArray, FloatArray, FloatArray, FloatArray, FloatArray, IntArray, IntArray]:
        return (
            self.alive,
            self.ids,
            self.total,
            self.anchor,
            self.bound,
            self.distances,
            self.labels,
            self.entry,
        )

    @property
    def leftover(self) -> IntArray:
        return np.sort(self.ids[: self.size])

    def take_sum_anew(self) -> None:
        """The digits that a huge value cost come back once it is gone."""
        self.total = exact_total(self.alive[:, : self.size].T)


def _distances_to_mean(alive: FloatArray, mean: FloatArray) -> FloatArray:
    distances = np.empty(alive.shape[1])
    distances_to(alive, mean, distances, len(distances))
    return distances


@kernel
def _fixed_size_groups(
    alive: FloatArray,
    ids: IntArray,
    total: FloatArray,
    anchor: FloatArray,
    bound: FloatArray,
    distances: FloatArray,
    labels: IntArray,
    entry: IntArray,
    size: int,
    groups: int,
    k: int,
    recomputed: bool,
    interaction: bool,
    rounds: int,
) -> tuple[int, int]:
    """Up to `rounds` groups of k records each, while k records are left."""
    d, n = alive.shape
    seed = np.empty(d)
    members = np.empty(k, dtype=np.int64)
    for _ in range(rounds):
        if size < k:
            break
        if recomputed:
            at = farthest_from_centre(alive, ids, total[0], anchor, bound, distances, size)
        else:
            at = largest(bound, ids, size)
        for j in range(d):
            seed[j] = alive[j, at]
        nearest(alive, ids, seed, at, members, distances, size)
        if interaction:
            _grow_by_interaction(alive, ids, members, distances, size)
        for m in range(k):
            entry[n - size + m] = ids[members[m]]
        take_out(total, alive, members)
        size = close_group(alive, ids, bound, labels, members, size, groups)
        groups += 1
    return size, groups


@kernel
def _grow_by_interaction(alive: FloatArray, ids: IntArray, members: IntArray, distances: FloatArray, size: int) -> None:
    """Choose the third and later members anew: each the record with the least summed squared distance to the group.

    That sum is |G| times the squared distance to the group's mean, plus a constant. So a record can only be chosen
    if it is no farther from the seed than the mean is, plus the best distance to the mean found so far.
    """
    d, k = alive.shape[0], members.shape[0]
    nearest = members.copy()  # to the seed: the first guesses
    middle = np.empty(d)
    for grown in range(2, k):
        for j in range(d):
            middle[j] = 0.0
            for m in range(grown):
                middle[j] += alive[j, members[m]]
            middle[j] /= grown
        shift = np.sqrt(square_distance(alive, middle, members[0]))
        best, best_sum = -1, np.inf
        for guess in nearest:
            if not holds(members, grown, guess):
                squares = _summed_squares(alive, members, grown, guess)
                if squares < best_sum or (squares == best_sum and ids[guess] < ids[best]):
                    best, best_sum = guess, squares
        reach = (np.sqrt(best_sum / grown) + shift) ** 2 * SAFETY
        for i in range(size):
            if distances[i] <= reach and not holds(members, grown, i):
                squares = _summed_squares(alive, members, grown, i)
                if squares < best_sum or (squares == best_sum and ids[i] < ids[best]):
                    best, best_sum = i, squares
                    reach = (np.sqrt(best_sum / grown) + shift) ** 2 * SAFETY
        members[grown] = best


@kernel
def _summed_squares(alive: FloatArray, members: IntArray, count: int, position: int) -> float:
    """The squared distances from a record to the first `count` members, added up in the order they entered."""
    summed = 0.0
    for m in range(count):
        summed += _squares_between(alive, members[m], position)
    return summed


@kernel
def _squares_between(alive: FloatArray, one: int, other: int) -> float:
    squares = 0.0
    for j in range(alive.shape[0]):
        squares += (alive[j, one] - alive[j, other]) ** 2
    return squares


@kernel
def _extended_groups(
    alive: FloatArray,
    ids: IntArray,
    total: FloatArray,
    anchor: FloatArray,
    bound: FloatArray,
    distances: FloatArray,
    labels: IntArray,
    entry: IntArray,
    size: int,
    groups: int,
    k: int,
    gamma: float,
    rounds: int,
) -> tuple[int, int]:
    """Up to `rounds` groups of V-MDAV, while k records are left."""
    d, n = alive.shape
    seed = np.empty(d)
    members = np.empty(2 * k - 1, dtype=np.int64)
    around = np.empty(size)
    for _ in range(rounds):
        if size < k:
            break
        at = largest(bound, ids, size)
        for j in range(d):
            seed[j] = alive[j, at]
        nearest(alive, ids, seed, at, members[:k], distances, size)
        grown = k
        while grown < 2 * k - 1 and grown + 1 < size:
            near, inward = _closest_to_group(alive, ids, members, grown, distances, size)
            outward = _closest_other(alive, members, grown, near, around, size)
            if inward >= gamma * gamma * outward:
                break
            members[grown] = near
            grown += 1
        for m in range(grown):
            entry[n - size + m] = ids[members[m]]
        take_out(total, alive, members[:grown])
        size = close_group(alive, ids, bound, labels, members[:grown], size, groups)
        groups += 1
    return size, groups


@kernel
def _closest_to_group(
    alive: FloatArray, ids: IntArray, members: IntArray, grown: int, distances: FloatArray, size: int
) -> tuple[int, float]:
    """The record outside that is closest to any member, and its squared distance.

    `distances` are those to the seed: a record cannot be closer to a member than its distance to the seed less the
    member's.
    """
    radius = 0.0
    for m in range(1, grown):
        radius = max(radius, np.sqrt(_squares_between(alive, members[0], members[m])))
    best, best_square, reach = -1, np.inf, np.inf
    for i in range(size):
        if distances[i] <= reach and not holds(members, grown, i):
            for m in range(grown):
                square = _squares_between(alive, members[m], i)
                if square < best_square or (square == best_square and ids[i] < ids[best]):
                    best, best_square = i, square
                    reach = (np.sqrt(best_square) + radius) ** 2 * SAFETY
    return best, best_square


@kernel
def _closest_other(alive: FloatArray, members: IntArray, grown: int, near: int, around: FloatArray, size: int) -> float:
    """The squared distance from a record outside the group to the nearest other record outside it."""
    point = alive[:, near].copy()
    distances_to(alive, point, around, size)
    around[near] = np.inf
    for m in range(grown):
        around[members[m]] = np.inf
    return float(around[:size].min())
