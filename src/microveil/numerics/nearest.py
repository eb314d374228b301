"""Nearest records between two tables of mixed attributes, with all ties.

A table is a list of columns (numbers, or positions in a domain) with a missing state for each cell. The distance is
the sum over attributes; the order of summation is fixed, so that equal records have exactly equal distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from microveil.numerics.compiled import kernel, over_blocks
from microveil.progress import Progress

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
StateArray = npt.NDArray[np.uint8]

SQUARED, ABSOLUTE, CATEGORY = 0, 1, 2
_BLOCK = 512
Settings = tuple[IntArray, FloatArray, FloatArray, npt.NDArray[np.bool_], FloatArray, npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Table:
    """Columns by attribute: `cells[j, i]` and `states[j, i]` of record i; 0 is the state of a present cell."""

    cells: FloatArray
    states: StateArray

    def of(self, chosen: list[int]) -> Table:
        """Some of the attributes."""
        return Table(self.cells[chosen], self.states[chosen])


@dataclass(frozen=True)
class Terms:
    """How each attribute adds to a distance: its form, `start` and `slope` for categories, and for missing cells
    whether they match anything (`wildcard`: left out, the rest scaled up) or `penalty` when only one is missing."""

    form: npt.NDArray[np.int64]
    start: FloatArray
    slope: FloatArray
    wildcard: npt.NDArray[np.bool_]
    penalty: FloatArray

    def of(self, chosen: list[int]) -> Terms:
        """The terms of some of the attributes."""
        return Terms(
            self.form[chosen], self.start[chosen], self.slope[chosen], self.wildcard[chosen], self.penalty[chosen]
        )


@dataclass(frozen=True)
class Links:
    """For each attacking record: how many records tie for nearest, the first of them, and whether its own is one."""

    ties: IntArray
    first: IntArray
    own: npt.NDArray[np.bool_]


def link(sources: Table, targets: Table, terms: Terms, records: IntArray, progress: Progress, label: str) -> Links:
    """Link each of the named source records to the nearest target records; record i's own target is record i."""
    source_rows, source_of = _distinct(Table(sources.cells[:, records], sources.states[:, records]))
    target_rows, target_of = _distinct(targets)
    count = np.bincount(target_of)
    lowest = np.full(len(count), np.iinfo(np.int64).max)
    np.minimum.at(lowest, target_of, np.arange(len(target_of)))
    incomplete = np.asarray(source_rows.states.any(axis=1) | target_rows.states.any(axis=1))
    tolerance = _rounding(source_rows, target_rows)
    squared = bool((terms.form == SQUARED).any())
    settings = (terms.form, terms.start, terms.slope, terms.wildcard, terms.penalty, incomplete)

    def work(start: int, end: int) -> tuple[FloatArray, IntArray, IntArray]:
        return _nearest_of(
            source_rows.cells[:, start:end],
            source_rows.states[:, start:end],
            target_rows.cells,
            target_rows.states,
            *settings,
            count,
            lowest,
            tolerance,
            squared,
        )

    queries = source_rows.cells.shape[1]
    block = max(1, min(2048, queries // 64))
    results = over_blocks(work, queries, block, progress, label)
    border, ties, first = (np.concatenate(parts) for parts in zip(*results, strict=True))
    own_distance = _distances_between(
        source_rows.cells,
        source_rows.states,
        target_rows.cells,
        target_rows.states,
        *settings,
        source_of,
        target_of[records],
    )
    return Links(ties[source_of], first[source_of], own_distance <= border[source_of])


@dataclass(frozen=True)
class Places:
    """Where each attacking record's own record stands among all by distance: how many are closer, how many are equally
    near (itself included), and how many of these come before it. Counting ends when enough are closer."""

    closer: IntArray
    ties: IntArray
    earlier: IntArray


def places_of_own(
    sources: Table, targets: Table, terms: Terms, records: IntArray, enough: int, progress: Progress, label: str
) -> Places:
    """The place of target record i among the targets nearest to source record i, for each of the named records."""
    incomplete = np.asarray(sources.states.any(axis=1) | targets.states.any(axis=1))
    settings = (terms.form, terms.start, terms.slope, terms.wildcard, terms.penalty, incomplete)
    tolerance = _rounding(sources, targets)
    squared = bool((terms.form == SQUARED).any())
    target_cells, target_states = np.ascontiguousarray(targets.cells), np.ascontiguousarray(targets.states)

    def work(start: int, end: int) -> tuple[IntArray, IntArray, IntArray]:
        rows = records[start:end]
        cells, states = sources.cells[:, rows], sources.states[:, rows]
        return _places_of(cells, states, target_cells, target_states, *settings, rows, enough, tolerance, squared)

    block = max(1, min(2048, len(records) // 16))
    results = over_blocks(work, len(records), block, progress, label)
    return Places(*(np.concatenate(parts) for parts in zip(*results, strict=True)))


def _rounding(one: Table, other: Table) -> float:
    """By how much two equal distances may differ: 1e-12 of the largest number at work."""
    return 1e-12 * max(1.0, float(np.abs(one.cells).max()), float(np.abs(other.cells).max()))


def _distinct(table: Table) -> tuple[Table, IntArray]:
    """The different records of a table, and which of them each record is."""
    mixed = np.zeros(table.cells.shape[1], dtype=np.uint64)
    for column in (*table.cells, *table.states):
        bits = (column.astype(np.float64) + 0.0).view(np.uint64)  # adding 0 makes -0 and 0 one
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    alike = (table.cells == table.cells[:, first][:, inverse]) & (table.states == table.states[:, first][:, inverse])
    if not alike.all():  # two different records with the same mixed bits: as good as never, but it would be wrong
        rows = np.vstack([table.cells, table.states]).T
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    distinct = Table(np.ascontiguousarray(table.cells[:, first]), np.ascontiguousarray(table.states[:, first]))
    return distinct, inverse.reshape(-1)


@kernel
def _nearest_of(
    source_cells: FloatArray,
    source_states: StateArray,
    target_cells: FloatArray,
    target_states: StateArray,
    form: IntArray,
    start: FloatArray,
    slope: FloatArray,
    wildcard: npt.NDArray[np.bool_],
    penalty: FloatArray,
    incomplete: npt.NDArray[np.bool_],
    count: IntArray,
    lowest: IntArray,
    tolerance: float,
    squared: bool,
) -> tuple[FloatArray, IntArray, IntArray]:
    """For each source the border below which a target ties for nearest, the records that tie, the first of them.

    Targets are taken in blocks that stay in the processor's cache while all sources pass over them. The least distance
    in each block is kept; only blocks that reach the border are then looked at again, for the ties.
    """
    queries, size = source_cells.shape[1], target_cells.shape[1]
    blocks = (size + _BLOCK - 1) // _BLOCK
    least = np.empty((queries, blocks))
    distances, shared = np.empty(_BLOCK), np.empty(_BLOCK)
    settings = (form, start, slope, wildcard, penalty, incomplete)
    for block in range(blocks):
        begin, end = block * _BLOCK, min(size, (block + 1) * _BLOCK)
        sums, in_common = distances[: end - begin], shared[: end - begin]
        for q in range(queries):
            source = source_cells[:, q], source_states[:, q]
            _distances_from(source, target_cells, target_states, begin, settings, sums, in_common)
            least[q, block] = sums.min()
    border = np.empty(queries)
    ties = np.zeros(queries, dtype=np.int64)
    first = np.full(queries, -1, dtype=np.int64)
    for q in range(queries):
        best = least[q].min()
        if best == np.inf:
            border[q] = -1.0  # nothing in common with any target: never linked
            continue
        border[q] = (np.sqrt(best) + tolerance) ** 2 if squared else best + tolerance
        for block in range(blocks):
            if least[q, block] > border[q]:
                continue
            begin, end = block * _BLOCK, min(size, (block + 1) * _BLOCK)
            sums, in_common = distances[: end - begin], shared[: end - begin]
            source = source_cells[:, q], source_states[:, q]
            _distances_from(source, target_cells, target_states, begin, settings, sums, in_common)
            for i in range(end - begin):
                if sums[i] <= border[q]:
                    ties[q] += count[begin + i]
                    if first[q] < 0 or lowest[begin + i] < first[q]:
                        first[q] = lowest[begin + i]
    return border, ties, first


@kernel
def _places_of(
    source_cells: FloatArray,
    source_states: StateArray,
    target_cells: FloatArray,
    target_states: StateArray,
    form: IntArray,
    start: FloatArray,
    slope: FloatArray,
    wildcard: npt.NDArray[np.bool_],
    penalty: FloatArray,
    incomplete: npt.NDArray[np.bool_],
    own: IntArray,
    enough: int,
    tolerance: float,
    squared: bool,
) -> tuple[IntArray, IntArray, IntArray]:
    """For each source how many targets are closer than its own, tie with it, and tie and come before it."""
    queries, size = len(own), target_cells.shape[1]
    closer, ties, earlier = np.zeros_like(own), np.zeros_like(own), np.zeros_like(own)
    distances, shared = np.empty(_BLOCK), np.empty(_BLOCK)
    settings = (form, start, slope, wildcard, penalty, incomplete)
    for q in range(queries):
        source = source_cells[:, q], source_states[:, q]
        _distances_from(source, target_cells, target_states, own[q], settings, distances[:1], shared[:1])
        reached = distances[0]
        if reached == np.inf:
            closer[q], ties[q] = enough, 1  # nothing in common with its own: never linked
            continue
        low, high = reached - tolerance, reached + tolerance
        if squared:
            root = np.sqrt(reached)
            low, high = max(0.0, root - tolerance) ** 2, (root + tolerance) ** 2
        for begin in range(0, size, _BLOCK):
            end = min(size, begin + _BLOCK)
            sums = distances[: end - begin]
            _distances_from(source, target_cells, target_states, begin, settings, sums, shared[: end - begin])
            for i in range(end - begin):
                if sums[i] < low:
                    closer[q] += 1
                elif sums[i] <= high:
                    ties[q] += 1
                    earlier[q] += begin + i < own[q]
            if closer[q] >= enough:
                break
        ties[q] = max(1, ties[q])
    return closer, ties, earlier


@kernel
def _distances_from(
    source: tuple[FloatArray, StateArray],
    target_cells: FloatArray,
    target_states: StateArray,
    begin: int,
    settings: Settings,
    sums: FloatArray,
    in_common: FloatArray,
) -> None:
    """Distances of one record to the targets from `begin` on, as many as there are sums.

    Whole contiguous columns at a time, so that the compiler can use vector units.
    """
    cells, states = source
    form, start, slope, wildcard, penalty, incomplete = settings
    d, size = target_cells.shape[0], sums.shape[0]
    end = begin + size
    sums[:] = 0.0
    any_wildcard = False
    for j in range(d):
        column, cell = target_cells[j, begin:end], cells[j]
        if incomplete[j]:
            column_states, state = target_states[j, begin:end], states[j]
            if wildcard[j] and not any_wildcard:
                any_wildcard = True
                in_common[:] = d
            for i in range(size):
                if state == 0 and column_states[i] == 0:
                    sums[i] += _term(cell, column[i], form[j], start[j], slope[j])
                elif wildcard[j]:
                    in_common[i] -= 1.0
                elif state != column_states[i]:
                    sums[i] += penalty[j]
        elif form[j] == SQUARED:
            for i in range(size):
                difference = cell - column[i]
                sums[i] += difference * difference
        elif form[j] == ABSOLUTE:
            for i in range(size):
                sums[i] += abs(cell - column[i])
        else:
            base, step = start[j], slope[j]
            for i in range(size):
                difference = abs(cell - column[i])
                sums[i] += base + step * difference if difference > 0.0 else 0.0
    if any_wildcard:
        for i in range(size):
            if in_common[i] != d:
                sums[i] = sums[i] * (d / in_common[i]) if in_common[i] > 0.0 else np.inf


@kernel
def _term(one: float, other: float, form: int, start: float, slope: float) -> float:
    difference = abs(one - other)
    if form == SQUARED:
        return difference * difference
    if form == ABSOLUTE:
        return difference
    return start + slope * difference if difference > 0.0 else 0.0


@kernel
def _distances_between(
    source_cells: FloatArray,
    source_states: StateArray,
    target_cells: FloatArray,
    target_states: StateArray,
    form: IntArray,
    start: FloatArray,
    slope: FloatArray,
    wildcard: npt.NDArray[np.bool_],
    penalty: FloatArray,
    incomplete: npt.NDArray[np.bool_],
    sources: IntArray,
    targets: IntArray,
) -> FloatArray:
    """The distance of each source record to one target record."""
    out, shared = np.empty(1), np.empty(1)
    result = np.empty(len(sources))
    settings = (form, start, slope, wildcard, penalty, incomplete)
    for r in range(len(sources)):
        source = source_cells[:, sources[r]], source_states[:, sources[r]]
        _distances_from(source, target_cells, target_states, targets[r], settings, out, shared)
        result[r] = out[0]
    return result
