"""The fixed-size groups of `centroid_groups` with the records in leaves of similar ones, as MDAV has them.

A group's later members are looked for around the mean of those it has, in the leaves that are near enough to it.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.exact_sums import exact_total
from microveil.numerics.grouping.leaves import (
    SAFETY,
    Leaves,
    any_up_to,
    close_group_in_leaves,
    farthest_from_centre,
    least_distances,
    move_point,
    nearest_in_leaves,
    norm,
    over_leaves,
    screen_leaf,
    slack,
    square_to_point,
)
from microveil.numerics.grouping.steps import distances_to, holds
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

_GROUPS_PER_CALL = 512
_ROUNDING = 1e-9  # more than two ways to sum the same squares can differ, relative to the sum


def centroid_groups_in_leaves(
    columns: FloatArray, k: int, recomputed: bool, interaction: bool, progress: Progress, label: str
) -> tuple[IntArray, IntArray]:
    """Groups of k, the last of up to 2k-1: labels in the order of the groups, and the records in order of entry.

    A group starts with the record farthest from the mean of those left, recomputed for each group, or from the mean of
    all. At least k records must be given.
    """
    n = len(columns)
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    seeds = np.empty(0, dtype=np.int64) if recomputed else _farthest_first(columns)
    labels = np.full(n, -1, dtype=np.int64)
    entry = np.empty(n, dtype=np.int64)

    def some(leaves: Leaves, size: int, groups: int) -> tuple[int, int]:
        return _group_some(leaves, labels, entry, seeds, size, groups, k, interaction, _GROUPS_PER_CALL)

    left, groups = over_leaves(columns, k, some, progress, label)
    labels[left] = groups - 1
    entry[n - len(left) :] = left
    progress(1.0, label)
    return labels, entry


def _farthest_first(columns: FloatArray) -> IntArray:
    """The records by their distance from the mean of all; ties go to the lowest record number."""
    squares = np.empty(len(columns))
    distances_to(np.ascontiguousarray(columns.T), exact_total(columns)[0] / len(columns), squares, len(columns))
    return np.argsort(-squares, kind="stable")


@kernel
def _group_some(
    leaves: Leaves,
    labels: IntArray,
    entry: IntArray,
    seeds: IntArray,
    size: int,
    groups: int,
    k: int,
    interaction: bool,
    rounds: int,
) -> tuple[int, int]:
    """Up to `rounds` groups of k records each, while k records are left."""
    n = len(labels)
    members, near = np.empty(k, dtype=np.int64), np.empty(k)
    spent, turn = 0, 0
    for _ in range(rounds):
        if size < k:
            break
        if len(seeds) > 0:
            while labels[seeds[turn]] >= 0:
                turn += 1
            seed = seeds[turn]
        else:
            seed, tried = farthest_from_centre(leaves, size, spent >= size)
            spent = 0 if tried < 0 else spent + tried
        move_point(leaves, leaves.columns[seed])
        nearest_in_leaves(leaves, seed, members, near)
        if interaction:
            _grow_by_interaction(leaves, members)
        for m in range(k):
            entry[n - size + m] = members[m]
        size = close_group_in_leaves(leaves, labels, members, size, groups)
        groups += 1
    return size, groups


@kernel
def _grow_by_interaction(leaves: Leaves, members: IntArray) -> None:
    """Choose the third and later members anew: each the record with the least summed squared distance to the group.

    That sum is |G| times the squared distance to the group's mean, plus the squares within the group. `least` is each
    leaf's distance to the seed, and `members` hold the records nearest to the seed: the first guesses.
    """
    columns, ids, counts, rim = leaves.columns, leaves.ids, leaves.counts, leaves.rim
    unit, error, point, screen, least = leaves.unit, leaves.error, leaves.point, leaves.screen, leaves.bounds
    d, k = columns.shape[1], members.shape[0]
    least_distances(leaves.low, leaves.high, rim, point, error, norm(point), least, 0, len(counts))
    guesses = members.copy()
    middle = np.empty(d)
    for grown in range(2, k):
        for j in range(d):
            middle[j] = 0.0
            for m in range(grown):
                middle[j] += columns[members[m], j]
            middle[j] /= grown
        move_point(leaves, middle)
        within = 0.0
        for m in range(grown):
            within += square_to_point(columns, members[m], middle)
        shift = np.float32(np.sqrt(square_to_point(columns, members[0], middle)) / unit * SAFETY)
        away = np.sqrt((point * point).sum())
        best, best_sum = -1, np.inf
        for guess in guesses:
            if not holds(members, grown, guess):
                squares = _summed_squares(columns, members, grown, guess)
                if squares < best_sum or (squares == best_sum and guess < best):
                    best, best_sum = guess, squares
        reach = _reach(best_sum, within, grown, unit)
        for leaf in range(len(counts)):
            if least[leaf] > reach + shift or counts[leaf] == 0:
                continue
            border = (reach + slack(error, away, rim[leaf])) ** 2
            if _square_to_box(leaves, leaf) > border:
                continue
            screen_leaf(leaves, leaf)
            if not any_up_to(screen, border):
                continue
            for i in range(counts[leaf]):
                record = ids[leaf, i]
                if screen[i] > border or holds(members, grown, record):
                    continue
                squares = _summed_squares(columns, members, grown, record)
                if squares < best_sum or (squares == best_sum and record < best):
                    best, best_sum = record, squares
                    reach = _reach(best_sum, within, grown, unit)
                    border = (reach + slack(error, away, rim[leaf])) ** 2
        members[grown] = best


@kernel
def _reach(summed: float, within: float, grown: int, unit: float) -> np.float32:
    """How far from the mean of `grown` members, in cells, a record with this summed squared distance can be."""
    square = max(summed * (1.0 + _ROUNDING) - within * (1.0 - _ROUNDING), 0.0) / grown
    return np.float32(np.sqrt(square) / unit * SAFETY)


@kernel
def _square_to_box(leaves: Leaves, leaf: int) -> np.float32:
    low, high, point = leaves.low, leaves.high, leaves.point
    square, zero = np.float32(0.0), np.float32(0.0)
    for j in range(len(point)):
        outside = max(max(low[j, leaf] - point[j], point[j] - high[j, leaf]), zero)
        square += outside * outside
    return square


@kernel
def _summed_squares(columns: FloatArray, members: IntArray, count: int, record: int) -> float:
    """The squared distances from a record to the first `count` members, added up in the order they entered."""
    summed = 0.0
    for m in range(count):
        summed += square_to_point(columns, record, columns[members[m]])
    return summed
