"""Nearest records between two tables of mixed attributes, with all ties.

A table is a list of columns (numbers, or positions in a domain) with a missing state for each cell. The distance is
the sum over attributes; the order of summation is fixed, so that equal records have exactly equal distances. Complete
numbers in few dimensions are searched by a tree, everything else by passing over all targets in chunks; both find the
same ties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.neighbours.mixed_distance import (
    ABSOLUTE,
    SQUARED,
    Settings,
    Source,
    Table,
    Terms,
    distances_from,
)
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

_CHUNK = 512
# measured with 100,000 records against as many: below, the tree wins on independent numbers, its worst case
_TREE_DIMENSIONS = 8
_FEWEST_IN_TREE = 1000
_WORTH_A_THREAD = 1 << 16  # distances: below, handing the work over takes longer than the work
_MARGIN = 1e-9  # by how much the tree's own arithmetic is not trusted


@dataclass(frozen=True)
class Links:
    """For each attacking record: how many records tie for nearest, the first of them, whether its own is one, and how
    near they are (infinite where nothing can be compared)."""

    ties: IntArray
    first: IntArray
    own: BoolArray
    nearest: FloatArray


def link(sources: Table, targets: Table, terms: Terms, records: IntArray, progress: Progress, label: str) -> Links:
    """Link each of the named source records to the nearest target records; record i's own target is record i, and who
    comes after the last target has none."""
    source_rows, source_of = distinct(sources.at(records))
    target_rows, target_of = distinct(targets)
    count = np.bincount(target_of)
    lowest = np.full(len(count), np.iinfo(np.int64).max)
    np.minimum.at(lowest, target_of, np.arange(len(target_of)))
    search = _by_tree if _tree_wins(source_rows, target_rows, terms) else _by_chunks
    border, ties, first, nearest = search(source_rows, target_rows, terms, count, lowest, progress, label)
    inside = records < len(target_of)
    own = np.zeros(len(records), dtype=np.bool_)
    own_distance = distances_of_pairs(source_rows, target_rows, terms, source_of[inside], target_of[records[inside]])
    own[inside] = own_distance <= border[source_of[inside]]
    return Links(ties[source_of], first[source_of], own, nearest[source_of])


Found = tuple[FloatArray, IntArray, IntArray, FloatArray]


def _by_chunks(
    sources: Table, targets: Table, terms: Terms, count: IntArray, lowest: IntArray, progress: Progress, label: str
) -> Found:
    settings, tolerance = terms.between(sources, targets), rounding_of(sources, targets)

    def work(start: int, end: int) -> Found:
        part = sources.at(slice(start, end))
        return _nearest_of(part, targets, settings, terms.lookup, count, lowest, tolerance, terms.is_squared)

    return _over_sources(work, sources, targets, progress, label)


def _tree_wins(sources: Table, targets: Table, terms: Terms) -> bool:
    few = len(terms.form) <= _TREE_DIMENSIONS
    long = min(sources.cells.shape[1], targets.cells.shape[1]) >= _FEWEST_IN_TREE
    alike = (terms.form == terms.form[0]).all() and terms.form[0] in (SQUARED, ABSOLUTE)
    return bool(few and long and alike and not sources.states.any() and not targets.states.any())


def _by_tree(
    sources: Table, targets: Table, terms: Terms, count: IntArray, lowest: IntArray, progress: Progress, label: str
) -> Found:
    """The tree proposes; distances and ties are decided by the same arithmetic as without it."""
    from scipy.spatial import cKDTree

    power = 2 if terms.is_squared else 1
    points, tolerance = np.ascontiguousarray(sources.cells.T), rounding_of(sources, targets)
    tree = cKDTree(np.ascontiguousarray(targets.cells.T))

    def work(start: int, end: int) -> Found:
        reach, near = tree.query(points[start:end], k=[1, 2], p=power)
        best = distances_of_pairs(sources, targets, terms, np.arange(start, end), near[:, 0])
        border = (np.sqrt(best) + tolerance) ** 2 if power == 2 else best + tolerance
        radius = (np.sqrt(border) if power == 2 else border) * (1 + _MARGIN) + tolerance
        ties, first = count[near[:, 0]], lowest[near[:, 0]]
        several = np.flatnonzero(reach[:, 1] <= radius)
        if several.size:
            found = tree.query_ball_point(points[start:end][several], radius[several], p=power, return_sorted=False)
            who = np.repeat(several, [len(candidates) for candidates in found])
            candidates = np.concatenate([np.asarray(numbers, dtype=np.int64) for numbers in found])
            distances = distances_of_pairs(sources, targets, terms, start + who, candidates)
            np.minimum.at(best, who, distances)
            border[several] = (np.sqrt(best[several]) + tolerance) ** 2 if power == 2 else best[several] + tolerance
            tied = distances <= border[who]
            ties[several], first[several] = 0, len(lowest) + int(lowest.max())
            np.add.at(ties, who[tied], count[candidates[tied]])
            np.minimum.at(first, who[tied], lowest[candidates[tied]])
        return border, ties, first, best

    return _over_sources(work, sources, targets, progress, label)


def _over_sources(
    work: Callable[[int, int], Found], sources: Table, targets: Table, progress: Progress, label: str
) -> Found:
    queries = sources.cells.shape[1]
    results = over_chunks(work, queries, _chunk(min(2048, queries // 64), targets), progress, label)
    border, ties, first, nearest = (np.concatenate(parts) for parts in zip(*results, strict=True))
    return border, ties, first, nearest


def distances(sources: Table, targets: Table, terms: Terms, progress: Progress, label: str) -> FloatArray:
    """The distance of every source record to every target record; infinite where nothing can be compared."""
    settings, laid = terms.between(sources, targets), targets.contiguous()

    def work(start: int, end: int) -> FloatArray:
        return _all_distances(sources.at(slice(start, end)), laid, settings, terms.lookup)

    queries = sources.cells.shape[1]
    return np.concatenate(over_chunks(work, queries, _chunk(min(256, queries // 16), targets), progress, label))


def _chunk(wanted: int, targets: Table) -> int:
    """How many sources a thread takes at a time."""
    records: int = targets.cells.shape[1]
    return max(1, wanted, _WORTH_A_THREAD // max(1, records))


def distances_of_pairs(sources: Table, targets: Table, terms: Terms, these: IntArray, those: IntArray) -> FloatArray:
    """The distance of each of these sources to the target that stands beside it."""
    settings = terms.between(sources, targets)
    return _distances_between(sources, targets, settings, terms.lookup, these, np.ascontiguousarray(those))


@dataclass(frozen=True)
class OwnRanks:
    """Where each attacking record's own record stands among all by distance: how many are closer, how many are equally
    near (itself included), and how many of these come before it. Counting ends when enough are closer."""

    closer: IntArray
    ties: IntArray
    earlier: IntArray


def ranks_of_own(
    sources: Table, targets: Table, terms: Terms, records: IntArray, enough: int, progress: Progress, label: str
) -> OwnRanks:
    """The rank of target record i among the targets nearest to source record i, for each of the named records."""
    settings, tolerance, squared = terms.between(sources, targets), rounding_of(sources, targets), terms.is_squared
    laid = targets.contiguous()

    def work(start: int, end: int) -> tuple[IntArray, IntArray, IntArray]:
        rows = records[start:end]
        return _own_ranks(sources.at(rows), laid, settings, terms.lookup, rows, enough, tolerance, squared)

    chunk = _chunk(min(2048, len(records) // 16), targets)
    results = over_chunks(work, len(records), chunk, progress, label)
    return OwnRanks(*(np.concatenate(parts) for parts in zip(*results, strict=True)))


def rounding_of(one: Table, other: Table) -> float:
    """By how much two equal distances may differ: 1e-12 of the largest number at work."""
    return 1e-12 * max(1.0, float(np.abs(one.cells).max()), float(np.abs(other.cells).max()))


def distinct(table: Table) -> tuple[Table, IntArray]:
    """The different records of a table, in an order that does not depend on the table's, and which each record is."""
    mixed = np.zeros(table.cells.shape[1], dtype=np.uint64)
    for column in (*table.cells, *table.states):
        bits = (column.astype(np.float64) + 0.0).view(np.uint64)  # adding 0 makes -0 and 0 one
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    alike = (table.cells == table.cells[:, first][:, inverse]) & (table.states == table.states[:, first][:, inverse])
    if not alike.all():  # two different records with the same mixed bits: as good as never, but it would be wrong
        _, first, inverse = np.unique(
            np.vstack([table.cells, table.states]).T, axis=0, return_index=True, return_inverse=True
        )
    return table.at(first), inverse.reshape(-1)


