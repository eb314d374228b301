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
from microveil.numerics.grouping.centroid_leaves import centroid_groups_in_leaves
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.grouping.steps import (
    MANY_RECORDS,
    SAFETY,
    RecordsLeft,
    all_left,
    close_group,
    distances_to,
    divide_large,
    farthest_from_centre,
    gather,
    holds,
    join_nearest,
    largest,
    square_distance,
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
    left, entry = all_left(columns), np.empty(len(columns), dtype=np.int64)
    size, groups = len(columns), 0
    while size >= k:
        size, groups = _fixed_size_groups(left, entry, size, groups, k, recomputed, interaction, _GROUPS_PER_CALL)
        left.add_up(size)
        progress(1.0 - size / len(columns), label)
    leftover = np.sort(left.ids[:size])
    left.labels[leftover] = max(groups - 1, 0)
    entry[len(columns) - size :] = leftover
    progress(1.0, label)
    return left.labels, entry


def variable_groups(
    columns: FloatArray, k: int, gamma: float, progress: Progress = silent, label: str = "grouping"
) -> IntArray:
    """V-MDAV: groups of k that go on, up to 2k-1, while the next record is nearer to them than gamma times to others.

    Fewer than k leftovers join the groups with the nearest means, which may take one beyond 2k-1.
    """
    left = all_left(columns)
    size, groups = len(columns), 0
    while size >= k:
        size, groups = _extended_groups(left, size, groups, k, gamma, _GROUPS_PER_CALL)
        progress(1.0 - size / len(columns), label)
    labels = join_nearest(columns, left.labels, groups)
    progress(1.0, label)
    return labels


def split_large(columns: FloatArray, labels: IntArray, k: int, divide: Partitioner = mdav_groups) -> IntArray:
    """Divide every group of 2k records or more by another partitioner; the others stay."""
    return divide_large(labels, k, lambda rows: divide(np.ascontiguousarray(columns[rows]), k))


@kernel
def _fixed_size_groups(
    left: RecordsLeft,
    entry: IntArray,
    size: int,
    groups: int,
    k: int,
    recomputed: bool,
    interaction: bool,
    rounds: int,
) -> tuple[int, int]:
    """Up to `rounds` groups of k records each, while k records are left."""
    members = np.empty(k, dtype=np.int64)
    for _ in range(rounds):
        if size < k:
            break
        at = farthest_from_centre(left, size) if recomputed else largest(left.bound, left.ids, size)
        gather(left, at, members, size)
        if interaction:
            _grow_by_interaction(left, members, size)
        for m in range(k):
            entry[entry.shape[0] - size + m] = left.ids[members[m]]
        size = close_group(left, members, size, groups)
        groups += 1
    return size, groups


@kernel
def _grow_by_interaction(left: RecordsLeft, members: IntArray, size: int) -> None:
    """Choose the third and later members anew: each the record with the least summed squared distance to the group.

    That sum is |G| times the squared distance to the group's mean, plus a constant. So a record can only be chosen
    if it is no farther from the seed than the mean is, plus the best distance to the mean found so far.
    """
    alive, ids, distances = left.alive, left.ids, left.distances
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
def _extended_groups(left: RecordsLeft, size: int, groups: int, k: int, gamma: float, rounds: int) -> tuple[int, int]:
    """Up to `rounds` groups of V-MDAV, while k records are left."""
    members = np.empty(2 * k - 1, dtype=np.int64)
    around = np.empty(size)
    for _ in range(rounds):
        if size < k:
            break
        gather(left, largest(left.bound, left.ids, size), members[:k], size)
        grown = k
        while grown < 2 * k - 1 and grown + 1 < size:
            near, inward = _closest_to_group(left, members, grown, size)
            outward = _closest_other(left.alive, members, grown, near, around, size)
            if inward >= gamma * gamma * outward:
                break
            members[grown] = near
            grown += 1
        size = close_group(left, members[:grown], size, groups)
        groups += 1
    return size, groups


@kernel
def _closest_to_group(left: RecordsLeft, members: IntArray, grown: int, size: int) -> tuple[int, float]:
    """The record outside that is closest to any member, and its squared distance.

    The distances at hand are those to the seed: a record cannot be closer to a member than its distance to the seed
    less the member's.
    """
    alive, ids, distances = left.alive, left.ids, left.distances
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
