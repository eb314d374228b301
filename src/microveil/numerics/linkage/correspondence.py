"""Whether the records of two files are in the same order and, if not, which records belong together.

Files are matrices of codes, a row for each attribute: equal codes are equal cells, -1 is an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.typing import BoolArray, FloatArray, IntArray

RANK_DEVIATION = 12**-0.5  # of relative ranks, from 0 to 1
_CHANCE = log(100.0)  # one in a hundred records may fit another one so well by chance
_LEAST_DISPLACED = 0.05  # of the sampled records, if their own fit no better than any
_AT_RANDOM = 0.9  # of all records fit no better than a record of random rank
_ONE_TO_ONE = 0.5  # of the records displaced, more must point to different ones
_SHUFFLES = 100
_NO_ASSOCIATION = 4.0  # standard deviations of what chance makes
_MOST_ASSIGNED = 500  # records that are assigned by all their distances at once
_KEPT = 0.95  # an attribute is unmasked if it agrees in so many records
_SAME_ROWS = 0.9  # of all records must occur in both files, on the attributes that were left alone


@dataclass(frozen=True)
class Compared:
    """An attribute of both files: relative ranks, from 0 to 1, or values with their deviation; or codes. NaN where
    missing. `cost` is that of a difference, for each released record."""

    before: FloatArray
    after: FloatArray
    ordered: bool
    cost: FloatArray

    @classmethod
    def in_order(cls, before: FloatArray, after: FloatArray) -> Compared:
        """The mean squared difference of two random relative ranks is 1/6, so that a random rank costs 1."""
        return cls(before, after, ordered=True, cost=np.full(len(after), 6.0))

    @classmethod
    def as_codes(cls, before: IntArray, after: IntArray) -> Compared:
        """A rare code tells more, and costs as much: -ln of its share in the original."""
        counts = np.bincount(before + 1, minlength=int(after.max(initial=-1)) + 2)
        cost = -np.log(np.maximum(counts[after + 1], 1) / max(1, len(before)))
        known, released = (np.where(side < 0, np.nan, side) for side in (before, after))
        return cls(known, released, ordered=False, cost=cost)


@dataclass(frozen=True)
class Pointers:
    """Where some released records point to: the score of the own original and of the best other one, how much better
    than the own the other must be, what the share `_AT_RANDOM` of all originals does not exceed, and which is best."""

    own: FloatArray
    best: FloatArray
    needed: FloatArray
    usual: FloatArray
    target: IntArray

    @property
    def displaced(self) -> BoolArray:
        """The records that fit another original far better than chance makes any, and far better than their own."""
        return np.asarray(self.best - self.own >= self.needed)

    @property
    def are_disordered(self) -> bool:
        """Whether most records are displaced, or some whose own original fits no better than a random one.

        Exchanges of single values leave a record the rest of its own; groups that publish a record of theirs point
        to the same original.
        """
        displaced = self.displaced
        strangers = displaced & (self.own <= self.usual)
        different = len(np.unique(self.target[displaced]))
        enough = displaced.mean() > 0.5 or (strangers.mean() >= _LEAST_DISPLACED and strangers.sum() > 1)
        return bool(enough and different > _ONE_TO_ONE * displaced.sum())


def pointers(before: IntArray, after: IntArray, sampled: IntArray) -> Pointers:
    """For each of these released records the originals it fits, by the information in the cells on which both agree.

    A cell tells -ln of its share in the original. For independent attributes the chance that a random record reaches a
    sum s is at most the product of (2 - share) times exp(-s).
    """
    attributes, records = before.shape
    sorted_rows, starts, information = [], [], []
    for codes, released in zip(before, after, strict=True):
        order = np.argsort(codes, kind="stable")
        size = int(max(codes.max(initial=-1), released.max(initial=-1))) + 1
        start = np.searchsorted(codes[order], np.arange(size))
        share = np.diff(start, append=records) / records
        sorted_rows.append(order)
        starts.append(np.append(start, records))
        information.append(-np.log(np.maximum(share, 1.0 / records)))
    found = []
    for record in sampled:
        score, allowance = np.zeros(records), log(records) + _CHANCE
        for j in range(attributes):
            code = after[j, record]
            if code < 0 or starts[j][code] == starts[j][code + 1]:
                continue  # no original has it
            told = information[j][code]
            score[sorted_rows[j][starts[j][code] : starts[j][code + 1]]] += told
            allowance += log(2.0 - np.exp(-told))
        own, score[record] = score[record], -np.inf
        best = int(score.argmax())
        score[record] = own
        found.append((own, score[best] if best != record else own, allowance, np.quantile(score, _AT_RANDOM), best))
    columns = np.array(found).reshape(len(sampled), 5).T
    return Pointers(columns[0], columns[1], columns[2], columns[3], columns[4].astype(np.int64))


def association(before: FloatArray | IntArray, after: FloatArray | IntArray, rng: np.random.Generator) -> float | None:
    """By how many standard deviations of chance the cells of the same records have more to do with each other; None
    where they cannot have.

    Numbers by their ranks; codes by how often they are equal, and by their table (the sum of n_ab^2 / n_a n_b), which
    does not depend on what they are called.
    """
    if before.dtype.kind == "f":
        both = ~(np.isnan(before) | np.isnan(after))
        x, y = before[both], after[both]
        if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return None
        return abs(float(np.corrcoef(x, y)[0, 1])) * float(np.sqrt(len(x) - 1))
    both = (before >= 0) & (after >= 0)
    x, y = (np.unique(side[both], return_inverse=True)[1].reshape(-1) for side in (before, after))
    equal, held = before[both], after[both]
    if len(x) < 3:
        return None
    found = [_above_chance(lambda order: float((equal == held[order]).sum()), len(x), rng)]
    found.append(_above_chance(lambda order: _table_statistic(x, y[order]), len(x), rng))
    told = [one for one in found if one is not None]
    return max(told) if told else None


def _table_statistic(x: IntArray, y: IntArray) -> float:
    cells, counts = np.unique(x * (int(y.max()) + 1) + y, return_counts=True)
    rows, columns = np.divmod(cells, int(y.max()) + 1)
    return float((counts**2 / (np.bincount(x)[rows] * np.bincount(y)[columns])).sum())


def _above_chance(statistic: Callable[[IntArray], float], records: int, rng: np.random.Generator) -> float | None:
    observed = statistic(np.arange(records))
    shuffled = np.array([statistic(rng.permutation(records)) for _ in range(_SHUFFLES)])
    spread = float(shuffled.std(ddof=1))
    if spread <= 1e-12 * max(1.0, abs(observed)):
        return None if abs(observed - float(shuffled.mean())) <= 1e-9 * max(1.0, abs(observed)) else np.inf
    return (observed - float(shuffled.mean())) / spread


def is_associated(columns: Sequence[tuple[FloatArray | IntArray, FloatArray | IntArray]], seed: int = 0) -> bool | None:
    """Whether any attribute of the same records has to do with itself in the other file; None if nothing can tell."""
    rng = np.random.default_rng(seed)
    told = False
    for before, after in columns:
        found = association(before, after, rng)
        if found is not None and found >= _NO_ASSOCIATION:
            return True
        told |= found is not None
    return False if told else None


def unmasked_attributes(before: IntArray, after: IntArray, sampled: IntArray, found: Pointers) -> list[int]:
    """The attributes in which displaced records agree with the originals they point to: these were not masked."""
    rows, targets = sampled[found.displaced], found.target[found.displaced]
    return [j for j in range(len(before)) if (before[j, targets] == after[j, rows]).mean() >= _KEPT]


def attributes_with_same_rows(before: IntArray, after: IntArray) -> list[int]:
    """The attributes with the same values in both files, if their combinations are the same too; else none."""
    same = [j for j in range(len(before)) if np.array_equal(np.sort(before[j]), np.sort(after[j]))]
    if not same:
        return []
    return same if have_same_rows(before[same], after[same]) else []


def have_same_rows(before: IntArray, after: IntArray) -> bool:
    """Whether nearly every record of one file has an equal one of its own in the other, on at least one attribute."""
    if len(before) == 0:
        return False
    one, other = combination_numbers(before, after)
    size = int(max(one.max(initial=0), other.max(initial=0))) + 1
    common = np.minimum(np.bincount(one, minlength=size), np.bincount(other, minlength=size)).sum()
    return bool(common >= _SAME_ROWS * before.shape[1])


def combination_numbers(before: IntArray, after: IntArray) -> tuple[IntArray, IntArray]:
    """The records of both files numbered by what they hold in all attributes."""
    both = np.hstack([before, after]) + 1
    numbers, _ = number_rows(list(both))
    return numbers[: before.shape[1]], numbers[before.shape[1] :]


def matched_by_content(before: IntArray, after: IntArray, kept: Sequence[int], others: Sequence[Compared]) -> IntArray:
    """For each released record an original of its own: one that agrees on all attributes `kept`, and among these the
    nearest by the other attributes; what is left over goes to the nearest of the originals left over.

    In large classes the nearest are found part by part, the parts being cut alike in both files. The order of the files
    plays no part.
    """
    records = before.shape[1]
    # by content, so that the same records are assigned in whatever order they come
    orders = [np.lexsort(codes[::-1]) for codes in (before, after)]
    classes = combination_numbers(before[list(kept)], after[list(kept)]) if kept else (np.zeros(records, np.int64),) * 2
    known, released = (order[np.argsort(of[order], kind="stable")] for order, of in zip(orders, classes, strict=True))
    size = int(max(of.max(initial=0) for of in classes)) + 1
    ends = [np.cumsum(np.bincount(of, minlength=size)) for of in classes]
    target = np.full(records, -1, dtype=np.int64)
    lefts: tuple[list[IntArray], list[IntArray]] = ([], [])
    starts = [np.concatenate([[0], end[:-1]]) for end in ends]
    single = (ends[0] - starts[0] == 1) & (ends[1] - starts[1] == 1)
    target[released[starts[1][single]]] = known[starts[0][single]]
    for number in np.flatnonzero(~single):
        one = known[starts[0][number] : ends[0][number]]
        other = released[starts[1][number] : ends[1][number]]
        _assign(one, other, others, target)
        lefts[0].append(np.setdiff1d(one, target[other], assume_unique=True))
        lefts[1].append(other[target[other] < 0])
    rest = [np.concatenate([np.empty(0, np.int64), *part]) for part in lefts]
    if len(rest[1]):
        kept_too = [Compared.as_codes(before[j], after[j]) for j in kept]
        _assign(rest[0], rest[1], [*others, *kept_too], target)
    return target


def _assign(known: IntArray, released: IntArray, by: Sequence[Compared], target: IntArray) -> None:
    """Give each of these released records one of the known ones, as far as there are enough."""
    from scipy.optimize import linear_sum_assignment

    cut_by = [attribute for attribute in by if attribute.ordered] or list(by)
    waiting = [(known, released, 0)]
    while waiting:
        one, other, depth = waiting.pop()
        few = min(len(one), len(other))
        if few == 0:
            continue
        if not by:
            target[other[:few]] = one[:few]
        elif max(len(one), len(other)) <= _MOST_ASSIGNED:
            rows, columns = linear_sum_assignment(_distances(one, other, by))
            target[other[columns]] = one[rows]
        else:
            waiting += [(*halves, depth + 1) for halves in _halves(one, other, cut_by[depth % len(cut_by)])]


def _halves(known: IntArray, released: IntArray, by: Compared) -> list[tuple[IntArray, IntArray]]:
    one, other = (
        records[np.argsort(np.nan_to_num(column[records], nan=-np.inf), kind="stable")]
        for records, column in ((known, by.before), (released, by.after))
    )
    return [(one[: len(one) // 2], other[: len(other) // 2]), (one[len(one) // 2 :], other[len(other) // 2 :])]


def _distances(known: IntArray, released: IntArray, by: Sequence[Compared]) -> FloatArray:
    apart = np.zeros((len(known), len(released)))
    for attribute in by:
        gap = np.abs(attribute.before[known][:, None] - attribute.after[released])
        differs = gap**2 if attribute.ordered else (gap > 0).astype(np.float64)
        apart += np.where(np.isnan(gap), 1.0, attribute.cost[released] * differs)
    return apart