@kernel
def _nearest_of(
    sources: Table,
    targets: Table,
    settings: Settings,
    lookup: FloatArray,
    count: IntArray,
    lowest: IntArray,
    tolerance: float,
    squared: bool,
) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    """For each source the border below which a target ties for nearest, the records that tie, the first of them, and
    the least distance.

    Targets are taken in chunks that stay in the processor's cache while all sources pass over them. The least distance
    in each chunk is kept; only chunks that reach the border are then searched again, for the ties.
    """
    cells, states = sources
    queries, size = cells.shape[1], targets.cells.shape[1]
    chunks = (size + _CHUNK - 1) // _CHUNK
    least = np.empty((queries, chunks))
    distances, shared = np.empty(_CHUNK), np.empty(_CHUNK)
    for chunk in range(chunks):
        begin, end = chunk * _CHUNK, min(size, (chunk + 1) * _CHUNK)
        sums, in_common = distances[: end - begin], shared[: end - begin]
        for q in range(queries):
            source = cells[:, q], states[:, q]
            _measure_from(source, targets, begin, settings, lookup, sums, in_common)
            least[q, chunk] = sums.min()
    border = np.empty(queries)
    ties = np.zeros(queries, dtype=np.int64)
    first = np.full(queries, -1, dtype=np.int64)
    nearest = np.empty(queries)
    for q in range(queries):
        best = least[q].min()
        nearest[q] = best
        if best == np.inf:
            border[q] = -1.0  # nothing in common with any target: never linked
            continue
        border[q] = (np.sqrt(best) + tolerance) ** 2 if squared else best + tolerance
        for chunk in range(chunks):
            if least[q, chunk] > border[q]:
                continue
            begin, end = chunk * _CHUNK, min(size, (chunk + 1) * _CHUNK)
            sums, in_common = distances[: end - begin], shared[: end - begin]
            source = cells[:, q], states[:, q]
            _measure_from(source, targets, begin, settings, lookup, sums, in_common)
            for i in range(end - begin):
                if sums[i] <= border[q]:
                    ties[q] += count[begin + i]
                    if first[q] < 0 or lowest[begin + i] < first[q]:
                        first[q] = lowest[begin + i]
    return border, ties, first, nearest


