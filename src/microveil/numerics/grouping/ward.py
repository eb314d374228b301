"""Ward's method and the k-Ward family: merge the closest groups until each has k records, divide what grew too large.

The Ward distance of two groups is the growth of the sum of squares when they merge: n m / (n + m) times the squared
distance of their means. k-Ward never merges two groups that both have k records already. In one dimension four rules
say which pairs may merge: all pairs (`kw`), neighbours with a jump to the right over complete groups (`kwd`, as
printed), with jumps both ways (`kwd-exact`, which equals `kw`), and neighbours only (`contiguous`, O(n log n)). Ward
(1963); Domingo-Ferrer and Mateo-Sanz (2002); Fayyoumi (2008), chapter 3.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from microveil.numerics.choices import Extremes, WardRule
from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.ordering import numbered_by_first
from microveil.numerics.grouping.groups import joined_labels
from microveil.numerics.grouping.steps import square_between
from microveil.numerics.grouping.univariate import labels_in_order
from microveil.numerics.statistics.projections import first_component, sum_of_z_scores
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray


def ward_groups(columns: FloatArray, groups: int = 1, nearest: float = np.inf) -> IntArray:
    """Ward's method: start with single records and merge the closest pair, down to so many groups.

    It stops earlier when the least Ward distance is above `nearest`.

    >>> ward_groups(np.array([[1.0], [2.0], [10.0], [11.0]]), groups=2).tolist()
    [0, 0, 1, 1]
    """
    from scipy.cluster.hierarchy import linkage

    n = len(columns)
    cluster = np.arange(2 * n - 1)
    if n > 1:
        merges = linkage(columns, method="ward")
        for step, (one, other, height, _) in enumerate(merges[: max(0, n - groups)]):
            if height**2 / 2 > nearest:  # scipy's height is the root of twice the Ward distance
                break
            cluster[[int(one), int(other)]] = n + step
    while (cluster[cluster] != cluster).any():
        cluster = cluster[cluster]
    return numbered_by_first(cluster[:n])


def k_ward_groups(values: FloatArray, k: int, rule: WardRule = "contiguous") -> IntArray:
    """k-Ward in one dimension: labels of the values in groups of k to 2k-1.

    >>> k_ward_groups(np.array([1.0, 2, 4, 10, 11, 13, 20, 21, 30, 34]), 3).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    """
    order = np.argsort(values, kind="stable")
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = _ordered_k_ward(values[order], k, rule)
    return labels


def _ordered_k_ward(ordered: FloatArray, k: int, rule: WardRule) -> IntArray:
    if rule == "contiguous":
        return labels_in_order(np.arange(len(ordered)), np.flatnonzero(_contiguous_starts(ordered, k)))
    merge = _merge_any if rule == "kw" else partial(_merge_over_complete, both_ways=rule == "kwd-exact")
    return _by_levels(ordered[:, None], k, lambda members: _ends(ordered[members], k), merge)


def recursive_k_ward_groups(
    values: FloatArray, k: int, rule: WardRule = "contiguous", threshold: float | None = None, parts: int = 2
) -> tuple[IntArray, str]:
    """kWR: divide the ordered values into parts of equal count while that explains little, then k-Ward in each part.

    A part is divided further while the parts' sums of squares, as a share of its own, are not below the threshold;
    without a threshold (dynamic) the share of the part above it is the threshold. Returns the labels and the tree of
    divisions, in which `()` is one run of k-Ward.

    >>> recursive_k_ward_groups(np.arange(12.0), 3, threshold=0.2)[1]
    '(()())'
    """
    order = np.argsort(values, kind="stable")
    pieces, tree = divided(values[order], k, threshold, parts)
    rows = [order[start:end] for start, end in pieces]
    return joined_labels(rows, (_ordered_k_ward(values[part], k, rule) for part in rows)), tree


def divided(ordered: FloatArray, k: int, threshold: float | None, parts: int) -> tuple[list[tuple[int, int]], str]:
    """The parts, from and to which position each, that kWR leaves to k-Ward, and the tree of divisions."""
    pieces: list[tuple[int, int]] = []

    def divide(start: int, end: int, limit: float) -> str:
        size = end - start
        if size >= 2 * parts * k:
            cuts = [start + part * size // parts for part in range(parts + 1)]
            total = _squares(ordered[start:end])
            share = sum(_squares(ordered[a:b]) for a, b in pairwise(cuts)) / total if total > 0 else -1.0
            if limit <= share:
                below = share if threshold is None else threshold
                return "(" + "".join(divide(a, b, below) for a, b in pairwise(cuts)) + ")"
        pieces.append((start, end))
        return "()"

    tree = divide(0, len(ordered), 0.0 if threshold is None else threshold)
    return pieces, tree


def _squares(values: FloatArray) -> float:
    return float(((values - values.mean()) ** 2).sum())


def multivariate_k_ward_groups(
    rows: FloatArray,
    k: int,
    extremes: Extremes = "md",
    progress: Progress = silent,
    label: str = "grouping",
) -> IntArray:
    """k-Ward on the rows of an (n, d) matrix, from two extreme groups of k; O(n^2 d) as a rule.

    The extremes are the two most distant records with their nearest, or the two ends of the first component or of the
    sum of z-scores of all rows; in every group that must be divided they are found again.

    >>> multivariate_k_ward_groups(np.array([[1.0, 1.0], [9.0, 9.0], [2.0, 1.0], [9.0, 8.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    if extremes == "md":
        return _by_levels(rows, k, lambda members: _most_distant(rows[members], k), _merge_any, progress, label)
    score = first_component(rows - rows.mean(axis=0)).scores if extremes == "fpc" else sum_of_z_scores(rows)
    return _by_levels(rows, k, lambda members: _ends(score[members], k), _merge_any, progress, label)


Ends = Callable[[IntArray], tuple[IntArray, IntArray]]
Merge = Callable[[FloatArray, IntArray, int], IntArray]


def _by_levels(
    rows: FloatArray, k: int, ends: Ends, merge: Merge, progress: Progress = silent, label: str = "grouping"
) -> IntArray:
    """Merge from two extreme groups and single records, then do the same inside each group of 2k or more."""
    labels = np.empty(len(rows), dtype=np.int64)
    waiting = [np.arange(len(rows))]
    used = done = 0
    while waiting:
        members = waiting.pop()
        inside = np.ascontiguousarray(rows[members])
        if len(members) >= 2 * k and not (inside == inside[0]).all():
            waiting += _merged(inside, members, k, ends(members), merge)
            continue
        groups = max(1, len(members) // k)
        # equal records: the first group eats all but the last k, level by level, which comes to this
        labels[members] = used + np.maximum(0, groups - 1 - np.arange(len(members))[::-1] // k)
        used += groups
        done += len(members)
        progress(done / len(rows), label)
    return labels


def _merged(
    inside: FloatArray, members: IntArray, k: int, ends: tuple[IntArray, IntArray], merge: Merge
) -> list[IntArray]:
    """The groups of one level, the last one first."""
    low, high = ends
    single = np.ones(len(inside), dtype=np.bool_)
    single[low] = single[high] = False
    start = np.zeros(len(inside), dtype=np.int64)
    start[single] = np.arange(1, single.sum() + 1)
    start[high] = single.sum() + 1
    sizes = np.bincount(start)
    sums = np.column_stack([np.bincount(start, weights=column) for column in inside.T])
    final = merge(np.ascontiguousarray(sums), sizes.astype(np.int64), k)[start]
    order = np.argsort(final, kind="stable")
    return np.split(members[order], np.flatnonzero(np.diff(final[order])) + 1)[::-1]


# Where a level starts


def _ends(score: FloatArray, k: int) -> tuple[IntArray, IntArray]:
    """The first k and the last k."""
    order = np.argsort(score, kind="stable")
    return order[:k], order[-k:]


def _most_distant(rows: FloatArray, k: int) -> tuple[IntArray, IntArray]:
    """The two most distant records, each with its k-1 nearest; the lower record number is served first."""
    first, second = _farthest_pair(rows)
    from_first = ((rows - rows[first]) ** 2).sum(axis=1)
    from_first[first] = -1.0
    low = np.argsort(from_first, kind="stable")[:k]
    left = np.setdiff1d(np.arange(len(rows)), low)
    if second in low:
        second = int(left[np.argmax(from_first[left])])
    from_second = ((rows[left] - rows[second]) ** 2).sum(axis=1)
    from_second[left == second] = -1.0
    return low, left[np.argsort(from_second, kind="stable")[:k]]


@kernel
def _farthest_pair(rows: FloatArray) -> tuple[int, int]:
    n = rows.shape[0]
    first, second, farthest = 0, 1, -1.0
    for i in range(n):
        for j in range(i + 1, n):
            square = square_between(rows, i, rows, j)
            if square > farthest:
                first, second, farthest = i, j, square
    return first, second


# How a level merges: sums and sizes of the starting groups in, the group each of them ends in out


@kernel
def _ward_distance(sums: FloatArray, sizes: IntArray, one: int, other: int) -> float:
    square = 0.0
    for c in range(sums.shape[1]):
        square += (sums[one, c] / sizes[one] - sums[other, c] / sizes[other]) ** 2
    return float(square * sizes[one] * sizes[other] / (sizes[one] + sizes[other]))


class _Level(NamedTuple):
    """The groups of one level: `alive` lists those that have merged into no other, and `parent` says into which."""

    sums: FloatArray
    sizes: IntArray
    alive: IntArray
    parent: IntArray


@kernel
def _final(parent: IntArray) -> IntArray:
    """Where each group has gone in the end; groups always merge into an earlier one."""
    for group in range(parent.shape[0]):
        parent[group] = parent[parent[group]]
    return parent


@kernel
def _merge_any(sums: FloatArray, sizes: IntArray, k: int) -> IntArray:
    """All pairs of which one has fewer than k records; each group remembers its nearest among those behind it."""
    m = sizes.shape[0]
    level = _Level(sums, sizes, np.arange(m), np.arange(m))
    alive = level.alive
    nearest = np.full(m, -1)
    distance = np.full(m, np.inf)
    small = int(np.sum(sizes < k))
    for index in range(m):
        _find_nearest(level, k, m, index, nearest, distance)
    while small > 0:
        at = 0
        for index in range(m):
            if distance[alive[index]] < distance[alive[at]]:
                at = index
        i, j = alive[at], nearest[alive[at]]
        gone = np.searchsorted(alive[:m], j)
        small, m = _join(level, k, m, at, gone, small)
        for index in range(gone):
            row = alive[index]
            if row == i or nearest[row] == i or nearest[row] == j:
                _find_nearest(level, k, m, index, nearest, distance)
            elif row < i and (sizes[row] < k or sizes[i] < k):
                to_new = _ward_distance(sums, sizes, row, i)
                if to_new < distance[row] or (to_new == distance[row] and i < nearest[row]):
                    nearest[row], distance[row] = i, to_new
    return _final(level.parent)


@kernel
def _find_nearest(level: _Level, k: int, m: int, index: int, nearest: IntArray, distance: FloatArray) -> None:
    """The nearest admissible group among those behind an index."""
    sums, sizes, alive = level.sums, level.sizes, level.alive
    row = alive[index]
    nearest[row], distance[row] = -1, np.inf
    for behind in range(index + 1, m):
        other = alive[behind]
        if sizes[row] < k or sizes[other] < k:
            to_other = _ward_distance(sums, sizes, row, other)
            if to_other < distance[row]:
                nearest[row], distance[row] = other, to_other


@kernel
def _merge_over_complete(sums: FloatArray, sizes: IntArray, k: int, both_ways: bool) -> IntArray:
    """Neighbours, with a jump over groups that have k records already.

    Each group merges with the next one, or, if both have k records, with the first behind that has fewer (as printed).
    With `both_ways` each group with fewer than k records merges with all that only complete groups separate it from,
    on either side.
    """
    m = sizes.shape[0]
    level = _Level(sums, sizes, np.arange(m), np.arange(m))
    alive = level.alive
    small = int(np.sum(sizes < k))
    while small > 0:
        at, partner, least = -1, -1, np.inf
        next_small = -1
        for index in range(m - 2, -1, -1):
            if sizes[alive[index + 1]] < k:
                next_small = index + 1
            is_small = sizes[alive[index]] < k
            nearest = index + 1 if is_small else next_small
            if nearest < 0:
                continue
            distance = _ward_distance(sums, sizes, alive[index], alive[nearest])
            if both_ways and is_small:
                for other in range(index + 2, (next_small if next_small >= 0 else m - 1) + 1):
                    to_other = _ward_distance(sums, sizes, alive[index], alive[other])
                    if to_other < distance:
                        nearest, distance = other, to_other
            if distance <= least:
                at, partner, least = index, nearest, distance
        small, m = _join(level, k, m, at, partner, small)
    return _final(level.parent)


@kernel
def _join(level: _Level, k: int, m: int, at: int, partner: int, small: int) -> tuple[int, int]:
    """Merge the group at one index with one behind it; return how many groups are too small and how many there are."""
    sums, sizes, alive = level.sums, level.sizes, level.alive
    i, j = alive[at], alive[partner]
    small -= int(sizes[i] < k) + int(sizes[j] < k)
    sums[i] += sums[j]
    sizes[i] += sizes[j]
    small += int(sizes[i] < k)
    level.parent[j] = i
    for index in range(partner, m - 1):
        alive[index] = alive[index + 1]
    return small, m - 1


class _Line(NamedTuple):
    """A linked list of groups, each known by its start: the one before and behind it, its size and its sum."""

    before: IntArray
    behind: IntArray
    size: IntArray
    total: FloatArray


@kernel
def _contiguous_starts(ordered: FloatArray, k: int) -> BoolArray:
    """k-Ward among neighbours, all levels: a linked list of groups and a heap of pairs (distance, start).

    Sizes only grow, so a pair on the heap is out of date when a size has changed.
    """
    n = ordered.shape[0]
    starts = np.zeros(n, dtype=np.bool_)
    line = empty_line(n)
    waiting = [(0, n)]
    while len(waiting) > 0:
        start, end = waiting.pop()
        if end - start < 2 * k or ordered[start] == ordered[end - 1]:
            starts[start] = True
            for cut in range(end - k, start + k - 1, -k):  # equal values: as the levels would
                starts[cut] = end - start >= 2 * k
            continue
        merge_neighbours(ordered, start, end, k, line)
        group = start
        while group < end:
            waiting.append((group, line.behind[group]))
            group = line.behind[group]
    return starts


@kernel
def empty_line(n: int) -> _Line:
    return _Line(
        np.empty(n + 1, dtype=np.int64),
        np.empty(n + 1, dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.zeros((n + 1, 1)),
    )


@kernel
def merge_neighbours(ordered: FloatArray, start: int, end: int, k: int, line: _Line) -> None:
    """One level: merge until every group from start to end has k values; `behind` then leads from group to group."""
    before, behind, size, total = line.before, line.behind, line.size, line.total
    _line_up(ordered, start, end, k, line)
    small = end - start - 2 * k if k > 1 else 0
    heap = [(0.0, 0, 0, 0)]
    heap.pop()
    group = start
    while behind[group] < end:
        _push_pair(heap, group, behind[group], size, total, k)
        group = behind[group]
    while small > 0:
        _, one, size_one, size_other = heapq.heappop(heap)
        other = behind[one]
        if size[one] != size_one or other >= end or size[other] != size_other:
            continue
        small -= int(size_one < k) + int(size_other < k)
        size[one] += size_other
        total[one, 0] += total[other, 0]
        size[other] = 0
        small += int(size[one] < k)
        behind[one] = behind[other]
        before[behind[one]] = one
        if one > start:
            _push_pair(heap, before[one], one, size, total, k)
        if behind[one] < end:
            _push_pair(heap, one, behind[one], size, total, k)


@kernel
def _line_up(ordered: FloatArray, start: int, end: int, k: int, line: _Line) -> None:
    """The first k, single values, the last k."""
    line.size[start:end] = 0
    group, previous = start, -1
    while group < end:
        count = k if group in (start, end - k) else 1
        line.size[group] = count
        line.total[group, 0] = 0.0
        for position in range(group, group + count):
            line.total[group, 0] += ordered[position]
        line.before[group], line.behind[group] = previous, group + count
        previous, group = group, group + count


@kernel
def _push_pair(
    heap: list[tuple[float, int, int, int]], one: int, other: int, size: IntArray, total: FloatArray, k: int
) -> None:
    if size[one] < k or size[other] < k:
        heapq.heappush(heap, (_ward_distance(total, size, one, other), one, size[one], size[other]))


@kernel
def values_away_from_members(
    ordered: FloatArray, starts: IntArray, centres: FloatArray, least: float
) -> tuple[FloatArray, FloatArray]:
    """For each group of ordered values the nearest value at and below, and at and above its centre that keeps at least
    so far from every member."""
    groups = starts.shape[0]
    below, above = centres.copy(), centres.copy()
    for group in range(groups):
        end = starts[group + 1] if group + 1 < groups else ordered.shape[0]
        for position in range(starts[group], end):
            if abs(ordered[position] - above[group]) < least:
                above[group] = ordered[position] + least
        for position in range(end - 1, starts[group] - 1, -1):
            if abs(ordered[position] - below[group]) < least:
                below[group] = ordered[position] - least
    return below, above


def balanced_choice(
    below: FloatArray, above: FloatArray, centres: FloatArray, sizes: IntArray, low: float, high: float
) -> FloatArray:
    """Below or above for each group, so that the shifts cancel: the largest first, each against the sum so far.

    A value outside [low, high] is chosen only where both are.

    >>> balanced_choice(*(np.array(x) for x in ([1.0, 4.0], [3.0, 6.0], [2.0, 5.0], [3, 3])), 0.0, 9.0).tolist()
    [1.0, 6.0]
    """
    chosen, balance = centres.copy(), 0.0
    shifts = sizes * np.maximum(above - centres, centres - below)
    for group in np.argsort(-shifts, kind="stable"):
        options = [value for value in (below[group], above[group]) if low <= value <= high]
        options = options or [below[group], above[group]]
        moved = [balance + sizes[group] * (value - centres[group]) for value in options]
        best = min(range(len(options)), key=lambda i: (abs(moved[i]), abs(options[i] - centres[group])))
        chosen[group], balance = options[best], moved[best]
    return chosen
