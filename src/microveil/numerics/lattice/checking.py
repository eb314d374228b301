"""One node of the lattice of levels: which classes hold, which records are suppressed, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from microveil.numerics.lattice.classes import (
    Levels,
    Records,
    joined_by_class,
    kept_at,
    sufficient,
    sums_by_class,
)
from microveil.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9


def _no_values() -> IntArray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Utility:
    """What a released record keeps, so that the sum over all records is the utility of a release: 1 is the original.

    `cells` has it for each attribute, level and code, as `Records.flat` has the codes; `of_size` by the number of
    records in the record's class. Both never rise with the level or the size, and a suppressed record keeps nothing.
    """

    cells: FloatArray
    of_size: FloatArray | None = None

    def of_sizes(self, sizes: FloatArray) -> FloatArray:
        """What one record of a class of each of these sizes keeps by it."""
        return np.zeros(len(sizes)) if self.of_size is None else self.of_size[sizes.astype(np.int64)]


@dataclass(frozen=True)
class Demands:
    """What every class of a release has to fulfil, and the share of the records that may be suppressed for it.

    `least` are the least amounts of a class and `distinct` the least numbers of distinct confidential values; a class
    that has them has them with further records too. `further` says of classes of all rows whether they fulfil what such
    a class may lose by further records, though not by joining another class that fulfils it. `average` is the highest
    mean of 1 / (size of the class) over all records. `of_sizes` says of the sizes of all classes, that of suppressed
    records among them, whether the release as a whole fulfils what is asked of it; it does where no class has a single
    record.
    """

    least: FloatArray
    distinct: IntArray = field(default_factory=_no_values)
    of_word: IntArray = field(default_factory=_no_values)
    further: Callable[[IntArray, int], BoolArray] | None = None
    average: float = 1.0
    suppression: float = 1.0
    of_sizes: Callable[[IntArray], bool] | None = None

    @property
    def counts_only(self) -> bool:
        """Whether nothing is asked for but numbers of records."""
        plain = len(self.least) == 1 and not len(self.distinct) and self.average >= 1.0
        return plain and self.further is None and self.of_sizes is None

    def allows(self, sizes: FloatArray, together: BoolArray) -> bool:
        """Whether the sizes of the released classes and of all suppressed records are those that are asked for."""
        if self.of_sizes is None:
            return True
        suppressed = sizes[together].sum()
        return self.of_sizes(np.append(sizes[~together], [suppressed] if suppressed else []).astype(np.int64))

    def sufficient(self, labels: IntArray, number: int, amounts: FloatArray, held: np.ndarray) -> BoolArray:
        """Which classes have the least amounts and distinct values."""
        joined = joined_by_class(labels, number, held)
        least = self.least - _ROUNDING * np.maximum(1.0, self.least) * (np.arange(len(self.least)) > 0)
        return sufficient(sums_by_class(labels, number, amounts), least, joined, self.of_word, self.distinct)

    def allowed(self, number: float) -> float:
        """How many of so many records may be suppressed."""
        return self.suppression * number + _ROUNDING


@dataclass(frozen=True)
class Solution:
    """A node of the lattice that was checked: what a release at these levels keeps, if it fulfils the demands."""

    levels: Levels
    utility: float
    suppressed: int
    classes: int
    satisfies: bool


@dataclass(frozen=True)
class Checked:
    """The same with the class of each row of the records; -1 for those that are suppressed."""

    solution: Solution
    labels: IntArray


def check(records: Records, utility: Utility, demands: Demands, levels: Levels) -> Checked:
    """Group the records at these levels and suppress those in classes that do not fulfil the demands.

    The suppressed records are a class too: whoever does not find a record in any other class knows that it is there. So
    the smallest of the other classes are suppressed with them until they fulfil what every class has to. Where sizes
    are not those that are asked for, all classes of a single record are suppressed.
    """
    rows = np.arange(len(records.codes))
    labels, first = records.classes(rows, levels)
    sizes = sums_by_class(labels, len(first), records.amounts)[:, 0]
    holds = _fulfilled(records, demands, labels, len(first))
    holds &= sizes >= _smallest_size(sizes[holds], demands.average)
    together = _joined_until_fulfilled(records, demands, labels, sizes, holds)
    if together is not None and not demands.allows(sizes, together):
        holds &= sizes >= 2
        together = _joined_until_fulfilled(records, demands, labels, sizes, holds, 2)
    if together is None:
        return Checked(Solution(levels, 0.0, int(sizes[~holds].sum()), int(holds.sum()), False), labels)
    released = ~together
    suppressed = float(sizes[together].sum())
    of_row = released[labels]
    kept = kept_at(records.codes, rows, records.begin(levels), utility.cells) + utility.of_sizes(sizes)[labels]
    value = float((records.amounts[:, 0] * kept)[of_row].sum())
    satisfies = suppressed <= demands.allowed(records.number)
    solution = Solution(levels, value, round(suppressed), int(released.sum()), bool(satisfies))
    return Checked(solution, np.where(of_row, labels, -1))


def _fulfilled(records: Records, demands: Demands, labels: IntArray, number: int) -> BoolArray:
    holds = demands.sufficient(labels, number, records.amounts, records.held)
    return holds & demands.further(labels, number) if demands.further is not None else holds


def _smallest_size(sizes: FloatArray, average: float) -> float:
    """From which size on classes can be released so that the mean risk of their records is at most this.

    The mean of 1 / size over records is the number of classes over that of records, so the smallest classes cost most.
    """
    distinct, number = np.unique(sizes, return_counts=True)
    classes = np.cumsum(number[::-1])[::-1]
    members = np.cumsum((number * distinct)[::-1])[::-1]
    low_enough = np.flatnonzero(classes <= average * members + _ROUNDING)
    return float(distinct[low_enough[0]]) if len(low_enough) else np.inf


def _joined_until_fulfilled(
    records: Records, demands: Demands, labels: IntArray, sizes: FloatArray, holds: BoolArray, least: int = 1
) -> BoolArray | None:
    """Which classes are suppressed so that together they have so many records and fulfil the demands, if any do."""
    together = ~holds
    waiting = np.flatnonzero(holds)[np.argsort(sizes[holds], kind="stable")]
    for following in (*waiting, -1):
        if not together.any():
            return together
        as_one = np.where(together[labels], 0, 1)
        number = sizes[together].sum()
        large = number >= least and number * demands.average >= 1.0 - _ROUNDING
        if large and _fulfilled(records, demands, as_one, 2)[0]:
            return together
        together[following] |= following >= 0
    return None
