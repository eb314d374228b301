"""Renamed categories of two files matched by their frequencies and joint frequencies.

A renaming keeps the partition that an attribute makes of the records. So the frequency of a category, and how its
records divide over the categories of the other attributes, are the same in both files; what has the most similar
frequencies is taken for the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microveil.typing import FloatArray, IntArray

_MOST_ASSIGNED = 2_000  # categories that are assigned by all their differences at once; more are paired in order
_MOST_COUNTS = 4_000_000  # cells of a table of two attributes; larger ones are left out
_MOST_ROUNDS = 8
_CLASSES = 8  # equal parts of an attribute with an order, beside which frequencies are counted


@dataclass(frozen=True)
class CodedAttribute:
    """An attribute of both files as category numbers 0, 1, ...; -1 where missing.

    If `comparable`, equal numbers mean the same in both files.
    """

    before: IntArray
    after: IntArray
    comparable: bool

    @classmethod
    def in_classes(cls, before: FloatArray, after: FloatArray) -> CodedAttribute:
        """An attribute with an order in equal parts, of its relative ranks from 0 to 1, NaN where missing."""
        sides = [
            np.where(np.isnan(side), -1, np.minimum(np.nan_to_num(side) * _CLASSES, _CLASSES - 1)).astype(np.int64)
            for side in (before, after)
        ]
        return cls(sides[0], sides[1], comparable=True)

    @property
    def nameless(self) -> CodedAttribute:
        """The same without knowing which category of one file is which of the other, numbered by what occurs."""
        sides = []
        for side in (self.before, self.after):
            numbered = np.full(len(side), -1, dtype=np.int64)
            numbered[side >= 0] = np.unique(side[side >= 0], return_inverse=True)[1].reshape(-1)
            sides.append(numbered)
        return CodedAttribute(sides[0], sides[1], comparable=False)

    @property
    def sizes(self) -> tuple[int, int]:
        return int(self.before.max(initial=-1)) + 1, int(self.after.max(initial=-1)) + 1


def align_categories(attributes: Sequence[CodedAttribute]) -> list[CodedAttribute]:
    """The attributes with numbers that can be compared; categories that no frequency distinguishes have one number.

    The first round compares renamed attributes with each other by their counts in order of size, which no renaming
    changes; later rounds by the categories that were found to be the same.

    >>> jobs = np.array([0, 0, 0, 1, 1, 2])
    >>> renamed = CodedAttribute(jobs, np.array([2, 2, 2, 0, 0, 1]), comparable=False)
    >>> found = align_categories([renamed])[0]
    >>> found.before.tolist() == found.after.tolist()
    True
    """
    aligned = list(attributes)
    for _ in range(_MOST_ROUNDS):
        former = aligned
        aligned = [
            attribute if attribute.comparable else _aligned(attribute, former[:j] + former[j + 1 :])
            for j, attribute in enumerate(attributes)
        ]
        if all(_same(one, other) for one, other in zip(former, aligned, strict=True)):
            break
    return aligned


def agreement(before: IntArray, after: IntArray) -> float:
    """Cohen's kappa: how much more often the numbers of the same record are equal than by chance; 1 for always.

    >>> agreement(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]))
    0.5
    """
    both = (before >= 0) & (after >= 0)
    x, y = before[both], after[both]
    if len(x) == 0:
        return 0.0
    size = int(max(x.max(), y.max())) + 1
    chance = float(np.bincount(x, minlength=size) / len(x) @ (np.bincount(y, minlength=size) / len(y)))
    return 0.0 if chance >= 1 else (float((x == y).mean()) - chance) / (1 - chance)


def _same(one: CodedAttribute, other: CodedAttribute) -> bool:
    return (
        one.comparable == other.comparable
        and np.array_equal(one.before, other.before)
        and np.array_equal(one.after, other.after)
    )


def _aligned(attribute: CodedAttribute, others: Sequence[CodedAttribute]) -> CodedAttribute:
    sizes = attribute.sizes
    if min(sizes) == 0:
        return CodedAttribute(attribute.before, attribute.after, comparable=True)
    before, after = _profiles(attribute, others)
    pairs = _assigned(before, after) if max(sizes) <= _MOST_ASSIGNED else _paired_in_order(before, after)
    number = _numbers(pairs, before, after)
    lookups = np.append(number[: sizes[0]], -1), np.append(number[sizes[0] :], -1)
    return CodedAttribute(lookups[0][attribute.before], lookups[1][attribute.after], comparable=True)


def _profiles(attribute: CodedAttribute, others: Sequence[CodedAttribute]) -> tuple[IntArray, IntArray]:
    """For each category of both files how often it occurs, alone and with the categories of other attributes."""
    sides: tuple[list[IntArray], list[IntArray]] = (
        [np.bincount(attribute.before[attribute.before >= 0], minlength=attribute.sizes[0])[:, None]],
        [np.bincount(attribute.after[attribute.after >= 0], minlength=attribute.sizes[1])[:, None]],
    )
    for other in others:
        width = max(other.sizes)
        if width == 0 or width * max(attribute.sizes) > _MOST_COUNTS:
            continue
        for side, one, beside, size in zip(
            sides, (attribute.before, attribute.after), (other.before, other.after), attribute.sizes, strict=True
        ):
            counts = _counted(one, beside, size, width)
            side.append(counts if other.comparable else -np.sort(-counts, axis=1))
    return np.hstack(sides[0]), np.hstack(sides[1])


def _counted(one: IntArray, other: IntArray, rows: int, columns: int) -> IntArray:
    both = (one >= 0) & (other >= 0)
    return np.bincount(one[both] * columns + other[both], minlength=rows * columns).reshape(rows, columns)


def _assigned(before: IntArray, after: IntArray) -> tuple[IntArray, IntArray]:
    """The one-to-one assignment with the least sum of squared differences of the roots of counts, whose variance is
    the same for rare and for frequent categories."""
    from scipy.optimize import linear_sum_assignment

    x, y = np.sqrt(before), np.sqrt(after)
    cost = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T
    rows, columns = linear_sum_assignment(cost)
    return rows.astype(np.int64), columns.astype(np.int64)


def _paired_in_order(before: IntArray, after: IntArray) -> tuple[IntArray, IntArray]:
    """The categories of both files in the order of their counts, side by side."""
    orders = [np.lexsort(counts.T[::-1]) for counts in (before, after)]
    few = min(map(len, orders))
    return orders[0][-few:], orders[1][-few:]


def _numbers(pairs: tuple[IntArray, IntArray], before: IntArray, after: IntArray) -> IntArray:
    """A number for each category of the one and then of the other file: the same for pairs, and for categories of a
    file that have the same counts throughout."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    shift, size = len(before), len(before) + len(after)
    heads, tails = [pairs[0]], [pairs[1] + shift]
    for counts, start in ((before, 0), (after, shift)):
        _, first, alike = np.unique(counts, axis=0, return_index=True, return_inverse=True)
        heads.append(np.arange(len(counts)) + start)
        tails.append(first[alike.reshape(-1)] + start)
    head, tail = np.concatenate(heads), np.concatenate(tails)
    graph = coo_array((np.ones(len(head), dtype=np.int8), (head, tail)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
