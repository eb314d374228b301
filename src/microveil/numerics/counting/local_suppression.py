"""Which few cells of a table of codes to suppress so that every row agrees with enough others.

A row is the codes of one combination of values; a missing cell (-1) agrees with every code. `masses` say what a record
counts for under each of one or more measures, and `targets` how much must agree with every record. Suppressing a cell
never takes anything from another row, so what is reached stays reached. A *kept set* says which columns a record still
shows.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.counting.equivalence_classes import agree, bit_fields, pack, packed_agree, sums_by_pairs
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

_ALL_SETS = 14  # up to so many columns every kept set is tried
_FEW_SUPPRESSED = 3  # with more columns those that suppress so many at most
_MOST_ROWS = 2_000_000_000  # how many rows may be searched over all kept sets
_MOST_TRIALS = 1_000_000_000  # how many pairs of rows may be compared to take suppressions back
_FEW_TRIALS = 20_000_000  # up to so many comparisons other ways are tried too
_ROUNDING = 1e-9
_NONE, _SEVERAL = -1, -2  # in place of the one column in which two rows differ


@dataclass(frozen=True)
class Rows:
    """Distinct rows of codes, the row and the masses of each record, and what suppressing a cell of each column costs.

    A column that must not be suppressed has the cost infinity. A record that is `several` stands for equal ones of the
    table, from which none can be taken.
    """

    codes: IntArray
    of_record: IntArray
    masses: FloatArray
    costs: FloatArray
    several: BoolArray | None = None

    @property
    def totals(self) -> FloatArray:
        """What the records of each row count for together, under each measure."""
        return sums_by_number(self.of_record, self.masses, len(self.codes))

    def groups(self, kept: BoolArray) -> tuple[IntArray, IntArray, int]:
        """The rows whose kept codes are all known, the number of each one's combination of them, and their count."""
        columns = np.flatnonzero(kept)
        rows = np.flatnonzero((self.codes[:, columns] >= 0).all(axis=1))
        if len(columns) == 0 or len(rows) == 0:
            return rows, np.zeros(len(rows), dtype=np.int64), min(1, len(rows))
        number, first = number_rows([self.codes[rows, j] for j in columns])
        return rows, number, len(first)


def sums_by_number(number: IntArray, masses: FloatArray, count: int) -> FloatArray:
    """The masses of what has each number, a column for each measure."""
    sums = [np.bincount(number, weights=mass, minlength=count) for mass in masses.T]
    return np.column_stack(sums).astype(np.float64)


