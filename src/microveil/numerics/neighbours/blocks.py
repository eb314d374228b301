"""The records of a table in blocks of records that are alike, and a search that passes over blocks out of reach.

A block is known by the least and the greatest cell of each attribute. No record of it is nearer than the nearest point
between these; that bound is added up like a distance, in the same order, so that rounding cannot turn it around. Blocks
that follow each other are alike too, and are passed over in bundles by the same bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.neighbours.mixed_distance import (
    STEP,
    Settings,
    StateArray,
    Table,
    Terms,
    add_where_present,
    distances_from,
    term,
)
from microveil.typing import BoolArray, FloatArray, IntArray

_LEAST_IN_BLOCK, _MOST_IN_BLOCK = 32, 64
_BUNDLE = 32  # blocks
_PAIRS = 128  # of records, by which it is seen how far an attribute sets records apart


class Bounds(NamedTuple):
    """Of each attribute (rows) and each block: the least and the greatest cell, whether no cell is present (as the
    state of a cell), and whether one is missing."""

    low: FloatArray
    high: FloatArray
    empty: StateArray
    lacking: BoolArray

    @classmethod
    def of(cls, table: Table, starts: IntArray) -> Bounds:
        """Those of blocks that start at these records."""
        missing = table.states > 0
        low = np.minimum.reduceat(np.where(missing, np.inf, table.cells), starts, axis=1)
        high = np.maximum.reduceat(np.where(missing, -np.inf, table.cells), starts, axis=1)
        empty, lacking = np.isinf(low), np.logical_or.reduceat(missing, starts, axis=1)
        low, high = (np.where(empty, 0.0, side) for side in (low, high))
        return cls(*map(np.ascontiguousarray, (low, high, empty.astype(np.uint8), lacking)))


@dataclass(frozen=True)
class Blocks:
    """The records of a table in an order in which those of a block stand together; `order` are their former numbers,
    and `edges` where each block begins, with the end of the last. A bundle has so many blocks, the last perhaps
    less."""

    table: Table
    order: IntArray
    edges: IntArray
    blocks: Bounds
    bundles: Bounds

    @classmethod
    def of(cls, table: Table, terms: Terms) -> Blocks:
        order, begins = _laid_out(table.contiguous(), terms.between(table, table))
        laid, edges = table.at(order), np.append(begins, len(order))
        return cls(laid, order, edges, Bounds.of(laid, begins), Bounds.of(laid, begins[::_BUNDLE]))


def can_be_bounded(terms: Terms) -> bool:
    """Whether a distance grows with every term, and is no index into a table."""
    grows = all((values >= 0).all() for values in (terms.start, terms.slope, terms.penalty))
    return grows and terms.table is None


@kernel
def _laid_out(table: Table, settings: Settings) -> tuple[IntArray, IntArray]:
    """The numbers of records so that those which are alike stand together, and where each block of them begins.

    Records are halved along the attribute that sets them apart most, between two different cells.
    """
    cells, states = table
    d, size = cells.shape
    order, sides = np.arange(size), np.empty(size, dtype=np.int64)
    keys, sorting = np.empty(size), np.empty(size)
    begins, blocks = np.empty(size, dtype=np.int64), 0
    waiting, left = np.empty((size, 2), dtype=np.int64), 1
    waiting[0, 0], waiting[0, 1] = 0, size
    while left > 0:
        left -= 1
        begin, end = waiting[left, 0], waiting[left, 1]
        many = end - begin
        if many <= _MOST_IN_BLOCK:
            begins[blocks] = begin
            blocks += 1
            continue
        spread = _spread(table, order[begin:end], settings)
        middle, limit, below = begin + many // 2, np.inf, many // 2
        for _ in range(d):
            column = int(np.argmax(spread))
            spread[column] = -1.0
            for i in range(begin, end):
                keys[i] = cells[column, order[i]] if states[column, order[i]] == 0 else -np.inf
                sorting[i] = keys[i]
            limit, below = _cut(keys[begin:end], sorting[begin:end])
            if _LEAST_IN_BLOCK <= below <= many - _LEAST_IN_BLOCK:
                break
        if _LEAST_IN_BLOCK <= below <= many - _LEAST_IN_BLOCK:
            middle = begin + below
            first, second = begin, middle
            for i in range(begin, end):
                if keys[i] < limit:
                    sides[first] = order[i]
                    first += 1
                else:
                    sides[second] = order[i]
                    second += 1
            order[begin:end] = sides[begin:end]
        waiting[left, 0], waiting[left, 1] = middle, end
        waiting[left + 1, 0], waiting[left + 1, 1] = begin, middle
        left += 2
    return order, begins[:blocks].copy()


@kernel
def _spread(table: Table, rows: IntArray, settings: Settings) -> FloatArray:
    """What each attribute adds to the distances of some pairs of these records."""
    cells, states = table
    form, start, slope, _, penalty, _ = settings
    half = len(rows) // 2
    added = np.zeros(len(cells))
    for j in range(len(cells)):
        for i in range(0, half, max(1, half // _PAIRS)):
            one, other = rows[i], rows[i + half]
            if states[j, one] == 0 and states[j, other] == 0:
                added[j] += term(cells[j, one], cells[j, other], form[j], start[j], slope[j])
            elif states[j, one] != states[j, other]:
                added[j] += penalty[j]
    return added


@kernel
def _cut(keys: FloatArray, sorting: FloatArray) -> tuple[float, int]:
    """The key that divides the keys into those below it and the others most evenly, and how many are below."""
    low, high, middle = 0, len(sorting) - 1, len(sorting) // 2
    while low < high:  # the middle key, by quickselect
        pivot, i, j = sorting[(low + high) // 2], low, high
        while i <= j:
            while sorting[i] < pivot:
                i += 1
            while sorting[j] > pivot:
                j -= 1
            if i <= j:
                sorting[i], sorting[j] = sorting[j], sorting[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    key, below, up_to, above = sorting[middle], 0, 0, np.inf
    for one in keys:
        below += one < key
        up_to += one <= key
        if key < one < above:
            above = one
    if middle - below <= up_to - middle:
        return key, below
    return above, up_to


@kernel
def _add_bounds(
    source: tuple[FloatArray, StateArray],
    within: Bounds,
    begin: int,
    settings: Settings,
    sums: FloatArray,
    nearest: FloatArray,
    added: FloatArray,
) -> None:
    """The least distance at which a record of each block can be, for as many blocks from `begin` on as there are sums;
    `nearest` and `added` have room for as many."""
    cells, states = source
    form, start, slope, wildcard, penalty, incomplete = settings
    size = len(sums)
    sums[:] = 0.0
    for j in range(len(cells)):
        left_out = wildcard[j] > 0 and form[j] != STEP
        least = 0.0 if left_out else penalty[j]
        lacking = within.lacking[j, begin : begin + size]
        if states[j] == 0:
            low, high = within.low[j, begin : begin + size], within.high[j, begin : begin + size]
            for b in range(size):
                nearest[b] = min(max(cells[j], low[b]), high[b])
            empty = within.empty[j, begin : begin + size]
            if not incomplete[j]:
                add_where_present(sums, cells[j], nearest, empty, form[j], start[j], slope[j], least)
                continue
            added[:size] = 0.0
            add_where_present(added[:size], cells[j], nearest, empty, form[j], start[j], slope[j], least)
            for b in range(size):
                sums[b] += min(added[b], least) if lacking[b] else added[b]
        elif not left_out:
            for b in range(size):
                sums[b] += 0.0 if lacking[b] and not wildcard[j] else least


@kernel
def nearest_in_blocks(
    sources: Table,
    targets: Table,
    edges: IntArray,
    blocks: Bounds,
    bundles: Bounds,
    settings: Settings,
    count: IntArray,
    lowest: IntArray,
    tolerance: float,
    squared: bool,
) -> tuple[FloatArray, IntArray, IntArray, FloatArray, IntArray]:
    """For each source the border below which a target ties for nearest, the records that tie, the first of them, the
    least distance, and with how many targets it was compared.

    Bundles and then blocks are taken in the order of their bounds, until the next is beyond the border.
    """
    cells, states = sources
    queries, many, d = cells.shape[1], len(edges) - 1, cells.shape[0]
    border, nearest = np.full(queries, -1.0), np.full(queries, np.inf)
    ties, first = np.zeros(queries, dtype=np.int64), np.full(queries, -1, dtype=np.int64)
    compared = np.zeros(queries, dtype=np.int64)
    of_bundles, of_blocks = np.empty(bundles.low.shape[1]), np.empty(_BUNDLE)
    distances, shared = np.empty(_MOST_IN_BLOCK), np.empty(_MOST_IN_BLOCK)
    visited, least = np.empty(many, dtype=np.int64), np.empty(many)
    room = max(_BUNDLE, len(of_bundles))
    nearest_cell, added = np.empty(room), np.empty(room)
    cell, state = np.empty(d), np.empty(d, dtype=np.uint8)
    for q in range(queries):
        cell[:], state[:] = cells[:, q], states[:, q]
        source = cell, state
        best, reach, seen = np.inf, np.inf, 0
        _add_bounds(source, bundles, 0, settings, of_bundles, nearest_cell, added)
        while True:
            bundle = int(np.argmin(of_bundles))
            if of_bundles[bundle] > reach or of_bundles[bundle] == np.inf:
                break
            of_bundles[bundle] = np.inf
            begin, end = bundle * _BUNDLE, min(many, (bundle + 1) * _BUNDLE)
            bounds = of_blocks[: end - begin]
            _add_bounds(source, blocks, begin, settings, bounds, nearest_cell, added)
            while True:
                chosen = int(np.argmin(bounds))
                if bounds[chosen] > reach or bounds[chosen] == np.inf:
                    break
                bounds[chosen] = np.inf
                block = begin + chosen
                sums = distances[: edges[block + 1] - edges[block]]
                distances_from(source, targets, edges[block], settings, sums, shared[: len(sums)])
                visited[seen], least[seen] = block, sums.min()
                compared[q] += len(sums)
                if least[seen] < best:
                    best = least[seen]
                    reach = (np.sqrt(best) + tolerance) ** 2 if squared else best + tolerance
                seen += 1
        if best == np.inf:
            continue  # nothing in common with any target: never linked
        border[q], nearest[q] = reach, best
        for s in range(seen):
            if least[s] > reach:
                continue
            at = edges[visited[s]]
            sums = distances[: edges[visited[s] + 1] - at]
            distances_from(source, targets, at, settings, sums, shared[: len(sums)])
            for i in range(len(sums)):
                if sums[i] <= reach:
                    ties[q] += count[at + i]
                    if first[q] < 0 or lowest[at + i] < first[q]:
                        first[q] = lowest[at + i]
    return border, ties, first, nearest, compared
