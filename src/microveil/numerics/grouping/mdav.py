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
from microveil.numerics.grouping.steps import MANY_RECORDS, RecordsLeft, all_left, close_pair, farthest_from_centre
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_SEED_PAIRS_PER_CALL = 256


def mdav_groups(
    columns: FloatArray, k: int, progress: Progress = silent, label: str = "grouping", *, literal: bool = False
) -> IntArray:
    """Group the rows of an (n, d) matrix without missing cells into groups of k to 2k-1; n must be at least k.

    The `literal` rule of some sources goes on while more than k records are left: the last group may be smaller.
    """
    n, d = columns.shape
    enough = k + 1 if literal else 2 * k  # so many records must be left for another group
    if n < enough:
        progress(1.0, label)
        return np.zeros(n, dtype=np.int64)
    if d == 1:
        values = np.ascontiguousarray(columns[:, 0])
        order = np.argsort(values, kind="stable")
        labels = _group_one_column(values, order, exact_total(columns), k, enough)
        progress(1.0, label)
        return labels
    if n >= MANY_RECORDS:
        return grouped_in_leaves(columns, k, enough, progress, label)
    left = all_left(columns)
    size, groups = n, 0
    while size >= enough:
        size, groups = _group_some(left, size, groups, k, enough, _SEED_PAIRS_PER_CALL)
        left.add_up(size)
        progress(1.0 - size / n, label)
    left.labels[left.ids[:size]] = groups
    progress(1.0, label)
    return left.labels


@kernel(steps=lambda left, size, groups, k, enough, pairs: (len(left.alive) + 2) * size * size // k)
def _group_some(left: RecordsLeft, size: int, groups: int, k: int, enough: int, pairs: int) -> tuple[int, int]:
    """Up to `pairs` rounds: two groups a round, or one where too few records are left for a second."""
    members = np.empty(k, dtype=np.int64)
    for _ in range(pairs):
        if size < enough:
            break
        first = farthest_from_centre(left, size)
        size, groups = close_pair(left, first, members, size, groups, enough)
    return size, groups


@kernel(steps=lambda values, order, total, k, enough: 16 * len(values))
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
        to_low, to_high = values[at_low] - centre, values[at_high] - centre
        from_low, from_high = to_low * to_low, to_high * to_high
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
