"""A population of masked files of numbers whose loss and risk follow every change of a cell.

The loss is IL, the mean of IL1 to IL5 with each bounded by 100; the risk is half interval disclosure by rank and half
linkage by distance, in which every masked record looks for the original nearest to it on the original's scale. Each
slot keeps the order of its columns, its sums of first and second moments about the original's means (in two numbers
each, so that thousands of changes leave no trace of rounding) and each record's chance to be linked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.exact_sums import add_exactly
from microveil.numerics.evolution.categorical_measures import WIDTHS
from microveil.numerics.evolution.exchanges import exchanged_of
from microveil.numerics.evolution.link_credits import (
    CERTAIN,
    Originals,
    link_credit,
    link_credits,
    originals_of,
    set_credit,
)
from microveil.numerics.neighbours.mixed_distance import SQUARED, Table, Terms
from microveil.numerics.statistics.scaling import Scaling
from microveil.typing import FloatArray, IntArray

_ROUNDING = 1e-12  # of what a moment is made of: a smaller one is rounding, and counts as 0
OrderArray = npt.NDArray[np.int32]


class NumberFiles(NamedTuple):
    """What all slots share, and what each slot has; slots beyond the population are for children that are tried."""

    original: FloatArray
    original_order: OrderArray  # of each attribute, by record
    within: IntArray  # how many widths reach over so many ranks
    widths: int
    mean: FloatArray
    deviation: FloatArray
    before: FloatArray  # means, covariances (each pair once) and correlations of the original
    originals: Originals
    # by slot
    cells: FloatArray
    order: OrderArray
    ends: FloatArray  # the least and the greatest value of each attribute
    found: IntArray  # cells in intervals, over all widths
    sums: FloatArray  # of relative changes, first and second moments; high and low parts
    chances: IntArray
    credit: IntArray


def number_files(original: FloatArray, population: FloatArray, spare: int = 2) -> NumberFiles:
    """A population of masked files, shape (files, records, attributes), measured, with spare slots behind."""
    files, n, d = population.shape
    slots = files + spare
    scaling = Scaling.of(original)
    deviation = np.where(scaling.deviation > 0, scaling.deviation, 1.0)
    none = np.zeros(d)
    terms = Terms(np.full(d, SQUARED), none, none, np.zeros(d, dtype=np.bool_), none)
    known = _table((original - scaling.mean) / deviation)
    reaches = np.array([int(width * n / 100) for width in WIDTHS])
    cells = np.zeros((slots, n, d))
    cells[:files] = population
    order = np.argsort(original, axis=0, kind="stable").T.astype(np.int32)
    state = NumberFiles(
        original=np.ascontiguousarray(original, dtype=np.float64),
        original_order=np.ascontiguousarray(order),
        within=(np.arange(n + 1)[:, None] <= reaches).sum(axis=1).astype(np.int64),
        widths=len(reaches),
        mean=scaling.mean,
        deviation=deviation,
        before=np.zeros(d + d * (d + 1)),
        originals=originals_of(known, terms),
        cells=cells,
        order=np.zeros((slots, d, n), dtype=np.int32),
        ends=np.zeros((slots, d, 2)),
        found=np.zeros((slots, d), dtype=np.int64),
        sums=np.zeros((slots, 2, 2 * d + d * (d + 1) // 2)),
        chances=np.zeros((slots, n), dtype=np.int64),
        credit=np.zeros(slots, dtype=np.int64),
    )
    # the moments of the original, in the first slot before a file is there
    state.cells[0] = original
    count_numbers(state, 0)
    state.before[:] = _moments(state.mean, state.ends[0], state.sums[0, 0], n)
    state.cells[0] = population[0]
    for slot in range(files):
        masked = _table((population[slot] - scaling.mean) / deviation)
        state.chances[slot] = link_credits(masked, known, terms)
        count_numbers(state, slot)
    return state


def _table(cells: FloatArray) -> Table:
    columns = np.ascontiguousarray(cells.T)
    return Table(columns, np.zeros(columns.shape, dtype=np.uint8))


# --- sums ----------------------------------------------------------------------------------------------------------


def count_numbers(state: NumberFiles, slot: int) -> None:
    """All sums and orders of a slot from its cells and the chances of its records."""
    state.order[slot] = np.argsort(state.cells[slot], axis=0, kind="stable").T
    _sum_rows(state.original, state.mean, state.cells[slot], state.sums[slot])
    for j in range(state.original.shape[1]):
        _measure_intervals(state, slot, j)
    state.credit[slot] = state.chances[slot].sum()


@kernel
def _sum_rows(original: FloatArray, mean: FloatArray, cells: FloatArray, sums: FloatArray) -> None:
    sums[:] = 0.0
    for r in range(len(cells)):
        _add_row(original[r], mean, cells[r], sums, 1.0)


@kernel
def _change(x: float, value: float) -> float:
    """The relative change of a value; that of 0 counts as none."""
    return abs(x - value) / abs(x) if x != 0.0 else 0.0


@kernel
def _add_row(original: FloatArray, mean: FloatArray, row: FloatArray, sums: FloatArray, sign: float) -> None:
    d = len(row)
    at = 2 * d
    for j in range(d):
        add_exactly(sums, j, sign * _change(original[j], row[j]))
        apart = row[j] - mean[j]
        add_exactly(sums, d + j, sign * apart)
        for k in range(j, d):
            add_exactly(sums, at, sign * (apart * (row[k] - mean[k])))
            at += 1


@kernel
def _moments(mean: FloatArray, ends: FloatArray, sums: FloatArray, n: int) -> FloatArray:
    """Means, covariances (each pair once, variances included) and correlations (1 on the diagonal or 0)."""
    d = len(mean)
    pairs = d * (d + 1) // 2
    found = np.zeros(d + 2 * pairs)
    varies = np.empty(d, dtype=np.bool_)
    for j in range(d):
        low, high = ends[j, 0], ends[j, 1]
        varies[j] = low < high
        middle = mean[j] + sums[d + j] / n if varies[j] else low
        found[j] = middle if abs(middle) >= _ROUNDING * max(abs(low), abs(high)) else 0.0
    at, deviations = 0, np.zeros(d)
    for j in range(d):
        for k in range(j, d):
            if varies[j] and varies[k] and n > 1:
                found[d + at] = (sums[2 * d + at] - sums[d + j] * sums[d + k] / n) / (n - 1)
            if k == j:
                found[d + at] = max(found[d + at], 0.0)
                deviations[j] = np.sqrt(found[d + at])
            at += 1
    at = 0
    for j in range(d):
        for k in range(j, d):
            scale = deviations[j] * deviations[k]
            if abs(found[d + at]) < _ROUNDING * scale:
                found[d + at] = 0.0
            correlation = found[d + at] / scale if scale > 0.0 else 0.0
            if abs(abs(correlation) - 1.0) < _ROUNDING:
                correlation = np.sign(correlation)
            found[d + pairs + at] = correlation
            at += 1
    return found


@kernel
def _measure_intervals(state: NumberFiles, slot: int, j: int) -> None:
    n = len(state.original)
    values = np.empty(n)
    for p in range(n):
        values[p] = state.cells[slot, state.order[slot, j, p], j]
    _measure_column(state, slot, j, values)


@kernel
def _measure_column(state: NumberFiles, slot: int, j: int, values: FloatArray) -> None:
    """How many original values lie in the intervals around their masked ones, over all widths, and the ends of the
    column, whose values are given in order.

    An interval reaches some ranks up and down. A value x is inside from the reach on that lets the lower end fall to
    the last masked value that is not above x, and the upper end rise to the first that is not below it.
    """
    state.ends[slot, j, 0], state.ends[slot, j, 1] = values[0], values[-1]
    original, order = state.original[:, j], state.original_order[j]
    state.found[slot, j] = _cells_inside(original, order, state.within, state.order[slot, j], values)


@kernel
def _cells_inside(
    original: FloatArray, original_order: OrderArray, within: IntArray, order: OrderArray, values: FloatArray
) -> int:
    n = len(values)
    below, up_to = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)  # masked values < x and <= x
    under, reached = 0, 0
    for i in original_order:
        x = original[i]
        while under < n and values[under] < x:
            under += 1
        reached = max(reached, under)
        while reached < n and values[reached] <= x:
            reached += 1
        below[i], up_to[i] = under, reached
    total, first = 0, 0
    while first < n:
        last = first + 1
        while last < n and values[last] == values[first]:
            last += 1
        low, high = (first + 1 + last) // 2, (first + 2 + last) // 2  # the mean rank, rounded down and up
        for p in range(first, last):
            i = order[p]
            if up_to[i] > 0 and below[i] < n:
                total += within[max(0, low - up_to[i], below[i] + 1 - high)]
        first = last
    return total


@kernel
def measure_numbers(state: NumberFiles, slot: int, other: float) -> tuple[float, float]:
    """Loss and risk of a slot; `other` is the risk by another linkage, with which that by distance is averaged."""
    n, d = state.original.shape
    pairs, before, after = (
        d * (d + 1) // 2,
        state.before,
        _moments(state.mean, state.ends[slot], state.sums[slot, 0], n),
    )
    parts = np.zeros(5)
    for j in range(d):
        parts[0] += state.sums[slot, 0, j] / n / d
        if before[j] != 0.0:
            parts[1] += abs(before[j] - after[j]) / abs(before[j]) / d
    at = 0
    for j in range(d):
        for k in range(j, d):
            one, correlation = before[d + at], before[d + pairs + at]
            changed = abs(one - after[d + at]) / abs(one) if one != 0.0 else 0.0
            parts[2] += changed / pairs
            if k == j:
                parts[3] += changed / d
            else:
                parts[4] += abs(correlation - after[d + pairs + at]) / (pairs - d)
            at += 1
    loss = 0.0
    for part in parts:
        loss += 100.0 * min(1.0, part) / 5.0
    interval = 100.0 * state.found[slot].sum() / (float(n) * d * state.widths)
    linked = 100.0 * (state.credit[slot] / (float(n) * CERTAIN))
    return loss, interval / 2.0 + (linked + (linked if np.isnan(other) else other)) / 4.0


# --- changes -------------------------------------------------------------------------------------------------------


@kernel
def chance_of_numbers(state: NumberFiles, r: int, row: FloatArray) -> int:
    """The chance that a record with these numbers is linked to its original."""
    return link_credit(state.originals, r, (row - state.mean) / state.deviation)


@kernel
def change_number(state: NumberFiles, slot: int, r: int, j: int, value: float, credit: int) -> None:
    """Put a number into a cell; a `credit` below 0 means that the record's chance to be linked is not known yet."""
    row, sums, d = state.cells[slot, r], state.sums[slot], state.original.shape[1]
    before, after = row[j] - state.mean[j], value - state.mean[j]
    add_exactly(sums, j, -_change(state.original[r, j], row[j]))
    add_exactly(sums, j, _change(state.original[r, j], value))
    add_exactly(sums, d + j, -before)
    add_exactly(sums, d + j, after)
    for k in range(d):
        one, two = min(j, k), max(j, k)
        at = 2 * d + one * d - one * (one - 1) // 2 + two - one
        beside = row[k] - state.mean[k]
        add_exactly(sums, at, -(before * (before if k == j else beside)))
        add_exactly(sums, at, after * (after if k == j else beside))
    row[j] = value
    _put_in_order(state, slot, r, j)
    _measure_intervals(state, slot, j)
    if credit < 0:
        credit = chance_of_numbers(state, r, row)
    set_credit(state.credit, state.chances, slot, slot, r, credit)


