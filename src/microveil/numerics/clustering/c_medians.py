"""c-medians: clusters of rows around medians and most frequent values, by distances over columns of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.neighbours.mixed_distance import MEDIAN, Axes, Distinct, distance, distance_below, distances
from microveil.progress import Part, Progress
from microveil.typing import FloatArray, IntArray

Merge = Literal["two-smallest", "nearest"]
_EQUAL = 1e-9  # objectives closer than this (relatively) are the same
_MOST_POINTS, _LAST_ROUNDS = 20_000, 10


@dataclass(frozen=True)
class Clusters:
    """A clustering: the cluster of each row, the centres, the total distance to them, and the first centres."""

    labels: IntArray
    centres: FloatArray
    objective: float
    initial: FloatArray

    @property
    def sizes(self) -> IntArray:
        return np.bincount(self.labels, minlength=len(self.centres)).astype(np.int64)


def best_of(runs: Sequence[Clusters]) -> Clusters:
    """The run with the least objective; of equally good ones the first."""
    best = runs[0]
    for run in runs[1:]:
        if run.objective < best.objective * (1.0 - _EQUAL):
            best = run
    return best


def c_medians(
    matrix: FloatArray,
    axes: Axes,
    clusters: int,
    starts: int,
    rng: np.random.Generator,
    progress: Progress,
    label: str,
    *,
    least: bool = False,
    most_rounds: int = 100,
) -> Clusters:
    """The best of several runs, each from a first centre of its own; there are fewer clusters where rows are alike.

    The centre of a cluster is on each axis the median (lower of two) or the most frequent value (first of equals), or
    with `least` the value of least total distance, which never raises the objective. Of more than 20,000 different rows
    so many rows are drawn for the runs, and a few more rounds with all rows begin with the best centres.

    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [4, 4], [4, 3], [3, 4], [0, 4], [1, 4]], dtype=float)
    >>> axes = Axes(np.ones(2), np.full(2, 5.0), np.array([MEDIAN, MEDIAN]))
    >>> found = c_medians(rows, axes, 3, 20, np.random.default_rng(1), lambda fraction, label: None, "")
    >>> round(found.objective, 9), sorted(found.sizes.tolist())
    (2.0, [2, 3, 3])
    """
    distinct = Distinct.of(matrix)
    if len(distinct.points) > _MOST_POINTS:
        some = matrix[np.sort(rng.choice(len(matrix), size=_MOST_POINTS, replace=False))]
        tried = c_medians(
            some, axes, clusters, starts, rng, Part(progress, 0.0, 0.7), label, least=least, most_rounds=most_rounds
        )
        return c_medians_from(matrix, axes, tried.centres, least=least, most_rounds=min(_LAST_ROUNDS, most_rounds))
    drawn = rng.choice(len(matrix), size=min(starts, len(matrix)), replace=False)
    firsts = list(dict.fromkeys(distinct.of_row[drawn].tolist()))  # equal first centres give equal runs
    task = _Task(distinct.points, distinct.counts.astype(np.float64), axes, least, most_rounds)

    def work(start: int, end: int) -> Clusters:
        return task.run(task.first_centres(firsts[start], clusters))

    best = best_of(over_chunks(work, len(firsts), 1, progress, label))
    return replace(best, labels=best.labels[distinct.of_row])


def c_medians_from(
    matrix: FloatArray, axes: Axes, centres: FloatArray, *, least: bool = False, most_rounds: int = 100
) -> Clusters:
    """One run from the centres given."""
    distinct = Distinct.of(matrix)
    found = _Task(distinct.points, distinct.counts.astype(np.float64), axes, least, most_rounds).run(
        np.ascontiguousarray(centres, dtype=np.float64)
    )
    return replace(found, labels=found.labels[distinct.of_row])


def dissimilar_rows(matrix: FloatArray, axes: Axes, first: int, count: int) -> IntArray:
    """So many rows of maximum dissimilarity: the one given, then always the row farthest from its nearest chosen one.

    Kennard and Stone (1969); Marés (2013), section 5.2, Algorithm 11.

    Of equally far rows the first is taken; there are fewer where every row equals one that is chosen.
    """
    return _dissimilar(np.ascontiguousarray(matrix, dtype=np.float64), axes, first, count)


def dissimilar_centres(matrix: FloatArray, axes: Axes, clusters: int) -> FloatArray:
    """First centres without chance: the row farthest from the centre of all, and rows dissimilar to it and another."""
    points = Distinct.of(matrix).points
    middle = centres_of(matrix, axes, np.zeros(len(matrix), dtype=np.int64))[0]
    first = int(np.argmax(distances(points, middle, axes)))
    return np.ascontiguousarray(points[dissimilar_rows(points, axes, first, clusters)])


class _Task:
    """Points that stand for so many rows each, and for each axis their order, which is the same in all runs."""

    def __init__(
        self, points: FloatArray, counts: FloatArray, axes: Axes, least: bool = False, most_rounds: int = 100
    ) -> None:
        self.points, self.counts, self.axes = points, counts, axes
        self.order = np.stack([np.argsort(column, kind="stable") for column in self.points.T])
        self.by_median = (axes.centre == MEDIAN) & (not least)
        self.most_rounds = most_rounds

    def first_centres(self, first: int, count: int) -> FloatArray:
        return np.ascontiguousarray(self.points[dissimilar_rows(self.points, self.axes, first, count)])

    def run(self, initial: FloatArray) -> Clusters:
        """Assign, then find centres, until nothing moves or the objective falls no more; the best seen is kept."""
        labels, near = np.full(len(self.points), -1, dtype=np.int64), np.full(len(self.points), np.inf)
        centres, best = initial.copy(), None
        changed = np.arange(len(centres))
        for _ in range(self.most_rounds):
            objective, moved = _assign(self.points, self.counts, self.axes, centres, changed, labels, near)
            if best is None or objective < best.objective * (1.0 - _EQUAL):
                best = Clusters(labels.copy(), centres.copy(), objective, initial)
            elif moved == 0 or objective > best.objective * (1.0 + _EQUAL):
                break
            if moved == 0:
                break
            former = centres.copy()
            self.find_centres(labels, centres)
            changed = np.flatnonzero((centres != former).any(axis=1))
        assert best is not None
        return _without_empty(best)

    def find_centres(self, labels: IntArray, centres: FloatArray) -> None:
        """The centre of each cluster, in place; that of an empty one stays."""
        for j in range(self.points.shape[1]):
            column, order = self.points[:, j], self.order[j]
            if self.by_median[j]:
                _medians(column, order, self.counts, labels, centres[:, j])
            else:
                _least(column, order, self.counts, labels, self.axes.offset[j], self.axes.size[j], centres[:, j])


def _without_empty(found: Clusters) -> Clusters:
    used, labels = np.unique(found.labels, return_inverse=True)
    return replace(found, labels=labels.reshape(-1).astype(np.int64), centres=found.centres[used])


def merge_small(matrix: FloatArray, axes: Axes, labels: IntArray, k: int, rule: Merge) -> IntArray:
    """Labels of clusters of at least k rows, where so many rows are there at all.

    While a cluster is smaller, the two smallest become one (of equals those with the lowest labels), or the smallest
    joins the one whose centre is nearest.

    >>> axes = Axes(np.ones(1), np.full(1, 9.0), np.array([MEDIAN]))
    >>> rows = np.array([[0.0], [0.0], [8.0], [8.0], [8.0], [7.0]])
    >>> merge_small(rows, axes, np.array([0, 0, 1, 1, 1, 2]), 2, "two-smallest").tolist()
    [0, 0, 1, 1, 1, 0]
    >>> merge_small(rows, axes, np.array([0, 0, 1, 1, 1, 2]), 2, "nearest").tolist()
    [0, 0, 1, 1, 1, 1]
    """
    labels = np.asarray(labels, dtype=np.int64).copy()
    sizes = np.bincount(labels)
    centres = centres_of(matrix, axes, labels) if rule == "nearest" else np.empty((0, 0))
    while len(left := np.flatnonzero(sizes)) > 1 and sizes[left].min() < k:
        smallest = int(left[np.argmin(sizes[left])])
        others = left[left != smallest]
        near = distances(centres[others], centres[smallest], axes) if rule == "nearest" else sizes[others]
        low, high = sorted((smallest, int(others[np.argmin(near)])))
        labels[labels == high] = low
        sizes[low], sizes[high] = sizes[low] + sizes[high], 0
        if rule == "nearest":
            members = matrix[labels == low]
            centres[low] = centres_of(members, axes, np.zeros(len(members), dtype=np.int64))[0]
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


def centres_of(matrix: FloatArray, axes: Axes, labels: IntArray) -> FloatArray:
    """The centre of each cluster."""
    task = _Task(np.ascontiguousarray(matrix, dtype=np.float64), np.ones(len(matrix)), axes)
    centres = np.zeros((int(labels.max()) + 1, matrix.shape[1]))
    task.find_centres(labels, centres)
    return centres


@kernel
def _dissimilar(points: FloatArray, axes: Axes, first: int, count: int) -> IntArray:
    chosen = np.empty(min(count, len(points)), dtype=np.int64)
    near = np.full(len(points), np.inf)
    newest = first
    for c in range(len(chosen)):
        chosen[c] = newest
        farthest = 0
        for i in range(len(points)):
            near[i] = min(near[i], distance_below(points[i], points[newest], axes, near[i]))
            if near[i] > near[farthest]:
                farthest = i
        if near[farthest] == 0.0:
            return chosen[: c + 1]
        newest = farthest
    return chosen


@kernel
def _assign(
    points: FloatArray, counts: FloatArray, axes: Axes, centres: FloatArray, changed: IntArray, labels: IntArray,
    near: FloatArray,
) -> tuple[float, int]:  # fmt: skip
    """Every point to its nearest centre; of equally near ones to its own, at first to the first. In place.

    `near` is how far a point was from its centre: where that is no farther now, centres that have not changed are not
    nearer than it, for they were not before.
    """
    objective, moved = 0.0, 0
    every = np.arange(len(centres))
    for i in range(len(points)):
        best = labels[i]
        nearest = np.inf if best < 0 else distance(points[i], centres[best], axes)
        for c in changed if nearest <= near[i] else every:
            if nearest == 0.0:
                break
            away = distance_below(points[i], centres[c], axes, nearest)
            if away < nearest:
                nearest, best = away, c
        if best != labels[i]:
            labels[i] = best
            moved += 1
        near[i] = nearest
        objective += counts[i] * nearest
    return objective, moved


@kernel
def _medians(column: FloatArray, order: IntArray, counts: FloatArray, labels: IntArray, centres: FloatArray) -> None:
    total = np.zeros(len(centres))
    for i in range(len(labels)):
        total[labels[i]] += counts[i]
    below = np.zeros(len(centres))
    for i in order:
        c = labels[i]
        if 2.0 * below[c] < total[c]:
            centres[c] = column[i]
        below[c] += counts[i]


@kernel
def _least(
    column: FloatArray,
    order: IntArray,
    counts: FloatArray,
    labels: IntArray,
    offset: float,
    size: float,
    centres: FloatArray,
) -> None:
    """The value of each cluster with the least total distance, the lowest of equals.

    With `size` 0 that is its most frequent value, for all others are equally far from it.
    """
    clusters = len(centres)
    total, sums = np.zeros(clusters), np.zeros(clusters)
    for i in range(len(labels)):
        total[labels[i]] += counts[i]
        sums[labels[i]] += counts[i] * column[i]
    below, sums_below = np.zeros(clusters), np.zeros(clusters)
    here, cost = np.zeros(clusters), np.full(clusters, np.inf)
    begin = 0
    while begin < len(order):
        value, end = column[order[begin]], begin
        while end < len(order) and column[order[end]] == value:
            here[labels[order[end]]] += counts[order[end]]
            end += 1
        for i in order[begin:end]:
            c = labels[i]
            if here[c] == 0.0:
                continue  # this cluster was looked at already
            apart = total[c] - here[c]
            if size > 0.0:
                above = apart - below[c]
                beyond = sums[c] - sums_below[c] - here[c] * value
                apart = (offset * apart + value * below[c] - sums_below[c] + beyond - value * above) / size
            if apart < cost[c] * (1.0 - 1e-12):
                cost[c], centres[c] = apart, value
            below[c] += here[c]
            sums_below[c] += here[c] * value
            here[c] = 0.0
        begin = end
