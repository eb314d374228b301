"""The mu-approximation: a forest in which each record points at one of its k-1 nearest, cut into parts of k to 2k-1.

Trees grow until each has k records: the one record of a small tree that points nowhere yet points at the nearest of
its neighbours outside the tree. Large trees are cut at their longest edges; where no cut leaves k records on both
sides, a tree is a middle record with small branches, and the branches are bundled.
"""

from __future__ import annotations

import heapq

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.grouping.centroid_groups import split_large
from microveil.numerics.grouping.spanning_tree import cut_longest_edges
from microveil.numerics.grouping.steps import nearest
from microveil.progress import Part, Progress, silent
from microveil.typing import FloatArray, IntArray


def forest_groups(columns: FloatArray, k: int, progress: Progress = silent, label: str = "grouping") -> IntArray:
    """Labels of groups of k to 2k-1 records of an (n, d) matrix; n must be at least k."""
    if len(columns) < 2 * k:
        progress(1.0, label)
        return np.zeros(len(columns), dtype=np.int64)
    neighbours, gaps = nearest_records(columns, k - 1, Part(progress, 0.0, 0.9), label)
    points_at, length = grow_forest(neighbours, gaps, k)
    parts = cut_longest_edges(points_at, length, _parents_first(points_at), k)
    labels = _bundle_branches(parts, points_at, length, k)
    progress(1.0, label)
    return split_large(columns, labels, k)


def nearest_records(
    columns: FloatArray, count: int, progress: Progress = silent, label: str = "finding neighbours"
) -> tuple[IntArray, FloatArray]:
    """For each record its nearest others, nearest first, ties by record number; and the squared distances to them."""
    rows = np.array(columns.T, dtype=np.float64, order="C", copy=True)

    def work(start: int, end: int) -> tuple[IntArray, FloatArray]:
        return _nearest_of_some(rows, count, start, end)

    found = over_chunks(work, len(columns), 256, progress, label)
    return np.concatenate([ids for ids, _ in found]), np.concatenate([gaps for _, gaps in found])


@kernel
def _nearest_of_some(rows: FloatArray, count: int, start: int, end: int) -> tuple[IntArray, FloatArray]:
    n = rows.shape[1]
    ids = np.arange(n)
    distances = np.empty(n)
    members = np.empty(count + 1, dtype=np.int64)
    neighbours, gaps = np.empty((end - start, count), dtype=np.int64), np.empty((end - start, count))
    for record in range(start, end):
        nearest(rows, ids, rows[:, record].copy(), record, members, distances, n)
        for m in range(count):
            neighbours[record - start, m] = members[m + 1]
            gaps[record - start, m] = distances[members[m + 1]]
    return neighbours, gaps


def grow_forest(neighbours: IntArray, gaps: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """Whom each record points at (-1: nobody) and the squared length, once every tree has k records.

    The shortest edge that a small tree can have is added first. A tree of fewer than k records cannot hold all k-1
    nearest of its root, so there always is one.
    """
    n = len(neighbours)
    points_at, length = np.full(n, -1, dtype=np.int64), np.zeros(n)
    tree, size = list(range(n)), [1] * n
    tried = [0] * n
    waiting = [(float(gaps[root, 0]), root) for root in range(n)]
    heapq.heapify(waiting)
    while waiting:
        gap, root = heapq.heappop(waiting)
        if size[_tree_of(tree, root)] >= k:
            continue
        if _tree_of(tree, int(neighbours[root, tried[root]])) == _tree_of(tree, root):
            tried[root] += 1
            heapq.heappush(waiting, (float(gaps[root, tried[root]]), root))
            continue
        joined = int(neighbours[root, tried[root]])
        points_at[root], length[root] = joined, gap
        here, there = _tree_of(tree, root), _tree_of(tree, joined)
        tree[here] = there
        size[there] += size[here]
    return points_at, length


def _tree_of(tree: list[int], record: int) -> int:
    """The record a tree is known by; the way to it is shortened on the way."""
    while tree[record] != record:
        tree[record] = tree[tree[record]]
        record = tree[record]
    return record


def _parents_first(points_at: IntArray) -> IntArray:
    """The records in an order in which each comes after the one it points at."""
    n = len(points_at)
    depth = np.full(n, -1, dtype=np.int64)
    for record in range(n):
        way = []
        at = record
        while at >= 0 and depth[at] < 0:
            way.append(at)
            at = int(points_at[at])
        level = int(depth[at]) if at >= 0 else -1
        for step, passed in enumerate(reversed(way), start=1):
            depth[passed] = level + step
    return np.argsort(depth, kind="stable")


def _bundle_branches(parts: IntArray, points_at: IntArray, length: FloatArray, k: int) -> IntArray:
    """Divide the parts of 2k records or more that no single cut divides."""
    labels = parts.copy()
    used = int(parts.max()) + 1
    for part in np.flatnonzero(np.bincount(parts) >= 2 * k):
        rows = np.flatnonzero(parts == part)
        middle, branches = _branches(rows, parts, points_at, length)
        for bundle in _bundles(middle, branches, k)[1:]:
            labels[bundle] = used
            used += 1
    return labels


def _branches(
    rows: IntArray, parts: IntArray, points_at: IntArray, length: FloatArray
) -> tuple[int, list[tuple[float, list[int]]]]:
    """The middle record of a part, and its branches with the squared length of the edge each hangs on."""
    edges: dict[int, list[tuple[int, float]]] = {int(record): [] for record in rows}
    for record in rows:
        target = int(points_at[record])
        if target >= 0 and parts[target] == parts[record]:
            edges[int(record)].append((target, float(length[record])))
            edges[target].append((int(record), float(length[record])))
    middle = int(rows[0])
    while True:
        branches = [(gap, _reachable(edges, start, middle)) for start, gap in edges[middle]]
        heaviest = max(branches, key=lambda branch: len(branch[1]))[1]
        if 2 * len(heaviest) <= len(rows):
            return middle, branches
        middle = heaviest[0]  # more than half lies that way, so the way never leads back


def _reachable(edges: dict[int, list[tuple[int, float]]], start: int, without: int) -> list[int]:
    """The branch that begins with `start` and does not lead over `without`."""
    branch, come_from = [start], {start: without}
    for record in branch:
        for target, _ in edges[record]:
            if target != come_from[record]:
                come_from[target] = record
                branch.append(target)
    return branch


def _bundles(middle: int, branches: list[tuple[float, list[int]]], k: int) -> list[list[int]]:
    """Bundles of at least k records: the farthest branches first, and the middle with the nearest ones."""
    far_first = sorted(branches, key=lambda branch: (-branch[0], branch[1][0]))
    bundles: list[list[int]] = []
    bundle: list[int] = []
    for _, branch in far_first:
        bundle = bundle + branch
        if len(bundle) >= k:
            bundles.append(bundle)
            bundle = []
    bundle = [*bundle, middle]
    if len(bundle) >= k or not bundles:
        bundles.append(bundle)
    else:
        bundles[-1] = bundles[-1] + bundle  # the last bundle lies nearest to the middle
    return bundles
