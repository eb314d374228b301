"""Which cells of a table of codes to suppress so that every row occurs often enough.

A suppressed cell is a code like any other here. So a record that changes leaves its row, and rows that are too rare are
given up altogether: their records are brought together, on as many kept columns as possible, with others that become
equal to them.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.counting.local_suppression import Rows, kept_sets, sums_by_number
from microveil.typing import BoolArray, FloatArray, IntArray

_MOST_TRIALS = 300_000_000  # how many records may be compared with rows to let them move
_FEW_ORDERS = 20_000  # up to so many rows, over all orders of giving up columns, every order is tried
_ROUNDING = 1e-9
_MULTIPLIERS = 0x2545F4914F6CDD1D, 0x369DEA0F31A53F85  # odd, with their bits mixed


class UndividedRecordsError(Exception):
    """Of records that stand for several some would have to be changed and others not."""


def suppress_for_equality(rows: Rows, suppressed_codes: IntArray, targets: FloatArray) -> BoolArray:
    """The cells to suppress, for each record; `suppressed_codes` are the codes that a suppressed cell of each column
    gets.

    The targets must be within what all records count for. Of several orders in which columns are given up, the one is
    taken that costs least.
    """
    width = rows.codes.shape[1]
    if len(rows.codes) * math.factorial(width) <= _FEW_ORDERS:
        chains = [np.array(order) for order in permutations(range(width))]
    else:
        many = np.argsort([len(np.unique(column)) for column in rows.codes.T], kind="stable")
        orders = (np.arange(width), many, many[::-1])
        chains = [order[np.argsort(rows.costs[order], kind="stable")] for order in orders]
    best, least = np.zeros((len(rows.of_record), rows.codes.shape[1]), dtype=bool), np.inf
    for tiers in (list(kept_sets(rows.costs, len(rows.codes))), *map(_chain, chains)):
        suppressed = suppressed_after_moves(
            rows, _Partition(rows, suppressed_codes, targets).found(tiers), suppressed_codes, targets
        )
        cost = float((suppressed @ rows.costs).sum())
        if cost < least:
            best, least = suppressed, cost
    return best


def _chain(order: IntArray) -> list[list[BoolArray]]:
    """One column after the other is given up."""
    tiers = []
    kept = np.ones(len(order), dtype=bool)
    for column in order:
        kept = kept.copy()
        kept[column] = False
        tiers.append([kept])
    return tiers


def _released(rows: Rows, suppressed: BoolArray, suppressed_codes: IntArray) -> tuple[IntArray, IntArray]:
    """The number of the row that each record shows when cells are suppressed, and the codes of these rows."""
    codes = np.where(suppressed, suppressed_codes, rows.codes[rows.of_record])
    number, first = number_rows(list(codes.T))
    return number, codes[first]


def suppressed_after_moves(
    rows: Rows, suppressed: BoolArray, suppressed_codes: IntArray, targets: FloatArray
) -> BoolArray:
    """The suppressed cells when records have moved to rows that show more of them, where the table is small enough to
    try."""
    hit = np.flatnonzero(suppressed.any(axis=1))
    row_of, codes = _released(rows, suppressed, suppressed_codes)
    if len(hit) == 0 or len(hit) * len(codes) > _MOST_TRIALS:
        return suppressed
    totals = sums_by_number(row_of, rows.masses / targets, len(codes))
    before = rows.codes[rows.of_record[hit]]
    whole = np.ones(len(codes), dtype=bool)  # rows of records that all have suppressed cells
    whole[np.delete(row_of, hit)] = False
    shown = row_of[hit].copy()
    _move(before, shown, codes, totals, rows.masses[hit] / targets, whole, suppressed_codes, rows.costs)
    suppressed = suppressed.copy()
    suppressed[hit] = (codes[shown] == suppressed_codes) & (before != suppressed_codes)
    return suppressed


@kernel(steps=lambda before, shown, codes, *others: 10 * before.size * len(codes))
def _move(
    before: IntArray,
    shown: IntArray,
    codes: IntArray,
    totals: FloatArray,
    masses: FloatArray,
    whole: BoolArray,
    suppressed_codes: IntArray,
    costs: FloatArray,
) -> None:
    """Move records, one by one or all of a row, to rows that cost less, as long as anything is gained."""
    records, rows = len(before), len(codes)
    target, price = np.empty(records, dtype=np.int64), np.empty(records)
    gained = True
    while gained:
        gained = False
        for r in range(records):
            target[r], price[r] = _cheapest(before[r], shown[r], codes, totals, suppressed_codes, costs)
            here = _price(before[r], codes[shown[r]], suppressed_codes, costs)
            stays = True
            for c in range(masses.shape[1]):
                stays = stays and totals[shown[r], c] - masses[r, c] >= 1.0 - _ROUNDING
            if stays and price[r] < here - _ROUNDING:
                totals[shown[r]] -= masses[r]
                totals[target[r]] += masses[r]
                shown[r] = target[r]
                gained = True
        for row in range(rows):
            if not whole[row] or totals[row, 0] <= 0.0:
                continue
            now, then = 0.0, 0.0
            for r in range(records):
                if shown[r] == row:
                    target[r], price[r] = _cheapest(before[r], row, codes, totals, suppressed_codes, costs)
                    now += _price(before[r], codes[row], suppressed_codes, costs)
                    then += price[r]
            if then < now - _ROUNDING:
                for r in range(records):
                    if shown[r] == row:
                        totals[target[r]] += masses[r]
                        shown[r] = target[r]
                totals[row] = 0.0
                gained = True


@kernel
def _cheapest(
    before: IntArray, shown: int, codes: IntArray, totals: FloatArray, suppressed_codes: IntArray, costs: FloatArray
) -> tuple[int, float]:
    """The other row that a record can show with the least suppressed."""
    best, least = -1, np.inf
    for row in range(len(codes)):
        if row != shown and totals[row, 0] > 0.0:
            price = _price(before, codes[row], suppressed_codes, costs)
            if price < least:
                best, least = row, price
    return best, least


@kernel
def _price(before: IntArray, row: IntArray, suppressed_codes: IntArray, costs: FloatArray) -> float:
    """What it costs a record to show a row; infinitely much where the row shows what it does not have."""
    price = 0.0
    for j in range(len(before)):
        if row[j] != before[j]:
            if row[j] != suppressed_codes[j]:
                return np.inf
            price += costs[j]
    return price


@kernel(steps=lambda codes, *others: 20 * codes.size)
def _enough_alike(
    codes: IntArray,
    hashed: IntArray,
    kept: BoolArray,
    waiting: BoolArray,
    there: BoolArray,
    suppressed_codes: IntArray,
    totals: FloatArray,
    least: FloatArray,
) -> BoolArray:
    """Which rows that wait reach `least`, under every measure, with all that have the same codes in the kept columns,
    those among them that are `there` already and show the others suppressed."""
    rows, measures = totals.shape
    columns, given_up = np.flatnonzero(kept), np.flatnonzero(~kept)
    size = 16
    while size < 2 * rows:
        size *= 2
    first_at = np.full(size, -1, dtype=np.int64)  # where in a table by hashed codes the first row with them is
    first = np.full(rows, -1, dtype=np.int64)
    key = np.empty(rows, dtype=np.int64)
    sums = np.zeros((rows, measures))
    for row in range(rows):
        if not waiting[row] and not (there[row] and _differ(codes[row], suppressed_codes, given_up) == 0):
            continue
        key[row] = hashed[row, -1]
        for j in given_up:
            key[row] ^= hashed[row, j]
        at = key[row] & (size - 1)
        while first_at[at] >= 0 and (
            key[row] != key[first_at[at]] or _differ(codes[row], codes[first_at[at]], columns) > 0
        ):
            at = (at + 1) & (size - 1)
        if first_at[at] < 0:
            first_at[at] = row
        first[row] = first_at[at]
        for c in range(measures):
            sums[first[row], c] += totals[row, c]
    enough = waiting.copy()
    for row in range(rows):
        for c in range(measures):
            enough[row] = enough[row] and sums[first[row], c] >= least[c]
    return enough


@kernel
def _differ(one: IntArray, other: IntArray, columns: IntArray) -> int:
    """In how many of some columns two rows are not the same."""
    found = 0
    for j in columns:
        found += one[j] != other[j]
    return found


def _hashed(codes: IntArray) -> IntArray:
    """Mixed bits for the code of each cell, and in one more column those of all cells of a row together."""
    cells = (codes + 1) * _MULTIPLIERS[0] + np.arange(1, codes.shape[1] + 1) * _MULTIPLIERS[1]
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        cells = (cells ^ (cells >> shift)) * multiplier
    cells ^= cells >> 31
    return np.column_stack([cells, np.bitwise_xor.reduce(cells, axis=1)])


class _Partition:
    """The records on their way to rows that are frequent enough."""

    def __init__(self, rows: Rows, suppressed_codes: IntArray, targets: FloatArray) -> None:
        self.rows, self.suppressed_codes, self.targets = rows, suppressed_codes, targets
        self.suppressed = np.zeros((len(rows.of_record), rows.codes.shape[1]), dtype=bool)
        self.hashed = _hashed(rows.codes)

    def found(self, tiers: list[list[BoolArray]]) -> BoolArray:
        totals = self.rows.totals
        waiting = ~self._enough(totals)
        frequent = ~waiting
        for tier in tiers:
            for kept in self._fruitful_first(tier, totals, waiting, frequent):
                joined = self._joined(kept, totals, waiting, frequent)
                if joined.any():
                    self._suppress(joined[self.rows.of_record], kept)
                    waiting = waiting & ~joined
            if not waiting.any():
                return self.suppressed
        self._complete(waiting, tiers)
        return self.suppressed

    def _enough(self, masses: FloatArray) -> BoolArray:
        return np.asarray((masses >= self.targets * (1.0 - _ROUNDING)).all(axis=1))

    def _joined(self, kept: BoolArray, totals: FloatArray, waiting: BoolArray, frequent: BoolArray) -> BoolArray:
        """The waiting rows that are frequent enough once only the kept columns are shown, some of the frequent rows
        being shown like that already."""
        least = self.targets * (1.0 - _ROUNDING)
        codes, emptied = self.rows.codes, self.suppressed_codes
        return _enough_alike(codes, self.hashed, kept, waiting, frequent, emptied, totals, least)

    def _fruitful_first(
        self, tier: list[BoolArray], totals: FloatArray, waiting: BoolArray, frequent: BoolArray
    ) -> list[BoolArray]:
        if len(tier) == 1:
            return tier
        gains = [totals[self._joined(kept, totals, waiting, frequent), 0].sum() for kept in tier]
        return [tier[at] for at in np.argsort(-np.array(gains), kind="stable") if gains[at] > 0]

    def _suppress(self, records: npt.NDArray[np.bool_ | np.int64], kept: BoolArray) -> None:
        """From now on these records show only the kept columns."""
        shown = self.rows.codes[self.rows.of_record[records]] != self.suppressed_codes
        self.suppressed[records] = ~kept & shown

    def _complete(self, waiting: BoolArray, tiers: list[list[BoolArray]]) -> None:
        """What is left over becomes equal to records that other rows can spare, or to whole rows, the rarest first."""
        left = waiting[self.rows.of_record]
        shown = self.rows.codes[self.rows.of_record]
        totals, every, none = self.rows.totals, np.ones(len(waiting), dtype=bool), np.zeros(len(waiting), dtype=bool)
        now, sizes = self._shown_now()
        for kept in (kept for tier in tiers for kept in tier):
            may = left & self._joined(kept, totals, every, none)[self.rows.of_record]
            while may.any():
                alike = (shown[:, kept] == shown[np.argmax(may), kept]).all(axis=1)
                may &= ~alike
                together = np.flatnonzero(alike & left)
                spared = self._spared(together, np.flatnonzero(alike & ~left), now, sizes.copy())
                if spared is not None:
                    self._suppress(np.concatenate([together, spared]), kept)
                    left[together] = False
                    now, sizes = self._shown_now()
        remaining = np.flatnonzero(left)
        whole, waits = remaining, np.zeros(len(sizes), dtype=bool)
        waits[now[remaining]] = True
        for row in np.argsort(sizes[:, 0], kind="stable"):
            if len(remaining) == 0 or self._enough(self.rows.masses[whole].sum(axis=0)[None])[0]:
                break
            if not waits[row]:
                whole = np.concatenate([whole, np.flatnonzero(now == row)])
        self._refuse_several(whole)
        self._suppress(whole, tiers[-1][-1])

    def _shown_now(self) -> tuple[IntArray, FloatArray]:
        """The number of the row that each record shows so far, and what each of these rows counts for."""
        now, codes = _released(self.rows, self.suppressed, self.suppressed_codes)
        return now, sums_by_number(now, self.rows.masses, len(codes))

    def _refuse_several(self, records: IntArray) -> None:
        if self.rows.several is not None and self.rows.several[records].any():
            raise UndividedRecordsError

    def _spared(self, together: IntArray, candidates: IntArray, now: IntArray, sizes: FloatArray) -> IntArray | None:
        """Candidates that their rows can do without, the largest rows first; enough to join these, or none."""
        reached, spared = self.rows.masses[together].sum(axis=0), []
        for record in candidates[np.argsort(-sizes[now[candidates], 0], kind="stable")]:
            self._refuse_several(record)
            if self._enough((sizes[now[record]] - self.rows.masses[record])[None])[0]:
                sizes[now[record]] -= self.rows.masses[record]
                reached = reached + self.rows.masses[record]
                spared.append(record)
                if self._enough(reached[None])[0]:
                    return np.array(spared, dtype=np.int64)
        return None
