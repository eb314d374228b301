"""Which few cells of a table of codes to suppress so that no set of columns among several has a rare combination.

A suppressed cell is a wildcard (-1), which agrees with every code, or in columns of its `own` a code like any other.
Wildcards only add to what agrees, so that what is reached stays reached. A code of its own takes the record away from
where it was counted, and may break what was reached before: then all sets are gone through again until none is short.
Every such round suppresses more, and with everything suppressed all records are alike, so it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.counting.equivalence_classes import agreeing_sums
from microveil.numerics.counting.nested_local_suppression import Keys
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

_MOST_STEPS = 40_000_000  # classes that may be looked at to suppress record by record, or to take suppressions back
_MOST_CHAINS = 8  # columns that are tried as the first to be given up
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Wanted:
    """The records that agree with any one on these columns must count for at least the target together."""

    columns: IntArray
    masses: FloatArray
    target: float


@dataclass(frozen=True)
class Cells:
    """The codes of every record (-1: a wildcard), what suppressing a cell of each column costs, and what it becomes."""

    codes: IntArray
    costs: FloatArray
    own: BoolArray
    empty: IntArray

    def after(self, suppressed: BoolArray) -> IntArray:
        """The codes once these cells are suppressed."""
        return np.asarray(np.where(suppressed, self.suppressed_codes, self.codes))

    @property
    def suppressed_codes(self) -> IntArray:
        return np.asarray(np.where(self.own, self.empty, -1))

    def cost(self, suppressed: BoolArray) -> float:
        return float((suppressed @ self.costs).sum())


def suppress_for_all(cells: Cells, wanted: Sequence[Wanted], progress: Progress = silent) -> BoolArray:
    """The cells to suppress, a row for each record, so that no wanted set of columns has a rare combination.

    Every target must be within what all records count for. Of several ways the cheapest is taken.
    """
    nothing = np.zeros(cells.codes.shape, dtype=bool)
    short = [one for one in wanted if _is_short(cells.codes, one)]
    if not short:
        return nothing
    ways = [_one_after_the_other(cells, wanted, order) for order in _orders(cells, wanted)]
    progress(0.4, "finding cells to suppress")
    if cells.own.any():
        ways.append(_all_columns_together(cells, wanted))
        ways += [_column_by_column(cells, wanted, chain) for chain in _chains(cells, wanted)]
    elif _steps(cells, wanted, nothing) <= _MOST_STEPS:
        ways.append(_record_by_record(cells, wanted))
    progress(0.7, "taking back suppressions")
    found = [needed(cells, wanted, way) for way in ways]
    return min(found, key=cells.cost)


def _is_short(codes: IntArray, one: Wanted) -> bool:
    return bool((_Classes(codes, one).have < one.target * (1.0 - _ROUNDING)).any())


def _orders(cells: Cells, wanted: Sequence[Wanted]) -> list[list[int]]:
    """As they are given, and those with most records that fall short first."""
    given = list(range(len(wanted)))
    counted = [_Classes(cells.codes, one) for one in wanted]
    failing = [int(one.records[one.is_short()].sum()) for one in counted]
    worst = sorted(given, key=lambda at: -failing[at])
    return [given] if worst == given else [given, worst]


def _one_after_the_other(
    cells: Cells, wanted: Sequence[Wanted], order: Sequence[int], suppressed: BoolArray | None = None
) -> BoolArray:
    """Each set by itself with the fewest cells, and again until none is short."""
    suppressed = np.zeros(cells.codes.shape, dtype=bool) if suppressed is None else suppressed.copy()
    while True:
        before = suppressed.copy()
        for at in order:
            codes, one = cells.after(suppressed), wanted[at]
            if not _is_short(codes, one):
                continue
            keys = _keys(cells, codes, one.columns, one.masses[:, None])
            suppressed[:, one.columns] |= keys.searched(np.array([one.target]))
        if np.array_equal(before, suppressed):
            return suppressed


def _chains(cells: Cells, wanted: Sequence[Wanted]) -> list[IntArray]:
    """Orders in which columns are given up: each of the columns first, then those with most codes."""
    used = np.unique(np.concatenate([one.columns for one in wanted]))
    many = used[np.argsort([-len(np.unique(cells.codes[:, column])) for column in used], kind="stable")]
    firsts = many[:_MOST_CHAINS]
    return [np.concatenate([[first], many[many != first]]).astype(np.int64) for first in firsts]


def _column_by_column(cells: Cells, wanted: Sequence[Wanted], chain: IntArray) -> BoolArray:
    """All records of a rare combination lose the cell that most of their rare combinations have, of equals the first in
    the chain: what is emptied in one column is alike again. What is left goes one set after the other."""
    suppressed = np.zeros(cells.codes.shape, dtype=bool)
    holding = np.array([np.isin(chain, one.columns) for one in wanted], dtype=np.int64)
    while True:
        codes = cells.after(suppressed)
        short = np.column_stack([_Classes(codes, one).short_records() for one in wanted])
        gains = (short @ holding) * (codes[:, chain] != cells.suppressed_codes[chain])
        hit = np.flatnonzero(gains.any(axis=1))
        if len(hit) == 0:
            return _one_after_the_other(cells, wanted, range(len(wanted)), suppressed)
        suppressed[hit, chain[np.argmax(gains[hit] / cells.costs[chain], axis=1)]] = True


def _all_columns_together(cells: Cells, wanted: Sequence[Wanted]) -> BoolArray:
    """As if all columns were one set with the largest targets; whoever agrees on all agrees on some."""
    columns = np.unique(np.concatenate([one.columns for one in wanted]))
    targets: dict[bytes, tuple[FloatArray, float]] = {}
    for one in wanted:
        held = one.masses.tobytes()
        targets[held] = (one.masses, max(one.target, targets.get(held, (one.masses, 0.0))[1]))
    masses = np.column_stack([mass for mass, _ in targets.values()])
    suppressed = np.zeros(cells.codes.shape, dtype=bool)
    keys = _keys(cells, cells.codes, columns, masses)
    suppressed[:, columns] = keys.searched(np.array([target for _, target in targets.values()]))
    return suppressed


def _keys(cells: Cells, codes: IntArray, columns: IntArray, masses: FloatArray) -> Keys:
    rows = codes[:, columns]
    of_record, first = number_rows([column + 1 for column in rows.T])
    return Keys(rows[first], of_record, masses, cells.costs[columns], cells.own[columns], cells.empty[columns])


class _Classes:
    """The combinations that one wanted set counts, kept up to date while cells of single records change.

    `mass` is what records with exactly this combination count for, `have` what agrees with it.
    """

    def __init__(self, codes: IntArray, wanted: Wanted) -> None:
        rows = codes[:, wanted.columns]
        self.of_record, first = number_rows([column + 1 for column in rows.T])
        self.wanted, self.codes = wanted, rows[first]
        self.records = np.bincount(self.of_record, minlength=len(first)).astype(np.int64)
        self.mass = np.bincount(self.of_record, weights=wanted.masses, minlength=len(first)).astype(np.float64)
        self.have = agreeing_sums(self.codes, self.mass[:, None])[:, 0]
        self._number = {tuple(row): at for at, row in enumerate(self.codes.tolist())}
        self._least = wanted.target * (1.0 - _ROUNDING)
        self._exact = not (self.codes < 0).any()  # no wildcard among them

    def is_short(self) -> BoolArray:
        return np.asarray((self.have < self._least) & (self.records > 0))

    def short_records(self) -> IntArray:
        """1 for each record whose combination falls short."""
        return self.is_short()[self.of_record].astype(np.int64)

    def lacks(self, record: int) -> bool:
        return bool(self.have[self.of_record[record]] < self._least)

    def agreeing(self, row: IntArray) -> BoolArray:
        return np.asarray(((self.codes == row) | (self.codes < 0) | (row < 0)).all(axis=1))

    def share_with(self, row: IntArray) -> float:
        """How much of the target would agree with a record that shows this row, at most 1."""
        have = float(self.mass[self.agreeing(row)].sum())
        return 1.0 if have >= self._least else have / self.wanted.target

    def allows(self, record: int, row: IntArray) -> bool:
        """Whether no combination falls short when a record shows this row instead of its own."""
        mass, before = self.wanted.masses[record], self.of_record[record]
        if self._exact:  # then a combination agrees with itself alone
            after = self._number.get(tuple(row.tolist()))
            enough = (0.0 if after is None else self.mass[after]) + mass >= self._least
            return bool(enough and (self.records[before] == 1 or self.mass[before] - mass >= self._least))
        was, becomes = self.agreeing(self.codes[before]), self.agreeing(row)
        loses = was & ~becomes
        held = self.records.copy()
        held[before] -= 1
        if (loses & (held > 0) & (self.have - mass < self._least)).any():
            return False
        others = self.mass[becomes].sum() - (mass if becomes[before] else 0.0)
        return bool(others + mass >= self._least)

    def move(self, record: int, row: IntArray) -> None:
        """Let a record show this row."""
        mass, before = self.wanted.masses[record], self.of_record[record]
        after = self._number_of(row)
        if self._exact:
            self.have[before] -= mass
            self.have[after] += mass
        else:
            was, becomes = self.agreeing(self.codes[before]), self.agreeing(self.codes[after])
            self.have[was & ~becomes] -= mass
            self.have[becomes & ~was] += mass
        self.mass[before] -= mass
        self.mass[after] += mass
        self.records[before] -= 1
        self.records[after] += 1
        self.of_record[record] = after

    def _number_of(self, row: IntArray) -> int:
        found = self._number.setdefault(tuple(row.tolist()), len(self.codes))
        if found == len(self.codes):
            self._exact = self._exact and bool((row >= 0).all())
            self.have = np.append(self.have, self.mass[self.agreeing(row)].sum())
            self.codes = np.concatenate([self.codes, row[None]])
            self.mass, self.records = np.append(self.mass, 0.0), np.append(self.records, 0)
        return found


class _Joint:
    """All wanted sets together, and the codes that records show."""

    def __init__(self, codes: IntArray, wanted: Sequence[Wanted]) -> None:
        self.codes = codes
        self.classes = [_Classes(codes, one) for one in wanted]
        self._holding = np.array([np.isin(np.arange(codes.shape[1]), one.columns) for one in wanted])

    def _touched(self, row: IntArray, record: int) -> list[_Classes]:
        changed = self._holding[:, self.codes[record] != row].any(axis=1)
        return [self.classes[at] for at in np.flatnonzero(changed)]

    def show(self, record: int, row: IntArray) -> None:
        for one in self._touched(row, record):
            one.move(record, row[one.wanted.columns])
        self.codes[record] = row

    def try_to_show(self, record: int, row: IntArray) -> bool:
        """Let a record show this row if nothing falls short by it."""
        if all(one.allows(record, row[one.wanted.columns]) for one in self._touched(row, record)):
            self.show(record, row)
            return True
        return False


def _record_by_record(cells: Cells, wanted: Sequence[Wanted]) -> BoolArray:
    """Each record in turn, that with most sets that fall short first, loses the cell that helps most of them."""
    joint = _Joint(cells.codes.copy(), wanted)
    failing = np.sum([one.short_records() for one in joint.classes], axis=0)
    unsafe = np.flatnonzero(failing)
    for record in unsafe[np.lexsort((unsafe, -failing[unsafe]))].tolist():
        while lacking := [one for one in joint.classes if one.lacks(record)]:
            row = joint.codes[record].copy()
            row[_most_helpful(cells, row, lacking)] = -1
            joint.show(record, row)
    return np.asarray(joint.codes != cells.codes)


def _most_helpful(cells: Cells, row: IntArray, lacking: Sequence[_Classes]) -> int:
    """The column whose cell brings the sets that fall short nearest to their targets, for its cost."""
    gains = np.zeros(len(row))
    for one in lacking:
        for column in one.wanted.columns:
            if row[column] >= 0:
                trial = row.copy()
                trial[column] = -1
                share = one.share_with(trial[one.wanted.columns])
                gains[column] += 1.0 if share >= 1.0 else share / 2.0  # nearly enough is not half as good
    gains[row < 0] = -1.0
    return int(np.argmax(gains / cells.costs))


def needed(cells: Cells, wanted: Sequence[Wanted], suppressed: BoolArray) -> BoolArray:
    """The suppressions that are left when every one is taken back that no set needs, where the table is small enough
    to try."""
    if _steps(cells, wanted, suppressed) > _MOST_STEPS:
        return suppressed
    joint = _Joint(cells.after(suppressed), wanted)
    hit = np.flatnonzero(suppressed.any(axis=1))
    dearest = np.argsort(-cells.costs, kind="stable")
    for record in hit[np.argsort(-(suppressed[hit] @ cells.costs), kind="stable")].tolist():
        if joint.try_to_show(record, cells.codes[record]):
            continue
        for column in dearest[suppressed[record][dearest]]:
            row = joint.codes[record].copy()
            row[column] = cells.codes[record, column]
            joint.try_to_show(record, row)
    return np.asarray(joint.codes != cells.codes)


def _steps(cells: Cells, wanted: Sequence[Wanted], suppressed: BoolArray) -> int:
    """About how many classes are looked at when every record that falls short, or is suppressed, is gone through."""
    codes = cells.after(suppressed)
    counted = [_Classes(codes, one) for one in wanted]
    failing = np.sum([one.short_records() for one in counted], axis=0) + suppressed.sum(axis=1)
    return int(failing.sum()) * sum(len(one.codes) for one in counted)
