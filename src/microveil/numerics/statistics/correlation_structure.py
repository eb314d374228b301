"""What the correlations of columns say about which belong together: columns divided so that like ones are apart, and
columns of two tables matched because they are correlated in the same way."""

from __future__ import annotations

from itertools import combinations, permutations
from math import perm

import numpy as np

from microveil.numerics.statistics.scaling import standardise
from microveil.typing import BoolArray, FloatArray, IntArray

_MOST_DIVIDED_EXACTLY = 16
_MOST_MATCHINGS_TRIED = 50_000
_DECIMALS = 9  # sums in another order of the rows must not decide


def correlations(columns: FloatArray) -> FloatArray:
    """The correlations of the columns; a missing number counts as its column's mean, a constant as uncorrelated."""
    z = standardise(np.nan_to_num(standardise(columns)))
    made = np.clip((z.T @ z) / max(1, len(z)), -1.0, 1.0)
    np.fill_diagonal(made, 1.0)
    return np.asarray(made.round(_DECIMALS))


def divide(columns: FloatArray, least: float) -> tuple[IntArray, IntArray]:
    """Two sets of columns such that those correlated at least so much, either way, are in different sets.

    Columns that are correlated so much with no other are left out, unless there is none that is. Where not all pairs
    can be parted, their correlations across the two sets add up to as much as possible; of equally good divisions, the
    most even one is taken. The first column that is left is in the first set.

    >>> x, y = np.random.default_rng(1).normal(size=(2, 50))
    >>> [part.tolist() for part in divide(np.column_stack([x, y, -x]), 0.7)]
    [[0], [2]]
    """
    strength = np.abs(correlations(columns))
    np.fill_diagonal(strength, 0.0)
    strong = np.where(strength >= least, strength, 0.0)
    kept = np.flatnonzero(strong.any(axis=0)) if strong.any() else np.arange(len(strength))
    weights = (strong if strong.any() else strength)[np.ix_(kept, kept)]
    second = _best_cut(weights) if len(kept) <= _MOST_DIVIDED_EXACTLY else _improved_cut(weights)
    if second[0]:
        second = ~second
    return kept[~second], kept[second]


def _best_cut(weights: FloatArray) -> BoolArray:
    """By trying all divisions; the first column stays in the first set."""
    d = len(weights)
    sets = np.arange(2 ** (d - 1))
    inside = ((sets[:, None] >> np.arange(d - 1)) & 1).astype(np.bool_)
    second = np.column_stack([np.zeros(len(sets), dtype=np.bool_), inside])
    across = (second @ weights * ~second).sum(axis=1).round(_DECIMALS - 1)
    uneven = np.abs(2 * second.sum(axis=1) - d)
    return np.asarray(second[np.lexsort((sets, uneven, -across))[0]])


def _improved_cut(weights: FloatArray) -> BoolArray:
    """Each column, the strongest first, to where it is parted from more; then columns move while that helps."""
    second = np.zeros(len(weights), dtype=np.bool_)
    side = np.zeros(len(weights))
    for column in np.argsort(-weights.sum(axis=0), kind="stable"):
        pull = weights[column] @ side
        side[column] = -1.0 if pull > 0 or (pull == 0 and side.sum() > 0) else 1.0
    while True:
        gain = side * (weights @ side)  # what moving a column adds to the correlations across
        column = int(np.argmax(gain))
        if gain[column] <= 10.0**-_DECIMALS:
            break
        side[column] = -side[column]
    second[:] = side < 0
    return second


def match(one: FloatArray, other: FloatArray) -> IntArray:
    """For each column of the smaller table (the first, of equally wide ones) a column of the other.

    Given the correlations of the columns of each table, the matching is the one with which they differ least. All are
    tried while these are not too many, else pairs are exchanged while that helps. Of equally good ones the first in the
    order of the columns is taken.

    >>> by = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> match(by, by[np.ix_([2, 0, 1], [2, 0, 1])]).tolist()
    [1, 2, 0]
    """
    few, many = len(one), len(other)
    if few > many:
        raise ValueError("the first table is the narrower one")
    if perm(many, few) <= _MOST_MATCHINGS_TRIED:
        tried = np.array(list(permutations(range(many), few)), dtype=np.int64)
        differences = ((other[tried[:, :, None], tried[:, None, :]] - one) ** 2).sum(axis=(1, 2))
        return np.asarray(tried[np.argmin(differences.round(_DECIMALS - 1))])
    by_strength = [np.argsort(-np.abs(table).sum(axis=0), kind="stable") for table in (one, other)]
    order = np.empty(many, dtype=np.int64)
    order[:few][by_strength[0]] = by_strength[1][:few]
    order[few:] = by_strength[1][few:]
    return _exchanged(one, other, order)[:few]


def _exchanged(one: FloatArray, other: FloatArray, order: IntArray) -> IntArray:
    few = len(one)

    def difference(given: IntArray) -> float:
        chosen = given[:few]
        return float(((other[np.ix_(chosen, chosen)] - one) ** 2).sum())

    best = difference(order)
    while True:
        tried = []
        for i, j in combinations(range(len(order)), 2):
            if i < few:
                swapped = order.copy()
                swapped[[i, j]] = order[[j, i]]
                tried.append((difference(swapped), i, j))
        least, i, j = min(tried)
        if least >= best - 10.0**-_DECIMALS:
            return order
        best, order[[i, j]] = least, order[[j, i]]
