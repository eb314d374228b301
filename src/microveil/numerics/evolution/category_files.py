"""A population of masked files of category codes whose loss and risk follow every change of a cell.

Each file has a slot, and each slot its counts: by how much every cell of every contingency table differs from the
original's, and how often each category of an attribute became which. The measures are made of these counts alone, which
are whole numbers, so that thousands of changes leave no trace of rounding.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.evolution.categorical_measures import CategoricalMeasures
from microveil.numerics.evolution.exchanges import exchanged_of
from microveil.numerics.evolution.link_credits import (
    CERTAIN,
    Originals,
    link_credit,
    link_credits,
    originals_of,
    set_credit,
)
from microveil.typing import BoolArray, FloatArray, IntArray

CodeArray = npt.NDArray[np.int32]


class Tables(NamedTuple):
    """The attributes of each contingency table (-1 fills up), their strides, and where each table begins."""

    columns: IntArray
    strides: IntArray
    starts: IntArray


class CategoryFiles(NamedTuple):
    """What all slots share, and what each slot has; slots beyond the population are for children that are tried."""

    # the original, and how its attributes are measured
    original: CodeArray
    sizes: IntArray
    ordinal: BoolArray
    start: FloatArray
    slope: FloatArray
    most_bits: FloatArray  # of an attribute over all records, 0 where its domain holds nothing
    bits_of: FloatArray  # x log2 x of whole numbers
    within: IntArray  # how many widths reach over so many half ranks
    widths: int
    tables: Tables
    table_counts: IntArray  # of the original
    cross_starts: IntArray
    originals: Originals
    # by slot
    cells: CodeArray
    differences: IntArray  # of the counts of all tables
    moved: IntArray  # the sum of their absolute values
    crossed: IntArray  # how often an original category (row) became a masked one (column), by attribute
    differing: IntArray
    gaps: IntArray
    bits: FloatArray
    found: IntArray  # cells in intervals, over all widths
    chances: IntArray
    credit: IntArray


def category_files(measures: CategoricalMeasures, population: IntArray, spare: int = 2) -> CategoryFiles:
    """A population of masked files, shape (files, records, attributes), measured, with spare slots behind."""
    files, n, d = population.shape
    slots = files + spare
    sizes = measures.sizes.astype(np.int64)
    tables = _tables(measures)
    cross_starts = np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64)
    reaches = np.array([width * n / 100 for width in measures.conventions.widths])
    half_ranks = np.arange(2 * n + 3) / 2
    cells = np.zeros((slots, n, d), dtype=np.int32)
    cells[:files] = population
    state = CategoryFiles(
        original=np.ascontiguousarray(measures.original, dtype=np.int32),
        sizes=sizes,
        ordinal=np.asarray(measures.ordinal, dtype=np.bool_),
        start=np.array([one.start for one in measures.loss_distances]),
        slope=np.array([one.slope for one in measures.loss_distances]),
        most_bits=np.array([n * log2(size) if size > 1 else 0.0 for size in measures.loss_sizes.tolist()]),
        bits_of=_bits_of(n),
        within=(half_ranks[:, None] <= reaches).sum(axis=1).astype(np.int64),
        widths=len(reaches),
        tables=tables,
        table_counts=np.zeros(int(tables.starts[-1]), dtype=np.int64),
        cross_starts=cross_starts,
        originals=originals_of(measures.table_of(measures.original), measures.link_terms),
        cells=cells,
        differences=np.zeros((slots, int(tables.starts[-1])), dtype=np.int64),
        moved=np.zeros(slots, dtype=np.int64),
        crossed=np.zeros((slots, int(cross_starts[-1])), dtype=np.int64),
        differing=np.zeros((slots, d), dtype=np.int64),
        gaps=np.zeros((slots, d), dtype=np.int64),
        bits=np.zeros((slots, d)),
        found=np.zeros((slots, d), dtype=np.int64),
        chances=np.zeros((slots, n), dtype=np.int64),
        credit=np.zeros(slots, dtype=np.int64),
    )
    _count_rows(tables, state.original, state.table_counts)
    for slot in range(files):
        masked, original = (measures.table_of(codes) for codes in (population[slot], measures.original))
        state.chances[slot] = link_credits(masked, original, measures.link_terms)
        count_categories(state, slot)
    return state


def _tables(measures: CategoricalMeasures) -> Tables:
    """All tables; where the last ends is added to where each begins."""
    subsets = measures.subsets
    columns = np.full((len(subsets), max(map(len, subsets))), -1, dtype=np.int64)
    strides, starts = np.zeros_like(columns), np.zeros(len(subsets) + 1, dtype=np.int64)
    for t, subset in enumerate(subsets):
        sizes = measures.sizes[list(subset)].astype(np.int64)
        columns[t, : len(subset)] = subset
        strides[t, : len(subset)] = np.append(np.cumprod(sizes[::-1])[::-1][1:], 1)
        starts[t + 1] = starts[t] + int(np.prod(sizes))
    return Tables(columns, strides, starts)


def _bits_of(n: int) -> FloatArray:
    numbers = np.arange(n + 1, dtype=np.float64)
    return np.asarray(numbers * np.log2(np.maximum(numbers, 1.0)))


# --- counts --------------------------------------------------------------------------------------------------------


@kernel
def _cell_of(tables: Tables, table: int, row: CodeArray) -> int:
    """Where a record is counted in a table."""
    at = tables.starts[table]
    for position in range(tables.columns.shape[1]):
        column = tables.columns[table, position]
        if column >= 0:
            at += tables.strides[table, position] * row[column]
    return int(at)


@kernel
def _count_rows(tables: Tables, rows: CodeArray, counts: IntArray) -> None:
    for table in range(len(tables.columns)):
        for r in range(len(rows)):
            counts[_cell_of(tables, table, rows[r])] += 1


@kernel
def _count_row(tables: Tables, row: CodeArray, counts: IntArray, more: int) -> None:
    for table in range(len(tables.columns)):
        counts[_cell_of(tables, table, row)] += more


@kernel
def count_categories(state: CategoryFiles, slot: int) -> None:
    """All counts of a slot from its cells and the chances of its records."""
    n, d = state.original.shape
    state.differences[slot] = -state.table_counts
    _count_rows(state.tables, state.cells[slot], state.differences[slot])
    state.moved[slot] = np.abs(state.differences[slot]).sum()
    state.crossed[slot] = 0
    for r in range(n):
        for j in range(d):
            before, after = state.original[r, j], state.cells[slot, r, j]
            state.crossed[slot, state.cross_starts[j] + before * state.sizes[j] + after] += 1
    for j in range(d):
        _measure_attribute(state, slot, j)
    state.credit[slot] = state.chances[slot].sum()


@kernel
def _measure_attribute(state: CategoryFiles, slot: int, j: int) -> None:
    """What the transitions of one attribute give: distances, entropy and cells in intervals."""
    size, start = state.sizes[j], state.cross_starts[j]
    middle = np.empty(size, dtype=np.int64)  # twice the middle rank of each category in the masked column
    below, bits = 0, 0.0
    for after in range(size):
        total = 0
        for before in range(size):
            count = state.crossed[slot, start + before * size + after]
            total += count
            bits -= state.bits_of[count]
        bits += state.bits_of[total]
        middle[after] = 2 * below + total + 1
        below += total
    differing, gaps, found = 0, 0, 0
    for before in range(size):
        for after in range(size):
            count = state.crossed[slot, start + before * size + after]
            if count == 0:
                continue
            if before == after:
                found += count * state.widths
                continue
            differing += count
            gaps += count * abs(before - after)
            if state.ordinal[j]:
                found += count * state.within[abs(middle[before] - middle[after])]
    state.differing[slot, j], state.gaps[slot, j] = differing, gaps
    state.bits[slot, j], state.found[slot, j] = bits, found


@kernel
def measure_categories(state: CategoryFiles, slot: int, other: float) -> tuple[float, float]:
    """Loss and risk of a slot; `other` is the risk by another linkage, which counts where it is greater, or NaN."""
    n, d = state.original.shape
    moved, shares, found = 0.0, 0.0, 0
    for j in range(d):
        moved += state.start[j] * state.differing[slot, j] + state.slope[j] * state.gaps[slot, j]
        if state.most_bits[j] > 0.0:
            shares += state.bits[slot, j] / state.most_bits[j]
        found += state.found[slot, j]
    ctbil = state.moved[slot] / (2.0 * n * len(state.tables.columns))
    loss = 100.0 * (ctbil + moved / (n * d) + shares / d) / 3.0
    interval = 100.0 * found / (float(n) * d * state.widths)
    linked = 100.0 * (state.credit[slot] / (float(n) * CERTAIN))
    return loss, (interval + (other if other > linked else linked)) / 2.0


# --- changes -------------------------------------------------------------------------------------------------------


@kernel
def chance_of_categories(state: CategoryFiles, r: int, row: CodeArray) -> int:
    """The chance that a record with these codes is linked to its original."""
    return link_credit(state.originals, r, row.astype(np.float64))


@kernel
def change_category(state: CategoryFiles, slot: int, r: int, j: int, code: int, credit: int) -> None:
    """Put a code into a cell; a `credit` below 0 means that the record's chance to be linked is not known yet."""
    row, tables, differences = state.cells[slot, r], state.tables, state.differences[slot]
    for table in range(len(tables.columns)):
        for position in range(tables.columns.shape[1]):
            if tables.columns[table, position] == j:
                at = _cell_of(tables, table, row)
                to = at + tables.strides[table, position] * (code - row[j])
                state.moved[slot] -= abs(differences[at]) + abs(differences[to])
                differences[at] -= 1
                differences[to] += 1
                state.moved[slot] += abs(differences[at]) + abs(differences[to])
    start = state.cross_starts[j] + state.original[r, j] * state.sizes[j]
    state.crossed[slot, start + row[j]] -= 1
    state.crossed[slot, start + code] += 1
    row[j] = code
    _measure_attribute(state, slot, j)
    if credit < 0:
        credit = chance_of_categories(state, r, row)
    set_credit(state.credit, state.chances, slot, slot, r, credit)


