"""Cutting a spanning tree into groups of at least k records whose classes stay mixed as in the file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.counting.class_divergence import jensen_shannon_of
from microveil.numerics.grouping.class_tree import Tree, euclidean_tree
from microveil.numerics.grouping.steps import divide_large, labels_of_parts
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_CUTS_PER_CALL = 256
_ZERO = 1e-12  # numerators below are rounding
_LAST = np.finfo(np.float64).max  # the ratio of an edge between equal records: removable, but after all others


class Cuts(NamedTuple):
    """Group labels, and the edges that were cut, by their child, in order, each with its ratio."""

    labels: IntArray
    children: IntArray
    ratios: FloatArray


class Removable(NamedTuple):
    """When an edge may be cut: both parts have k records, and whatever else is asked of their classes.

    `most` bounds the distance of a part's class shares from the file's (`by_divergence`: the JSD, else half the sum of
    differences). With `mixed` no part may have one class only, unless all had it before. `fewest` is the least number
    of records that a class present in a part must have there.
    """

    k: int
    most: float = np.inf
    by_divergence: bool = False
    mixed: bool = False
    fewest: int = 1


def cut_removable_edges(
    tree: Tree,
    classes: IntArray,
    shares: FloatArray,
    removable: Removable,
    *,
    longest: bool = False,
    progress: Progress = silent,
    label: str = "cutting the tree",
) -> Cuts:
    """Cut removable edges until none is left: the one whose ratio of lost class mix to length is least, first.

    The ratio is the rise of the weighted JSD of the component through the cut, divided by the edge's length. Ties:
    the longer edge, then the lowest numbers. With `longest` only the length counts.
    """
    n = len(classes)
    forest = _forest(tree, classes, len(shares))
    _score(forest, 0, int(tree.order[0]), shares, removable, longest)
    components = 1
    while True:
        before = components
        components = _cut_some(forest, components, _CUTS_PER_CALL, shares, removable, longest)
        progress(min(1.0, components * removable.k / n), label)
        if components < before + _CUTS_PER_CALL:
            break
    progress(1.0, label)
    children = forest.root[1:components].copy()
    return Cuts(labels_of_parts(forest.parent, tree.order), children, forest.ratio_of_cut[:components][1:].copy())


class _Forest(NamedTuple):
    """Components of the tree as it is cut: by component its root and best edge, by record what hangs below it."""

    parent: IntArray
    first_child: IntArray
    next_sibling: IntArray
    length: FloatArray
    counts: IntArray
    sizes: IntArray
    root: IntArray
    best: IntArray
    ratio: FloatArray
    ratio_of_cut: FloatArray
    stack: IntArray
    rest: IntArray


def _forest(tree: Tree, classes: IntArray, number: int) -> _Forest:
    n = len(classes)
    counts = np.zeros((n, number), dtype=np.int64)
    counts[np.arange(n), classes] = 1
    forest = _Forest(
        tree.parent.copy(),
        np.full(n, -1, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        tree.length,
        counts,
        np.ones(n, dtype=np.int64),
        np.full(n, tree.order[0], dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        np.full(n, np.inf),
        np.full(n, np.inf),
        np.empty(n, dtype=np.int64),
        np.empty(number, dtype=np.int64),
    )
    _add_up(forest, tree.order)
    return forest


@kernel
def _add_up(forest: _Forest, order: IntArray) -> None:
    for at in range(order.shape[0] - 1, 0, -1):
        vertex = order[at]
        above = forest.parent[vertex]
        forest.next_sibling[vertex] = forest.first_child[above]
        forest.first_child[above] = vertex
        forest.counts[above] += forest.counts[vertex]
        forest.sizes[above] += forest.sizes[vertex]


@kernel
def _cut_some(
    forest: _Forest, components: int, cuts: int, shares: FloatArray, removable: Removable, longest: bool
) -> int:
    for _ in range(cuts):
        at = 0
        for i in range(1, components):
            if _cut_before(forest, forest.best[i], forest.ratio[i], forest.best[at], forest.ratio[at]):
                at = i
        child = forest.best[at]
        if child < 0:
            break
        forest.ratio_of_cut[components] = forest.ratio[at]
        forest.root[components] = child
        _unlink(forest, child)
        _score(forest, at, forest.root[at], shares, removable, longest)
        _score(forest, components, child, shares, removable, longest)
        components += 1
    return components


@kernel
def _cut_before(forest: _Forest, one: int, ratio: float, other: int, other_ratio: float) -> bool:
    """Whether the edge above `one` is to be cut before that above `other`; -1 is no edge."""
    if one < 0 or other < 0:
        return other < 0 <= one
    if ratio != other_ratio:
        return ratio < other_ratio
    if forest.length[one] != forest.length[other]:
        return bool(forest.length[one] > forest.length[other])
    low, other_low = min(one, forest.parent[one]), min(other, forest.parent[other])
    if low != other_low:
        return bool(low < other_low)
    return bool(max(one, forest.parent[one]) < max(other, forest.parent[other]))


@kernel
def _unlink(forest: _Forest, child: int) -> None:
    above = forest.parent[child]
    if forest.first_child[above] == child:
        forest.first_child[above] = forest.next_sibling[child]
    else:
        before = forest.first_child[above]
        while forest.next_sibling[before] != child:
            before = forest.next_sibling[before]
        forest.next_sibling[before] = forest.next_sibling[child]
    while above >= 0:
        forest.sizes[above] -= forest.sizes[child]
        forest.counts[above] -= forest.counts[child]
        above = forest.parent[above]
    forest.parent[child] = -1
    forest.next_sibling[child] = -1


@kernel
def _score(forest: _Forest, component: int, root: int, shares: FloatArray, removable: Removable, longest: bool) -> None:
    """Find the edge of a component that is to be cut first; -1 if none is removable."""
    best, best_ratio = -1, np.inf
    whole, size = forest.counts[root], forest.sizes[root]
    divergence = jensen_shannon_of(whole, size, shares)
    one_class = _is_homogeneous(whole)
    forest.stack[0] = root
    top = 1
    while top > 0:
        top -= 1
        vertex = forest.stack[top]
        below = forest.first_child[vertex]
        while below >= 0:
            if forest.sizes[below] >= removable.k:  # no part below a smaller one can be cut off
                forest.stack[top] = below
                top += 1
            below = forest.next_sibling[below]
        below_size = forest.sizes[vertex]
        if vertex == root or size - below_size < removable.k:
            continue
        forest.rest[:] = whole - forest.counts[vertex]
        if not (
            _allowed(forest.counts[vertex], below_size, shares, removable, one_class)
            and _allowed(forest.rest, size - below_size, shares, removable, one_class)
        ):
            continue
        ratio = 0.0
        if not longest:
            weighted = below_size * jensen_shannon_of(forest.counts[vertex], below_size, shares)
            weighted += (size - below_size) * jensen_shannon_of(forest.rest, size - below_size, shares)
            ratio = _ratio(weighted / size - divergence, forest.length[vertex])
        if _cut_before(forest, vertex, ratio, best, best_ratio):
            best, best_ratio = vertex, ratio
    forest.best[component], forest.ratio[component] = best, best_ratio


@kernel
def _ratio(rise: float, length: float) -> float:
    if length == 0.0:
        return _LAST
    return 0.0 if rise < _ZERO else rise / length


@kernel
def _is_homogeneous(counts: IntArray) -> bool:
    present = 0
    for held in counts:
        present += 1 if held > 0 else 0
    return present == 1


@kernel
def _allowed(counts: IntArray, size: int, shares: FloatArray, removable: Removable, one_class: bool) -> bool:
    if removable.mixed and not one_class and _is_homogeneous(counts):
        return False
    if removable.fewest > 1:
        for held in counts:
            if 0 < held < removable.fewest:
                return False
    if removable.most == np.inf:
        return True
    if removable.by_divergence:
        return jensen_shannon_of(counts, size, shares) <= removable.most + _ZERO
    apart = 0.0
    for c in range(counts.shape[0]):
        apart += abs(counts[c] / size - shares[c])
    return apart / 2.0 <= removable.most + _ZERO


def regrow(
    columns: FloatArray, labels: IntArray, classes: IntArray, shares: FloatArray, removable: Removable
) -> IntArray:
    """Give every group of 2k or more records a Euclidean tree of its own and cut it again by the ratio.

    Composite trees have hubs whose small branches cannot be cut off; a fresh tree restores small groups.
    """

    def divide(rows: IntArray) -> IntArray:
        return cut_removable_edges(euclidean_tree(columns[rows]), classes[rows], shares, removable).labels

    return divide_large(labels, removable.k, divide)
