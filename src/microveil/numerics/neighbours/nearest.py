"""Nearest records between two tables of mixed attributes, with all ties.

A table is a list of columns (numbers, or positions in a domain) with a missing state for each cell. The distance is
the sum over attributes; the order of summation is fixed, so that equal records have exactly equal distances. Targets
are searched in blocks of records that are alike where a few sources show that most blocks are out of reach, else by
passing over all of them in chunks; both find the same ties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.neighbours.blocks import Blocks, can_be_bounded, nearest_in_blocks
from microveil.numerics.neighbours.mixed_distance import (
    Settings,
    Source,
    Table,
    Terms,
    distances_from,
)
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

_CHUNK = 512
_FEWEST_IN_BLOCKS = 1000
_TRIED = 32  # sources, before the targets are searched in blocks
_WORTHWHILE = 0.5  # share of the targets with which a source is compared up to which blocks take less time
_WORTH_A_THREAD = 1 << 16  # distances: below, handing the work over takes longer than the work


@dataclass(frozen=True)
class Nearest:
    """For each source up to which distance a target ties for nearest, how many do, the first of them, and how near they
    are; infinite where nothing can be compared."""

    border: FloatArray
    ties: IntArray
    first: IntArray
    nearest: FloatArray

    def __add__(self, other: Nearest) -> Nearest:
        """Among the targets of both."""
        border = np.where(other.nearest < self.nearest, other.border, self.border)
        reached = [one.nearest <= border for one in (self, other)]
        ties = np.where(reached[0], self.ties, 0) + np.where(reached[1], other.ties, 0)
        never = np.iinfo(np.int64).max
        first = np.minimum(np.where(reached[0], self.first, never), np.where(reached[1], other.first, never))
        return Nearest(border, ties, np.where(first < never, first, -1), np.minimum(self.nearest, other.nearest))

    def at(self, sources: IntArray) -> Nearest:
        """Of these sources."""
        return Nearest(self.border[sources], self.ties[sources], self.first[sources], self.nearest[sources])

    def from_target(self, number: int) -> Nearest:
        """The same where the targets are counted from this number on."""
        return replace(self, first=np.where(self.first < 0, -1, self.first + number))

    def links(self, own: BoolArray) -> Links:
        return Links(self.ties, self.first, own, self.nearest)


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
    found = _nearest_targets(source_rows, target_rows, target_of, terms, progress, label).at(source_of)
    inside = records < len(target_of)
    own = np.zeros(len(records), dtype=np.bool_)
    own_distance = distances_of_pairs(source_rows, target_rows, terms, source_of[inside], target_of[records[inside]])
    own[inside] = own_distance <= found.border[inside]
    return found.links(own)


def nearest_targets(sources: Table, targets: Table, terms: Terms, progress: Progress, label: str) -> Nearest:
    """The targets nearest to each of the sources; what is found among some targets can be added to what is found among
    others."""
    source_rows, source_of = distinct(sources)
    return _nearest_targets(source_rows, *distinct(targets), terms, progress, label).at(source_of)


def _nearest_targets(
    source_rows: Table, target_rows: Table, target_of: IntArray, terms: Terms, progress: Progress, label: str
) -> Nearest:
    """Among distinct targets; `target_of` says which of them each record is."""
    count = np.bincount(target_of)
    lowest = np.full(len(count), np.iinfo(np.int64).max)
    np.minimum.at(lowest, target_of, np.arange(len(target_of)))
    blocks = _worthwhile_blocks(source_rows, target_rows, terms, count, lowest)
    if blocks is None:
        found = _by_chunks(source_rows, target_rows, terms, count, lowest, progress, label)
    else:
        found, _ = _by_blocks(source_rows, blocks, terms, count, lowest, progress, label)
    return Nearest(*found)


Found = tuple[FloatArray, IntArray, IntArray, FloatArray]


def _by_chunks(
    sources: Table, targets: Table, terms: Terms, count: IntArray, lowest: IntArray, progress: Progress, label: str
) -> Found:
    settings, tolerance = terms.between(sources, targets), rounding_of(sources, targets)

    def work(start: int, end: int) -> Found:
        part = sources.at(slice(start, end))
        return _nearest_of(part, targets, settings, terms.lookup, count, lowest, tolerance, terms.is_squared)

    border, ties, first, nearest = _over_sources(work, sources, targets, progress, label)
    return border, ties, first, nearest


def _by_blocks(
    sources: Table, blocks: Blocks, terms: Terms, count: IntArray, lowest: IntArray, progress: Progress, label: str
) -> tuple[Found, IntArray]:
    """What was found, and with how many targets each source was compared; distances and ties are those of passing over
    all targets."""
    settings, tolerance = terms.between(sources, blocks.table), rounding_of(sources, blocks.table)
    counts, first = count[blocks.order], lowest[blocks.order]

    def work(start: int, end: int) -> tuple[FloatArray, IntArray, IntArray, FloatArray, IntArray]:
        part = sources.at(slice(start, end))
        return nearest_in_blocks(
            part, blocks.table, blocks.edges, blocks.blocks, blocks.bundles, settings, counts, first, tolerance,
            terms.is_squared,
        )  # fmt: skip

    border, ties, first_of, nearest, compared = _over_sources(work, sources, blocks.table, progress, label)
    return (border, ties, first_of, nearest), compared


def _worthwhile_blocks(
    sources: Table, targets: Table, terms: Terms, count: IntArray, lowest: IntArray
) -> Blocks | None:
    """The targets in blocks, if some sources that are tried are compared with few of them; what is few does not depend
    on the machine."""
    queries, size = sources.cells.shape[1], targets.cells.shape[1]
    if size < _FEWEST_IN_BLOCKS or queries < _TRIED or not can_be_bounded(terms):
        return None
    blocks = Blocks.of(targets, terms)
    tried = sources.at(np.linspace(0, queries - 1, _TRIED).astype(np.int64))
    _, compared = _by_blocks(tried, blocks, terms, count, lowest, silent, "")
    return blocks if compared.sum() <= _WORTHWHILE * size * _TRIED else None


def _over_sources(
    work: Callable[[int, int], tuple[Any, ...]], sources: Table, targets: Table, progress: Progress, label: str
) -> tuple[Any, ...]:
    """What the work finds for each source, chunk by chunk, joined together."""
    queries = sources.cells.shape[1]
    results = over_chunks(work, queries, _chunk(min(2048, queries // 64), targets), progress, label)
    return tuple(np.concatenate(parts) for parts in zip(*results, strict=True))


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