@kernel
def _own_ranks(
    sources: Table,
    targets: Table,
    settings: Settings,
    lookup: FloatArray,
    own: IntArray,
    enough: int,
    tolerance: float,
    squared: bool,
) -> tuple[IntArray, IntArray, IntArray]:
    """For each source how many targets are closer than its own, tie with it, and tie and come before it."""
    cells, states = sources
    queries, size = len(own), targets.cells.shape[1]
    closer, ties, earlier = np.zeros_like(own), np.zeros_like(own), np.zeros_like(own)
    distances, shared = np.empty(_CHUNK), np.empty(_CHUNK)
    for q in range(queries):
        source = cells[:, q], states[:, q]
        _measure_from(source, targets, own[q], settings, lookup, distances[:1], shared[:1])
        reached = distances[0]
        if reached == np.inf:
            closer[q], ties[q] = enough, 1  # nothing in common with its own: never linked
            continue
        low, high = reached - tolerance, reached + tolerance
        if squared:
            root = np.sqrt(reached)
            low, high = max(0.0, root - tolerance) ** 2, (root + tolerance) ** 2
        for begin in range(0, size, _CHUNK):
            end = min(size, begin + _CHUNK)
            sums = distances[: end - begin]
            _measure_from(source, targets, begin, settings, lookup, sums, shared[: end - begin])
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
def _distances_between(
    sources: Table, targets: Table, settings: Settings, lookup: FloatArray, these: IntArray, those: IntArray
) -> FloatArray:
    """The distance of each source record to one target record."""
    cells, states = sources
    out, shared = np.empty(1), np.empty(1)
    result = np.empty(len(these))
    for r in range(len(these)):
        source = cells[:, these[r]], states[:, these[r]]
        _measure_from(source, targets, those[r], settings, lookup, out, shared)
        result[r] = out[0]
    return result


@kernel
def _all_distances(sources: Table, targets: Table, settings: Settings, lookup: FloatArray) -> FloatArray:
    cells, states = sources
    queries, size = cells.shape[1], targets.cells.shape[1]
    found, shared = np.empty((queries, size)), np.empty(size)
    for q in range(queries):
        source = cells[:, q], states[:, q]
        _measure_from(source, targets, 0, settings, lookup, found[q], shared)
    return found


@kernel
def _measure_from(
    source: Source,
    targets: Table,
    begin: int,
    settings: Settings,
    lookup: FloatArray,
    sums: FloatArray,
    in_common: FloatArray,
) -> None:
    """Distances of one record to the targets from `begin` on, looked up where sums are indices into a table."""
    distances_from(source, targets, begin, settings, sums, in_common)
    if len(lookup) > 0:
        for i in range(len(sums)):
            if sums[i] < len(lookup):
                sums[i] = lookup[int(sums[i])]
