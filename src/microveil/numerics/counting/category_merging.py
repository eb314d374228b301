"""Greedy merging of codes: pairs of neighbours, rare codes or branches of a tree, with the least loss of entropy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.counting.equivalence_classes import agreeing_sums
from microveil.numerics.counting.local_suppression import sums_by_number
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9


@dataclass
class Column:
    """The codes of one column on their way to fewer: how often each occurs and which group it is in now.

    Codes from `len(counts)` up, and -1 for a missing cell, stand for themselves. Ordered codes merge with neighbours;
    with `levels`, an array for each level with the branch that each code is on, all codes of a branch merge at once.
    """

    counts: IntArray
    ordered: bool
    levels: Sequence[IntArray] = ()

    def __post_init__(self) -> None:
        self.group = np.arange(len(self.counts), dtype=np.int64)  # named by its first code

    def merges(self, touched: BoolArray) -> Iterator[tuple[float, IntArray]]:
        """The merges that change a group with a touched code: what they lose and the groups they join."""
        names = np.unique(self.group)
        held = np.bincount(self.group, weights=self.counts, minlength=len(self.counts)).astype(np.float64)
        is_touched = np.bincount(self.group, weights=touched, minlength=len(self.counts)) > 0
        if len(names) < 2 or not touched.any():
            return
        if len(self.levels):
            yield from self._branches(held, is_touched)
        elif self.ordered:
            for left, right in pairwise(names.tolist()):
                if is_touched[left] or is_touched[right]:
                    yield _loss(held[[left, right]]), np.array([left, right])
        else:  # of all pairs the two rarest lose least
            rarest = names[np.lexsort((names, held[names]))]
            first = rarest[is_touched[rarest]][0]
            other = rarest[rarest != first][0]
            yield _loss(held[[first, other]]), np.sort([first, other])

    def _branches(self, held: FloatArray, is_touched: BoolArray) -> Iterator[tuple[float, IntArray]]:
        for name in np.flatnonzero(is_touched):
            own = self.group == name
            for branch in self.levels:
                joined = np.unique(self.group[np.isin(branch, branch[own])])
                if len(joined) > 1:
                    yield _loss(held[joined]), joined
                    break

    def join(self, names: IntArray) -> None:
        self.group[np.isin(self.group, names)] = names[0]


def _loss(held: FloatArray) -> float:
    """How much entropy, times the number of records, is lost when groups of these sizes become one."""
    sizes = held[held > 0]
    return float(sizes.sum() * np.log(sizes.sum()) - (sizes * np.log(sizes)).sum()) if len(sizes) else 0.0


@dataclass(frozen=True)
class Wanted:
    """The rows that agree on these columns must come to at least the target, by one of the measures of each row."""

    columns: IntArray
    measure: int
    target: float


def merge_until_frequent(
    codes: IntArray,
    masses: FloatArray,
    columns: Sequence[Column],
    wanted: Sequence[Wanted],
    spare: int,
    progress: Progress = silent,
) -> int:
    """Merge in the columns, the least loss first, until at most `spare` records are in combinations that are too rare.

    Rows of `codes` have the `masses`, a column for each measure; the first of them is the number of records. Only
    merges that touch a rare combination are made. Gives the number of records still in rare combinations: more than
    `spare` where nothing is left to merge.
    """
    codes, masses = codes.copy(), masses.copy()
    at_first, done = 0, 0
    while True:
        rare = np.column_stack([_rare(codes, masses, one) for one in wanted])
        left = int(masses[rare.any(axis=1), 0].sum().round())
        if left <= spare:
            return left
        best: tuple[float, int, IntArray] | None = None
        for at, column in enumerate(columns):
            found = codes[rare[:, [at in one.columns for one in wanted]].any(axis=1), at]
            touched = np.zeros(len(column.counts), dtype=bool)
            touched[found[(found >= 0) & (found < len(touched))]] = True
            for loss, names in column.merges(touched):
                if best is None or loss < best[0]:
                    best = (loss, at, names)
        if best is None:
            return left
        _, at, names = best
        columns[at].join(names)
        codes[np.isin(codes[:, at], names), at] = names[0]
        number, first = number_rows([c + 1 for c in codes.T])
        masses, codes = sums_by_number(number, masses, len(first)), codes[first]
        at_first, done = max(at_first, left), done + 1
        progress(1.0 - left / at_first, "merging the categories with the least loss")


def _rare(codes: IntArray, masses: FloatArray, wanted: Wanted) -> BoolArray:
    """For each row, whether too little agrees with it on the wanted columns."""
    rows = codes[:, wanted.columns]
    number, first = number_rows([column + 1 for column in rows.T])
    mass = sums_by_number(number, masses[:, [wanted.measure]], len(first))
    return np.asarray(agreeing_sums(rows[first], mass)[:, 0] < wanted.target * (1.0 - _ROUNDING))[number]