@kernel
def cross_categories(
    state: CategoryFiles, one: int, other: int, first: int, last: int, child: int, second: int
) -> None:
    """The counts of the two files that come out when two slots exchange the cells from `first` to `last`, in the slots
    `child` and `second`. Of their cells nothing is written, of their chances only those of the records that are
    exchanged in part."""
    d = state.original.shape[1]
    begin, end = first // d, last // d
    moved = np.zeros(state.differences.shape[1], dtype=np.int64)
    became = np.zeros(state.crossed.shape[1], dtype=np.int64)
    gained = 0
    left, right = np.empty(d, dtype=np.int32), np.empty(d, dtype=np.int32)
    state.differences[child], state.differences[second] = state.differences[one], state.differences[other]
    state.credit[child], state.credit[second] = state.credit[one], state.credit[other]
    for r in range(begin, end + 1):
        mine, theirs = state.cells[one, r], state.cells[other, r]
        low, high = exchanged_of(r, d, first, last)
        same = True
        for j in range(low, high + 1):
            if mine[j] != theirs[j]:
                same = False
                start = state.cross_starts[j] + state.original[r, j] * state.sizes[j]
                became[start + theirs[j]] += 1
                became[start + mine[j]] -= 1
        if low == 0 and high == d - 1:
            if not same:
                _count_row(state.tables, theirs, moved, 1)
                _count_row(state.tables, mine, moved, -1)
                gained += state.chances[other, r] - state.chances[one, r]
            continue
        left[:], right[:] = mine, theirs
        left[low : high + 1], right[low : high + 1] = theirs[low : high + 1], mine[low : high + 1]
        for slot, before, after in ((child, mine, left), (second, theirs, right)):
            parent = one if slot == child else other
            credit = state.chances[parent, r]
            if not same:
                _count_row(state.tables, before, state.differences[slot], -1)
                _count_row(state.tables, after, state.differences[slot], 1)
                credit = chance_of_categories(state, r, after)
            set_credit(state.credit, state.chances, slot, parent, r, credit)
    for slot, parent, sign in ((child, one, 1), (second, other, -1)):
        state.differences[slot] += sign * moved
        state.crossed[slot] = state.crossed[parent] + sign * became
        state.credit[slot] += sign * gained
        state.moved[slot] = np.abs(state.differences[slot]).sum()
        for j in range(d):
            _measure_attribute(state, slot, j)


@kernel
def save_category_counts(state: CategoryFiles, slot: int, spare: int) -> None:
    """Nothing needs to be kept: counts are whole numbers, so a change that is undone leaves no trace."""


@kernel
def take_category_counts(state: CategoryFiles, slot: int, child: int) -> None:
    """Give a slot the counts of a child."""
    state.differences[slot], state.crossed[slot] = state.differences[child], state.crossed[child]
    state.differing[slot], state.gaps[slot] = state.differing[child], state.gaps[child]
    state.bits[slot], state.found[slot] = state.bits[child], state.found[child]
    state.moved[slot], state.credit[slot] = state.moved[child], state.credit[child]