@kernel
def _put_in_order(state: NumberFiles, slot: int, r: int, j: int) -> None:
    """Move a record whose value has changed to its place in the order."""
    order, n = state.order[slot, j], len(state.original)
    value, p = state.cells[slot, r, j], 0
    while order[p] != r:
        p += 1
    while p > 0 and state.cells[slot, order[p - 1], j] > value:
        order[p] = order[p - 1]
        p -= 1
    while p < n - 1 and state.cells[slot, order[p + 1], j] < value:
        order[p] = order[p + 1]
        p += 1
    order[p] = r


@kernel
def cross_numbers(state: NumberFiles, one: int, other: int, first: int, last: int, child: int, second: int) -> None:
    """The sums and orders of the two files that come out when two slots exchange the cells from `first` to `last`, in
    the slots `child` and `second`. Of their cells nothing is written, of their chances only those of the records that
    are exchanged in part."""
    d = state.original.shape[1]
    state.sums[child], state.sums[second] = state.sums[one], state.sums[other]
    state.credit[child], state.credit[second] = state.credit[one], state.credit[other]
    moved, gained = np.zeros((2, state.sums.shape[2])), 0
    for r in range(first // d, last // d + 1):
        mine, theirs = state.cells[one, r], state.cells[other, r]
        low, high = exchanged_of(r, d, first, last)
        same = True
        for j in range(low, high + 1):
            same = same and mine[j] == theirs[j]
        if low == 0 and high == d - 1:
            if not same:
                _add_row(state.original[r], state.mean, theirs, moved, 1.0)
                _add_row(state.original[r], state.mean, mine, moved, -1.0)
                gained += state.chances[other, r] - state.chances[one, r]
            continue
        left, right = mine.copy(), theirs.copy()
        left[low : high + 1], right[low : high + 1] = theirs[low : high + 1], mine[low : high + 1]
        for slot, parent, row in ((child, one, left), (second, other, right)):
            credit = state.chances[parent, r]
            if not same:
                _add_row(state.original[r], state.mean, state.cells[parent, r], state.sums[slot], -1.0)
                _add_row(state.original[r], state.mean, row, state.sums[slot], 1.0)
                credit = chance_of_numbers(state, r, row)
            set_credit(state.credit, state.chances, slot, parent, r, credit)
    for slot, parent, donor, sign in ((child, one, other, 1), (second, other, one, -1)):
        for at in range(moved.shape[1]):
            add_exactly(state.sums[slot], at, sign * moved[0, at])
            add_exactly(state.sums[slot], at, sign * moved[1, at])
        state.credit[slot] += sign * gained
        for j in range(d):
            begin, end = (first - j + d - 1) // d, (last - j) // d  # the records whose cell of this attribute is taken
            _merge(state, parent, donor, j, begin, end, slot)


@kernel
def _merge(state: NumberFiles, parent: int, donor: int, j: int, begin: int, end: int, child: int) -> None:
    """The order of a column in which the records from `begin` to `end` have the donor's values."""
    n = len(state.original)
    own, given = state.order[parent, j], state.order[donor, j]
    order, values = state.order[child, j], np.empty(n)
    a, b = 0, 0
    for p in range(n):
        while a < n and begin <= own[a] <= end:
            a += 1
        while b < n and not begin <= given[b] <= end:
            b += 1
        mine = state.cells[parent, own[a], j] if a < n else np.inf
        theirs = state.cells[donor, given[b], j] if b < n else np.inf
        if b == n or (a < n and mine <= theirs):
            order[p], values[p] = own[a], mine
            a += 1
        else:
            order[p], values[p] = given[b], theirs
            b += 1
    _measure_column(state, child, j, values)


@kernel
def save_number_sums(state: NumberFiles, slot: int, spare: int) -> None:
    """Keep the sums of a slot in a spare one: a change that is undone would leave rounding in them."""
    state.sums[spare] = state.sums[slot]


@kernel
def take_number_sums(state: NumberFiles, slot: int, child: int) -> None:
    """Give a slot the sums and orders of a child."""
    state.order[slot], state.ends[slot], state.found[slot] = state.order[child], state.ends[child], state.found[child]
    state.sums[slot], state.credit[slot] = state.sums[child], state.credit[child]