def kept_sets(costs: FloatArray, rows: int) -> Iterator[list[BoolArray]]:
    """Sets of columns to keep, those alike in what suppressing the others costs together, from the cheapest up.

    The last keeps only the columns that must not be suppressed. Nothing suppressed at all is not among them.
    """
    free = np.flatnonzero(np.isfinite(costs))
    most = len(free) if len(free) <= _ALL_SETS else _FEW_SUPPRESSED
    chosen = [choice for size in range(1, most + 1) for choice in combinations(free.tolist(), size)]
    by_cost = sorted((round(float(costs[list(choice)].sum()), 9), choice) for choice in chosen)
    budget = max(len(free), _MOST_ROWS // max(1, rows * len(costs)))
    tiers: dict[float, list[BoolArray]] = {}
    for cost, choice in by_cost[:budget]:
        tiers.setdefault(cost, []).append(_without(len(costs), choice))
    yield from tiers.values()
    if len(by_cost) > budget or most < len(free):
        cheapest = free[np.argsort(costs[free], kind="stable")]
        for size in range(1, len(free) + 1):
            yield [_without(len(costs), cheapest[:size])]


def _without(size: int, suppressed: object) -> BoolArray:
    kept = np.ones(size, dtype=bool)
    kept[np.asarray(suppressed, dtype=np.int64)] = False
    return kept


def suppress_for_agreement(
    rows: Rows, have: FloatArray, targets: FloatArray, *, alone: bool = False, progress: Progress = silent
) -> BoolArray:
    """The cells to suppress, for each record, so that at least `targets` agree with it; `have` is what agrees now.

    Only records that lack something lose cells, and none loses more than it needs for itself. One that keeps its codes
    is helped by those suppressed around it, so the records whose suppression helps most for their cost come first, and
    what turns out not to be needed is taken back. With `alone` nobody is helped: each record that lacks something loses
    the cheapest cells such that enough records, with the codes they had, agree with what it still shows.
    """
    suppressed = np.zeros((len(rows.of_record), rows.codes.shape[1]), dtype=bool)
    lacking = np.asarray((have < targets * (1.0 - _ROUNDING)).any(axis=1))
    if not lacking.any():
        return suppressed
    choices = _choices(rows, lacking, targets, progress)
    unsafe = np.flatnonzero(lacking)
    position = np.full(len(rows.codes), -1, dtype=np.int64)
    position[unsafe] = np.arange(len(unsafe))
    records = np.flatnonzero(lacking[rows.of_record])
    records = records[np.lexsort((records, position[rows.of_record[records]]))]
    starts = np.searchsorted(position[rows.of_record[records]], np.arange(len(unsafe) + 1))
    if alone:
        kept = choices.first(len(unsafe))[position[rows.of_record[records]]]
        suppressed[records] = ~kept & (rows.codes[rows.of_record[records]] >= 0)
        return suppressed
    need = np.maximum(targets - have[unsafe], 0.0) / targets
    moved, group = _cover(
        rows.codes[unsafe],
        choices.starts,
        choices.members,
        choices.candidates,
        choices.costs,
        need,
        starts,
        rows.masses[records] / targets,
    )
    kept = choices.kept[choices.kept_of_group[group]]
    suppressed[records[moved]] = ~kept & (rows.codes[rows.of_record[records[moved]]] >= 0)
    progress(0.8, "taking back suppressions")
    costs = np.where(np.isfinite(rows.costs), rows.costs, 0.0)
    found = [needed_suppressions(rows, suppressed, targets)]
    if len(records) * (len(rows.codes) + len(records)) * rows.codes.shape[1] <= _FEW_TRIALS:
        rarest = records[np.lexsort((records, have[rows.of_record[records], 0]))]
        for part, order in enumerate((np.sort(records), rarest, rarest[::-1])):
            found.append(needed_suppressions(rows, _one_by_one(rows, order, targets), targets))
            progress(0.85 + 0.05 * part, "trying other orders")
    return min(found, key=lambda cells: float((cells @ costs).sum()))


@dataclass(frozen=True)
class _Choices:
    """Groups of unsafe rows that are equal on a kept set on which enough records agree."""

    kept: BoolArray  # the kept sets, one a row
    kept_of_group: IntArray
    costs: FloatArray  # of each group: what suppressing the other columns costs
    starts: IntArray
    members: IntArray
    candidates: BoolArray  # of each member: whether this is one of the cheapest sets for itself

    def first(self, rows: int) -> BoolArray:
        """A cheapest kept set for each row."""
        group = np.repeat(np.arange(len(self.costs)), np.diff(self.starts))[self.candidates]
        members = self.members[self.candidates]
        chosen = np.empty(rows, dtype=np.int64)
        chosen[members[::-1]] = self.kept_of_group[group[::-1]]
        return self.kept[chosen]


def _choices(rows: Rows, lacking: BoolArray, targets: FloatArray, progress: Progress) -> _Choices:
    totals = rows.totals
    position = np.cumsum(lacking) - 1
    waiting = lacking.copy()
    sets: list[BoolArray] = []
    of_group, costs, sizes, members, candidates = [], [], [], [], []
    for tier in kept_sets(rows.costs, len(rows.codes)):
        found = np.zeros(len(lacking), dtype=bool)
        for kept in tier:
            known, number, count = rows.groups(kept)
            enough = (sums_by_number(number, totals[known], count) >= targets * (1.0 - _ROUNDING)).all(axis=1)
            useful = enough & (np.bincount(number, weights=waiting[known], minlength=count) > 0)
            inside = useful[number] & lacking[known]
            if not inside.any():
                continue
            member, number = known[inside], number[inside]
            order = np.argsort(number, kind="stable")
            member, number = member[order], number[order]
            begins = np.flatnonzero(np.diff(number, prepend=-1))
            sizes.append(np.diff(begins, append=len(number)))
            of_group.append(np.full(len(begins), len(sets)))
            costs.append(np.full(len(begins), rows.costs[~kept].sum()))
            members.append(position[member])
            candidates.append(waiting[member])
            sets.append(kept)
            found[member] = True
        waiting &= ~found
        progress(0.7 * (1.0 - waiting.sum() / lacking.sum()), "finding cells to suppress")
        if not waiting.any():
            break
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return _Choices(
        np.array(sets),
        np.concatenate(of_group).astype(np.int64),
        np.concatenate(costs).astype(np.float64),
        starts.astype(np.int64),
        np.concatenate(members).astype(np.int64),
        np.concatenate(candidates),
    )


@kernel
def _cover(
    codes: IntArray,
    starts: IntArray,
    members: IntArray,
    candidates: BoolArray,
    costs: FloatArray,
    need: FloatArray,
    record_starts: IntArray,
    masses: FloatArray,
) -> tuple[IntArray, IntArray]:
    """Suppress cells of record after record, where it helps most rows for its cost, until no row needs anything.

    Gives the records suppressed and the group whose kept set each one got, without those found to be unnecessary.
    """
    rows, measures = need.shape
    left = np.diff(record_starts)
    worth = np.empty(rows)
    lacks = np.ones(rows, dtype=np.bool_)
    now = need.copy()
    for q in range(rows):
        worth[q] = left[q] / max(1.0, np.max(need[q]) / max(_ROUNDING, np.min(masses[record_starts[q]])))
    ends = starts[1:].copy()
    members, candidates = members.copy(), candidates.copy()
    heap = [(0.0, -1)]
    for g in range(len(costs)):
        value = 1.0
        for i in range(starts[g], starts[g + 1]):
            value += worth[members[i]]
        heap.append((-value / costs[g], g))
    heapq.heapify(heap)
    moved, group = [0], [0]
    moved.pop()
    group.pop()
    while len(heap) > 0:
        _, g = heapq.heappop(heap)
        if g < 0:
            break
        value, best = 1.0, -1
        i = starts[g]
        while i < ends[g]:
            q = members[i]
            if not lacks[q]:
                last = ends[g] - 1
                members[i], members[last] = members[last], members[i]
                candidates[i], candidates[last] = candidates[last], candidates[i]
                ends[g] = last
                continue
            value += worth[q]
            if candidates[i] and (best < 0 or (np.max(now[q]), -q) > (np.max(now[best]), -best)):
                best = q
            i += 1
        if best < 0:
            continue
        ratio = -(value - worth[best]) / costs[g]
        if len(heap) > 0 and heap[0] < (ratio, g):
            heapq.heappush(heap, (ratio, g))
            continue
        record = record_starts[best + 1] - left[best]
        moved.append(record)
        group.append(g)
        left[best] -= 1
        if left[best] == 0:
            lacks[best] = False
        for i in range(starts[g], ends[g]):
            q = members[i]
            if agree(codes[q], codes[best]):
                continue  # nothing new: it was counted already
            done = True
            for c in range(measures):
                now[q, c] -= masses[record, c]
                done = done and now[q, c] <= _ROUNDING
            if done:
                lacks[q] = False
        heapq.heappush(heap, (ratio, g))
    records, groups = np.array(moved), np.array(group)
    needed = _needed(codes, starts, members, costs, need.copy(), left, record_starts, masses, records, groups)
    return records[needed], groups[needed]


@kernel
def _needed(
    codes: IntArray,
    starts: IntArray,
    members: IntArray,
    costs: FloatArray,
    need: FloatArray,
    left: IntArray,
    record_starts: IntArray,
    masses: FloatArray,
    moved: IntArray,
    group: IntArray,
) -> BoolArray:
    """Which suppressed records must stay so, tried from the most costly and latest on."""
    measures = need.shape[1]
    owner = np.searchsorted(record_starts, moved, side="right") - 1
    for t in range(len(moved)):
        for i in range(starts[group[t]], starts[group[t] + 1]):
            if not agree(codes[members[i]], codes[owner[t]]):  # as a row does with itself
                need[members[i]] -= masses[moved[t]]
    stays = np.ones(len(moved), dtype=np.bool_)
    order = np.argsort(-costs[group][::-1], kind="mergesort")
    for at in order:
        t = len(moved) - 1 - at
        p, g, mass = owner[t], group[t], masses[moved[t]]
        free = True
        for c in range(measures):
            free = free and need[p, c] <= _ROUNDING
        i = starts[g]
        while free and i < starts[g + 1]:
            q = members[i]
            if left[q] > 0 and not agree(codes[q], codes[p]):
                for c in range(measures):
                    free = free and need[q, c] + mass[c] <= _ROUNDING
            i += 1
        if free:
            stays[t] = False
            left[p] += 1
            for i in range(starts[g], starts[g + 1]):
                if not agree(codes[members[i]], codes[p]):
                    need[members[i]] += mass
    return stays


def _apart(rows: Rows, records: IntArray) -> tuple[IntArray, FloatArray]:
    """Codes and masses of units: each of these records by itself, then the other records of each row together."""
    together = np.ones(len(rows.of_record), dtype=bool)
    together[records] = False
    size = len(rows.codes)
    others = np.flatnonzero(np.bincount(rows.of_record[together], minlength=size))
    totals = sums_by_number(rows.of_record[together], rows.masses[together], size)
    codes = np.concatenate([rows.codes[rows.of_record[records]], rows.codes[others]])
    return codes, np.concatenate([rows.masses[records], totals[others]])


def _one_by_one(rows: Rows, order: IntArray, targets: FloatArray) -> BoolArray:
    """Each record in turn loses cells, the one that makes most agree first, until enough agree with it."""
    before, masses = _apart(rows, order)
    codes = before.copy()
    _suppress_in_turn(codes, masses / targets, len(order), rows.costs)
    suppressed = np.zeros((len(rows.of_record), codes.shape[1]), dtype=bool)
    suppressed[order] = (codes != before)[: len(order)]
    return suppressed


def needed_suppressions(rows: Rows, suppressed: BoolArray, targets: FloatArray) -> BoolArray:
    """The suppressions that remain when every one is taken back that is not needed, where the table is small enough to
    try.

    Here all suppressions are counted for all rows, while they may have been chosen by what agreed before any was made.
    """
    hit = np.flatnonzero(suppressed.any(axis=1))
    with_missing = len(hit) + int((rows.codes < 0).any(axis=1).sum())
    if (int(suppressed.sum()) + len(hit) + with_missing) * (len(rows.codes) + len(hit)) > _MOST_TRIALS:
        return suppressed
    before, masses = _apart(rows, hit)
    codes = before.copy()
    codes[: len(hit)][suppressed[hit]] = -1
    costs = np.where(np.isfinite(rows.costs), rows.costs, 0.0)
    order = np.argsort(-(suppressed[hit].astype(np.float64) @ costs), kind="stable")
    _take_back(codes, before[: len(hit)], masses / targets, order, np.argsort(-costs, kind="stable"))
    suppressed = suppressed.copy()
    suppressed[hit] = (codes != before)[: len(hit)]
    return suppressed


@kernel
def _suppress_in_turn(codes: IntArray, masses: FloatArray, records: int, costs: FloatArray) -> None:
    units, width = codes.shape
    have = sums_by_pairs(codes, masses, records)
    own = np.empty((width, masses.shape[1]))  # what agrees once a cell is suppressed
    for one in range(records):
        while np.min(have[one]) < 1.0 - _ROUNDING:
            own[:] = 0.0
            for other in range(units):
                apart = _only_difference(codes[one], codes[other])
                if apart == _NONE:
                    own += masses[other]
                elif apart != _SEVERAL:
                    own[apart] += masses[other]
            best, cheap, most = -1, 0.0, 0.0
            for j in range(width):
                if codes[one, j] >= 0 and np.isfinite(costs[j]):
                    # a cell that is enough comes before one that is not, then the cheaper one, then the more agree
                    agreeing = np.min(own[j])
                    worth = 1.0 / costs[j] if agreeing >= 1.0 - _ROUNDING else 0.0
                    if best < 0 or worth > cheap or (worth == cheap and agreeing > most):
                        best, cheap, most = j, worth, agreeing
            for other in range(units):
                if _only_difference(codes[one], codes[other]) == best:
                    have[one] += masses[other]
                    have[other] += masses[one]
            codes[one, best] = -1


@kernel
def _only_difference(one: IntArray, other: IntArray) -> int:
    """The one column in which two rows do not agree, or `_NONE` or `_SEVERAL`."""
    found = _NONE
    for j in range(len(one)):
        if one[j] != other[j] and one[j] >= 0 and other[j] >= 0:
            if found != _NONE:
                return _SEVERAL
            found = j
    return found


@kernel
def _take_back(codes: IntArray, before: IntArray, masses: FloatArray, order: IntArray, dearest: IntArray) -> None:
    """Give rows of `codes`, as far as they stand in `before`, their codes again where everything stays at 1 or more."""
    have = sums_by_pairs(codes, masses, len(before))
    units, width = codes.shape
    highest = np.zeros(width, dtype=np.int64)
    for j in range(width):
        highest[j] = max(np.max(codes[:, j]), np.max(before[:, j])) if len(before) else 0
    fields = bit_fields(highest)
    keys = np.empty((units + 1, fields[-1, 0] + 1), dtype=np.int64)  # packed rows, and last the one that is tried
    known = np.empty_like(keys)
    for one in range(units):
        pack(codes[one], fields, keys[one], known[one])
    trial = np.empty(width, dtype=codes.dtype)
    agreeing = np.empty(units, dtype=np.int64)  # the others that agree with a row: with a cell more, only some do
    for one in order:
        count = 0
        for other in range(units):
            if other != one and packed_agree(keys, known, one, other):
                agreeing[count] = other
                count += 1
        trial[:] = before[one]
        pack(trial, fields, keys[units], known[units])
        if _try(keys, known, have, masses, one, agreeing[:count]) >= 0:
            codes[one] = trial
            continue
        for j in dearest:
            if codes[one, j] < 0 and before[one, j] >= 0:
                trial[:] = codes[one]
                trial[j] = before[one, j]
                pack(trial, fields, keys[units], known[units])
                left = _try(keys, known, have, masses, one, agreeing[:count])
                if left >= 0:
                    codes[one] = trial
                    count = left


@kernel
def _try(keys: IntArray, known: IntArray, have: FloatArray, masses: FloatArray, one: int, agreeing: IntArray) -> int:
    """Show a row's trial, the last of the packed rows, if everything stays at 1 or more: how many agree with it then,
    which stand first in `agreeing`, or -1 where it is not shown."""
    measures, trial = masses.shape[1], len(keys) - 1
    own = masses[one].copy()
    for other in agreeing:
        if packed_agree(keys, known, trial, other):
            own += masses[other]
        else:
            for c in range(measures):
                if have[other, c] - masses[one, c] < 1.0 - _ROUNDING:
                    return -1
    for c in range(measures):
        if own[c] < 1.0 - _ROUNDING:
            return -1
    left = 0
    for other in agreeing:
        if packed_agree(keys, known, trial, other):
            agreeing[left] = other
            left += 1
        else:
            have[other] -= masses[one]
    have[one] = own
    keys[one], known[one] = keys[trial], known[trial]
    return left
