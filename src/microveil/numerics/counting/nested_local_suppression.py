"""Which cells to suppress so that a smaller k never takes more than a larger one.

What is found for a larger k serves a smaller one too. The search for one k does not know that: emptier records agree
with more others, so that it may find less for k = 5 than for k = 2. Therefore all k up to 10 are searched from the top
down, and each takes what was found for the next, less the suppressions that it does not need, unless its own search
finds something cheaper. Beyond 10 one goes upwards, from level to level, and a level that would take less than the one
below it adds to what that one has. Levels do not depend on the k that is asked for; a k between two gets the higher
one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.counting.equivalence_classes import agreeing_sums
from microveil.numerics.counting.exact_local_suppression import suppress_for_equality, suppressed_after_moves
from microveil.numerics.counting.local_suppression import Rows, needed_suppressions, suppress_for_agreement
from microveil.progress import Progress, parts, silent
from microveil.typing import BoolArray, FloatArray, IntArray

_TOP = 10  # up to here levels are searched downwards, and every whole number is one
_EVERY = 50  # so far every whole number is a level where a search is short
_SHORT = 20_000  # rows times kept sets
_COARSE = (12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Keys:
    """Rows of codes (-1: a wildcard), the row of each record, and how suppressed cells count.

    A suppressed cell in a column of its `own` is the code `empty`, in others a wildcard. With `alone` nobody is helped
    by the suppressions of others. A record that is `several` stands for equal ones of the table.
    """

    codes: IntArray
    of_record: IntArray
    masses: FloatArray
    costs: FloatArray
    own: BoolArray
    empty: IntArray
    alone: bool = False
    several: BoolArray | None = None

    @property
    def sizes(self) -> FloatArray:
        """What the records of each row count for together, under the first measure."""
        return np.asarray(np.bincount(self.of_record, weights=self.masses[:, 0], minlength=len(self.codes)))

    def cost(self, suppressed: BoolArray) -> float:
        return float((suppressed @ self.costs).sum())

    def after(self, suppressed: BoolArray) -> Keys:
        """The keys once these cells are suppressed."""
        codes = np.where(suppressed, np.where(self.own, self.empty, -1), self.codes[self.of_record])
        of_record, first = _numbered(codes)
        return replace(self, codes=codes[first], of_record=of_record)

    def searched(self, targets: FloatArray, progress: Progress = silent) -> BoolArray:
        """Cells to suppress for these targets alone.

        Columns whose suppressed cells are codes of their own come first: once every combination of these is frequent
        enough, suppressing others can always reach the targets.
        """
        suppressed = np.zeros((len(self.of_record), len(self.own)), dtype=bool)
        if self.own.any():
            suppressed[:, self.own] = suppress_for_equality(self._of_own(), self.empty[self.own], targets)
        if not self.own.all():
            rows = self.after(suppressed)._of_wildcards()
            have = agreeing_sums(rows.codes, rows.totals)
            suppressed |= suppress_for_agreement(rows, have, targets, alone=self.alone, progress=progress)
        return suppressed

    def needed(self, suppressed: BoolArray, targets: FloatArray) -> BoolArray:
        """Of suppressions that reach the targets those that are left when others are taken back."""
        if self.own.all():
            return suppressed_after_moves(self._of_own(), suppressed, self.empty, targets)
        if self.alone:
            return suppressed
        of_own = suppressed & self.own
        return of_own | needed_suppressions(self.after(of_own)._of_wildcards(), suppressed & ~self.own, targets)

    def _of_own(self) -> Rows:
        of_row, first = _numbered(self.codes[:, self.own])
        codes, of_record = self.codes[first][:, self.own], of_row[self.of_record]
        return Rows(codes, of_record, self.masses, self.costs[self.own], self.several)

    def _of_wildcards(self) -> Rows:
        return Rows(self.codes, self.of_record, self.masses, np.where(self.own, np.inf, self.costs))

    @property
    def enough(self) -> FloatArray:
        """What agrees with the row that has least, under each measure."""
        rows = self._of_wildcards()
        return np.asarray(agreeing_sums(rows.codes, rows.totals).min(axis=0))


def levels(records: int, *, short: bool) -> list[int]:
    """The numbers of records that are searched for.

    >>> levels(70, short=False)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70]
    """
    every = _EVERY if short else _TOP
    found = list(range(1, min(every, records) + 1))
    scale = 1
    while found[-1] < records:
        found += [scale * level for level in _COARSE if found[-1] < scale * level < records]
        if found[-1] < records <= 100 * scale:
            found.append(records)
        scale *= 10
    return found


def highest_level(k: int) -> int:
    """A number of records above which no combination loses a cell when it is searched for k."""
    return max(_TOP, 2 * k)


def suppress_nested(keys: Keys, targets: FloatArray, progress: Progress = silent) -> BoolArray:
    """The cells to suppress, for each record, so that at least `targets` agree with it; the first of them is k.

    For a larger k the suppressions cost as much or more, whichever two are compared.
    """
    nothing = np.zeros((len(keys.of_record), len(keys.own)), dtype=bool)
    if (keys.enough >= targets * (1.0 - _ROUNDING)).all():
        return nothing
    if keys.alone and not keys.own.any():
        return keys.searched(targets, progress)  # every record by itself loses more for a larger k
    short = len(keys.codes) << min(len(keys.own), 30) <= _SHORT
    ladder = levels(round(keys.masses[:, 0].sum()), short=short)
    wanted = next(level for level in ladder if level >= targets[0])
    top = min(_TOP, ladder[-1])
    way = list(range(top, wanted - 1, -1)) or [top, *(level for level in ladder if top < level <= wanted)]
    made = nothing
    for position, (level, part) in enumerate(zip(way, parts(progress, len(way)), strict=True)):
        asked = np.concatenate([[float(level)], targets[1:]])
        found = keys.searched(asked, part)
        if position == 0:
            made = found
        elif wanted <= top:
            made = min((found, keys.needed(made, asked)), key=keys.cost)
        else:
            less = keys.cost(found) < keys.cost(made) - _ROUNDING
            made = made | keys.after(made).searched(asked) if less else found
    return made


def _numbered(codes: IntArray) -> tuple[IntArray, IntArray]:
    """The number of each row of codes from -1 up, and a row that has it."""
    return number_rows([column + 1 for column in codes.T])
