"""Trees that cut records into leaves in which a target varies little, so that it can be drawn given other columns.

Predictors are binned first: bin 0 holds the missing cells, the others are ordered or, for nominal columns, are not. A
regression tree saves variance, a classification tree Gini impurity. With the sum S of the target (or the class counts)
of N records, both gains have one form: |S_left|^2 / N_left + |S_right|^2 / N_right - |S|^2 / N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.ordering import positions_in
from microveil.typing import BoolArray, FloatArray, IntArray

BinArray = npt.NDArray[np.uint8]

BINS = 256
_MISSING = 0
_WORDS = BINS // 64
_ROUNDING = 1e-12  # a smaller share of a node's impurity is no gain


@dataclass(frozen=True)
class Cuts:
    """How an ordered column is binned: bin 1 lies below the first of the ascending points, and so on."""

    points: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Cuts:
        """Between the distinct values where there are few of them, else at quantiles; NaN is missing."""
        distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        between = distinct[:-1] + (distinct[1:] - distinct[:-1]) / 2
        if len(distinct) <= BINS - 1:
            return cls(between)
        wanted = np.arange(1, BINS - 1) * (counts.sum() / (BINS - 1))
        positions = np.searchsorted(np.cumsum(counts), wanted)
        return cls(between[np.unique(np.minimum(positions, len(between) - 1))])

    def bins(self, values: FloatArray) -> BinArray:
        """The bin of each value.

        >>> Cuts.of(np.array([1.0, 5.0, 5.0, 9.0])).bins(np.array([0.0, 4.9, 7.1, np.nan])).tolist()
        [1, 2, 3, 0]
        """
        found = 1 + np.searchsorted(self.points, values, side="right")
        return np.where(np.isnan(values), _MISSING, found).astype(np.uint8)


def nominal_bins(codes: IntArray) -> BinArray:
    """A bin for each of the most frequent categories; the others, if there are too many, share the last one.

    >>> nominal_bins(np.array([7, -1, 2, 7])).tolist()
    [1, 0, 2, 1]
    """
    found, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    counts = np.where(found < 0, 0, counts)
    bins = np.minimum(positions_in(np.argsort(-counts, kind="stable")) + 1, BINS - 1)
    return np.where(codes < 0, _MISSING, bins[inverse.reshape(-1)]).astype(np.uint8)


class Tree(NamedTuple):
    """Nodes, the root first. An inner node sends a record left if the bin of its `column` is at most `limit`, or, where
    `limit` is -1, if the bit of that bin is set in `sets`. A leaf has column -1; its records are `rows[start:end]`,
    ascending in the target where that is a number."""

    column: npt.NDArray[np.int32]
    limit: npt.NDArray[np.int16]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    start: IntArray
    end: IntArray
    sets: npt.NDArray[np.uint64]
    rows: IntArray

    @property
    def leaf_sizes(self) -> IntArray:
        return np.asarray((self.end - self.start)[self.column < 0])


class _Target(NamedTuple):
    """What a tree is grown for: centred `values`, or class `codes`; the other is empty."""

    values: FloatArray
    codes: IntArray
    classify: bool


class _Scratch(NamedTuple):
    """Arrays that every node uses again: rows in each bin and a sum, the next row of a bin, an order of bins, which
    bins go left; rows set aside; and the classes in the node and left of a cut."""

    held: IntArray
    sums: FloatArray
    next_row: IntArray
    order: IntArray
    goes_left: BoolArray
    aside: IntArray
    in_node: IntArray
    in_left: IntArray


def grow(
    bins: BinArray,
    nominal: BoolArray,
    target: FloatArray | IntArray,
    rows: IntArray,
    *,
    leaf: int,
    evidence: float = 0.0,
) -> Tree:
    """Grow a tree on some rows of binned predictors `bins[j, i]`; whole numbers as a target are classes.

    Every leaf has at least `leaf` rows, unless there are fewer in all. A cut is made where its gain is more than
    `evidence` times the node's mean impurity; about 1 is what one cut gains by chance where there is nothing to gain.
    """
    classify = bool(np.issubdtype(target.dtype, np.integer))
    values, codes = np.zeros(0), np.zeros(0, dtype=np.int64)
    if classify:
        codes = np.zeros(len(target), dtype=np.int64)
        codes[rows] = np.unique(target[rows], return_inverse=True)[1].reshape(-1)
    else:
        values = target - (target[rows].mean() if len(rows) else 0.0)
    tree: Tree = _grow(bins, nominal, _Target(values, codes, classify), rows.copy(), leaf, evidence)
    if not classify:
        _sort_leaves(tree, target.astype(np.float64))
    return tree


@kernel
def _grow(bins: BinArray, nominal: BoolArray, target: _Target, rows: IntArray, leaf: int, evidence: float) -> Tree:
    n = len(rows)
    most = 2 * max(1, n // leaf) + 1
    column, limit = np.full(most, -1, dtype=np.int32), np.full(most, -1, dtype=np.int16)
    left, right = np.full(most, -1, dtype=np.int32), np.full(most, -1, dtype=np.int32)
    start, end = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    sets = np.zeros((most if nominal.any() else 1, _WORDS), dtype=np.uint64)
    classes = target.codes.max() + 1 if len(target.codes) > 0 else 0
    scratch = _Scratch(
        np.zeros(BINS, dtype=np.int64),
        np.zeros(BINS),
        np.zeros(BINS, dtype=np.int64),
        np.zeros(BINS, dtype=np.int64),
        np.zeros(BINS, dtype=np.bool_),
        np.empty(n, dtype=np.int64),
        np.zeros(classes, dtype=np.int64),
        np.zeros(classes, dtype=np.int64),
    )
    end[0] = n
    nodes, node = 1, 0
    while node < nodes:
        here = rows[start[node] : end[node]]
        if len(here) >= 2 * leaf:
            column[node], limit[node] = _best_cut(bins, nominal, target, here, leaf, evidence, scratch)
        if column[node] >= 0:
            if limit[node] < 0:
                for b in range(BINS):
                    if scratch.goes_left[b]:
                        sets[node, b // 64] |= np.uint64(1) << np.uint64(b % 64)
            middle = start[node] + _divide(bins[column[node]], here, scratch)
            left[node], right[node] = nodes, nodes + 1
            start[nodes], end[nodes] = start[node], middle
            start[nodes + 1], end[nodes + 1] = middle, end[node]
            nodes += 2
        node += 1
    return Tree(
        column[:nodes].copy(),
        limit[:nodes].copy(),
        left[:nodes].copy(),
        right[:nodes].copy(),
        start[:nodes].copy(),
        end[:nodes].copy(),
        sets[:nodes].copy(),
        rows,
    )


@kernel
def _best_cut(
    bins: BinArray,
    nominal: BoolArray,
    target: _Target,
    here: IntArray,
    leaf: int,
    evidence: float,
    scratch: _Scratch,
) -> tuple[int, int]:
    """The column and limit of the cut that gains most (-1 without any); `goes_left` says which bins it sends left."""
    whole, squares, common = _sums_of_node(target, here, scratch)
    before = whole * whole / len(here) if not target.classify else whole / len(here)
    impurity = squares - before
    best = max(evidence / len(here), _ROUNDING) * impurity
    best_column, best_limit = -1, -1
    for j in range(bins.shape[0] if impurity > _ROUNDING * squares else 0):
        present = _count_bins(bins[j], here, scratch)
        if nominal[j] and present > 1:
            _order_by_score(bins[j], target, here, common, scratch.order[:present], scratch)
        order = scratch.order[:present]
        gain, at = 0.0, -1
        if present > 1 and target.classify:
            gain, at = _best_class_cut(bins[j], target.codes, here, order, leaf, before, scratch)
        elif present > 1:
            gain, at = _best_value_cut(bins[j], target.values, here, order, leaf, before, whole, scratch)
        if gain > best:
            best, best_column = gain, j
            best_limit = -1 if nominal[j] else order[at]
            _mark_left(order, at, best_limit, len(here), scratch)
        for b in order:
            scratch.held[b] = 0
    if target.classify:
        for i in here:
            scratch.in_node[target.codes[i]] = 0
    return best_column, best_limit


@kernel
def _sums_of_node(target: _Target, here: IntArray, scratch: _Scratch) -> tuple[float, float, int]:
    """For values their sum and sum of squares; for classes the sum of squared counts, the number of rows, and the most
    common class, while `in_node` gets the counts."""
    whole, squares, common = 0.0, 0.0, 0
    if not target.classify:
        for i in here:
            whole += target.values[i]
            squares += target.values[i] ** 2
        return whole, squares, common
    for i in here:
        scratch.in_node[target.codes[i]] += 1
    for i in here:
        whole += scratch.in_node[target.codes[i]]  # a class adds its count as often as it occurs
        if scratch.in_node[target.codes[i]] > scratch.in_node[common]:
            common = target.codes[i]
    return whole, float(len(here)), common


@kernel
def _count_bins(bins: BinArray, here: IntArray, scratch: _Scratch) -> int:
    """Count the rows in each bin; the bins that have any, ascending, come into `order`, and how many they are."""
    first, last = BINS, -1
    for i in here:
        b = int(bins[i])
        scratch.held[b] += 1
        first, last = min(first, b), max(last, b)
    present = 0
    for b in range(first, last + 1):
        if scratch.held[b] > 0:
            scratch.order[present] = b
            present += 1
    return present


@kernel
def _order_by_score(
    bins: BinArray, target: _Target, here: IntArray, common: int, order: IntArray, scratch: _Scratch
) -> None:
    """Put the bins in the order of their mean target, or of their share of the node's most common class.

    For values and for two classes the best division into two sets, whatever their sizes, is a cut in this order.
    """
    for b in order:
        scratch.sums[b] = 0.0
    for i in here:
        if not target.classify:
            scratch.sums[bins[i]] += target.values[i]
        elif target.codes[i] == common:
            scratch.sums[bins[i]] += 1.0
    order[:] = order[np.argsort(scratch.sums[order] / scratch.held[order], kind="mergesort")]


@kernel
def _best_value_cut(
    bins: BinArray,
    values: FloatArray,
    here: IntArray,
    order: IntArray,
    leaf: int,
    before: float,
    whole: float,
    scratch: _Scratch,
) -> tuple[float, int]:
    """The greatest gain of a cut after one of the bins in order, and which."""
    held, sums = scratch.held, scratch.sums
    for b in order:
        sums[b] = 0.0
    for i in here:
        sums[bins[i]] += values[i]
    best, at = 0.0, -1
    size, taken, below = len(here), 0, 0.0
    for k in range(len(order) - 1):
        taken += held[order[k]]
        below += sums[order[k]]
        if taken >= leaf and size - taken >= leaf:
            gain = below * below / taken + (whole - below) ** 2 / (size - taken) - before
            if gain > best:
                best, at = gain, k
    return best, at


@kernel
def _best_class_cut(
    bins: BinArray, codes: IntArray, here: IntArray, order: IntArray, leaf: int, before: float, scratch: _Scratch
) -> tuple[float, int]:
    """The greatest gain of a cut after one of the bins in order, and which; rows change sides bin by bin."""
    held, next_row, classes = scratch.held, scratch.next_row, scratch.aside
    in_node, in_left = scratch.in_node, scratch.in_left
    reached = 0
    for b in order:
        next_row[b] = reached
        reached += held[b]
    left_squares, right_squares = 0, 0
    for i in here:
        classes[next_row[bins[i]]] = codes[i]
        next_row[bins[i]] += 1
        right_squares += in_node[codes[i]]
    best, at = 0.0, -1
    size, taken = len(here), 0
    for k in range(len(order) - 1):
        for r in range(taken, taken + held[order[k]]):
            left_squares += 2 * in_left[classes[r]] + 1
            right_squares -= 2 * (in_node[classes[r]] - in_left[classes[r]]) - 1
            in_left[classes[r]] += 1
        taken += held[order[k]]
        if taken >= leaf and size - taken >= leaf:
            gain = left_squares / taken + right_squares / (size - taken) - before
            if gain > best:
                best, at = gain, k
    for i in here:
        in_left[codes[i]] = 0
    return best, at


@kernel
def _mark_left(order: IntArray, at: int, limit: int, size: int, scratch: _Scratch) -> None:
    """Which bins go left; of a nominal column those that do not occur here go where most rows go."""
    if limit >= 0:
        for b in range(BINS):
            scratch.goes_left[b] = b <= limit
        return
    lefts = 0
    for b in order[: at + 1]:
        lefts += scratch.held[b]
    for b in range(BINS):
        scratch.goes_left[b] = scratch.held[b] == 0 and 2 * lefts > size
    for b in order[: at + 1]:
        scratch.goes_left[b] = True


@kernel
def _divide(bins: BinArray, here: IntArray, scratch: _Scratch) -> int:
    """Put the rows that go left before the others, each side in its former order; how many go left."""
    lefts, rights = 0, 0
    for r in range(len(here)):
        i = here[r]
        if scratch.goes_left[bins[i]]:
            here[lefts] = i
            lefts += 1
        else:
            scratch.aside[rights] = i
            rights += 1
    here[lefts:] = scratch.aside[:rights]
    return lefts


@kernel
def _sort_leaves(tree: Tree, target: FloatArray) -> None:
    for node in range(len(tree.column)):
        if tree.column[node] < 0:
            here = tree.rows[tree.start[node] : tree.end[node]]
            here[:] = here[np.argsort(target[here], kind="mergesort")]


@kernel
def leaves_of(tree: Tree, bins: BinArray) -> IntArray:
    """For each record of binned predictors `bins[j, i]` the number of its leaf."""
    leaves = np.empty(bins.shape[1], dtype=np.int64)
    for i in range(bins.shape[1]):
        node = 0
        while tree.column[node] >= 0:
            b = int(bins[tree.column[node], i])
            if tree.limit[node] >= 0:
                to_left = b <= tree.limit[node]
            else:
                to_left = (tree.sets[node, b // 64] >> np.uint64(b % 64)) & np.uint64(1) == 1
            node = int(tree.left[node] if to_left else tree.right[node])
        leaves[i] = node
    return leaves
