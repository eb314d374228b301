"""Pairs from a minimum-weight edge cover: every record is an end of a chosen edge, and the edges weigh least together.

Only an edge shorter than the shortest edges of its two ends together can be worth more than those two. Choosing among
such edges is a matching problem that falls into independent parts, each solved as an integer programme. The edges
chosen form stars, and stars of four records or more are divided into pairs.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.grouping.mu_approximation import nearest_records
from microveil.numerics.grouping.steps import distances_to
from microveil.progress import Part, Progress, silent
from microveil.typing import FloatArray, IntArray

Edge = tuple[int, int]

_MANY_EDGES = 20  # for each record; in many dimensions almost every edge could be worth choosing
_KEPT_EDGES = 24  # then, the best so many of each record


def cover_groups(columns: FloatArray, progress: Progress = silent, label: str = "grouping") -> IntArray:
    """Labels of groups of two or three records, from a cover that weighs least in squared distances."""
    if len(columns) < 4:
        progress(1.0, label)
        return np.zeros(len(columns), dtype=np.int64)
    edges = minimum_edge_cover(columns, progress, label)
    labels = np.empty(len(columns), dtype=np.int64)
    groups = [group for star in stars(edges) for group in divide_star(star, columns)]
    for number, group in enumerate(groups):
        labels[group] = number
    progress(1.0, label)
    return labels


def minimum_edge_cover(
    columns: FloatArray, progress: Progress = silent, label: str = "finding the cover"
) -> list[Edge]:
    """The edges of a cover of least total squared length.

    A matching earns, for each of its edges, the shortest edges of its two ends less its own length; the cover is the
    matching that earns most, and the shortest edge of every record it leaves out. Where there are too many edges to
    choose from, only the best 24 of each record are looked at, and the cover is as good as they allow.
    """
    n = len(columns)
    nearest, shortest = nearest_records(columns, 1, Part(progress, 0.0, 0.1), label)
    one, other, earned = _best_edges(*_earning_edges(columns, shortest[:, 0], Part(progress, 0.1, 0.3), label), n)
    chosen = _best_matching(one, other, earned, n, Part(progress, 0.3, 1.0), label)
    edges = {(int(one[edge]), int(other[edge])) for edge in chosen}
    matched = {record for edge in edges for record in edge}
    for record in range(n):
        if record not in matched:
            edges.add((min(record, int(nearest[record, 0])), max(record, int(nearest[record, 0]))))
    return sorted(edges)


def _earning_edges(
    columns: FloatArray, shortest: FloatArray, progress: Progress, label: str
) -> tuple[IntArray, IntArray, FloatArray]:
    """The edges shorter than the shortest edges of their two ends together, and by how much."""
    rows = np.array(columns.T, dtype=np.float64, order="C", copy=True)

    def work(start: int, end: int) -> tuple[IntArray, IntArray, FloatArray]:
        return _earning_edges_of_some(rows, shortest, start, end)

    found = over_chunks(work, len(columns), 64, progress, label)
    one, other, earned = (np.concatenate(pieces) for pieces in zip(*found, strict=True))
    return one, other, earned


@kernel
def _earning_edges_of_some(
    rows: FloatArray, shortest: FloatArray, start: int, end: int
) -> tuple[IntArray, IntArray, FloatArray]:
    n = rows.shape[1]
    distances = np.empty(n)
    room = max(16, 4 * (end - start))
    one, other, earned = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
    found = 0
    for record in range(start, end):
        distances_to(rows, rows[:, record].copy(), distances, n)
        for i in range(record + 1, n):
            gain = shortest[record] + shortest[i] - distances[i]
            if gain > 0.0:
                if found == room:
                    one, other, earned = np.append(one, one), np.append(other, other), np.append(earned, earned)
                    room *= 2
                one[found], other[found], earned[found] = record, i, gain
                found += 1
    return one[:found].copy(), other[:found].copy(), earned[:found].copy()


def _best_edges(one: IntArray, other: IntArray, earned: FloatArray, n: int) -> tuple[IntArray, IntArray, FloatArray]:
    """All edges, or where they are too many those that are among the best of one of their ends."""
    if len(one) <= _MANY_EDGES * n:
        return one, other, earned
    ends = np.concatenate([one, other])
    order = np.lexsort((np.tile(-earned, 2), ends))
    first = np.searchsorted(ends[order], np.arange(n))
    rank = np.empty(len(ends), dtype=np.int64)
    rank[order] = np.arange(len(ends)) - first[ends[order]]
    kept = (rank < _KEPT_EDGES).reshape(2, -1).any(axis=0)
    return one[kept], other[kept], earned[kept]


def _best_matching(
    one: IntArray, other: IntArray, earned: FloatArray, n: int, progress: Progress, label: str
) -> IntArray:
    """The edges, no two with a common end, that earn most together; each connected part by itself."""
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
    parts, part_of = connected_components(graph, directed=False)
    by_part = np.argsort(part_of[one], kind="stable")
    bounds = np.searchsorted(part_of[one][by_part], np.arange(parts + 1))
    chosen = [np.empty(0, dtype=np.int64)]
    for part in np.flatnonzero(np.diff(bounds)):
        edges = by_part[bounds[part] : bounds[part + 1]]
        chosen.append(edges[_matching_of_part(one[edges], other[edges], earned[edges])])
        progress(bounds[part + 1] / len(one), label)
    return np.concatenate(chosen)


def _matching_of_part(one: IntArray, other: IntArray, earned: FloatArray) -> IntArray:
    """One integer programme: at most one chosen edge at each record, most earned."""
    if len(one) == 1:
        return np.zeros(1, dtype=np.int64)
    records, ends = np.unique(np.concatenate([one, other]), return_inverse=True)
    edges = np.tile(np.arange(len(one)), 2)
    at_record = coo_array((np.ones(len(ends)), (ends, edges)), shape=(len(records), len(one)))
    solved = milp(
        -earned / earned.max(),
        constraints=LinearConstraint(at_record.tocsr(), ub=np.ones(len(records))),
        integrality=np.ones(len(one)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return np.flatnonzero(solved.x > 0.5)


def stars(edges: list[Edge]) -> list[list[int]]:
    """The stars of a cover, the centre first; an edge whose two ends are covered without it is left out."""
    degree = np.bincount(np.array(edges).reshape(-1))
    needed = []
    for one, other in edges:
        if degree[one] > 1 and degree[other] > 1:
            degree[one] -= 1
            degree[other] -= 1
        else:
            needed.append((one, other))
    leaves: dict[int, list[int]] = {}
    for one, other in needed:
        centre, leaf = (one, other) if degree[one] >= degree[other] else (other, one)
        leaves.setdefault(centre, []).append(leaf)
    return [[centre, *sorted(leaves[centre])] for centre in sorted(leaves)]


def divide_star(star: list[int], columns: FloatArray) -> list[list[int]]:
    """Pairs of the leaves closest to each other, until one or two are left for the centre."""
    centre, *leaves = star
    if len(leaves) <= 2:
        return [star]
    points = columns[leaves]
    first, second = np.triu_indices(len(leaves), 1)
    squares = ((points[first] - points[second]) ** 2).sum(axis=1)
    free = set(range(len(leaves)))
    groups = []
    for pair in np.argsort(squares, kind="stable"):
        if len(free) > 2 and first[pair] in free and second[pair] in free:
            groups.append([leaves[first[pair]], leaves[second[pair]]])
            free -= {int(first[pair]), int(second[pair])}
    return [*groups, [centre, *(leaves[i] for i in sorted(free))]]
