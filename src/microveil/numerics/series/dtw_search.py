"""Dynamic time warping between many records: all distances, and the nearest records with all ties.

The squared distance of two records is the sum over their series of the least cost of warping one into the other; a
series that one of them has no point of is left out, and the others count for it. A search passes over what cannot be
nearest. A lower bound of the cost is found without warping: a path begins at the first points and ends at the last, see
Kim, Park and Chu (2001); and every other point is compared with some point of the other series inside the band, so that
it adds at least its distance to the span of these, see Keogh and Ratanamahatana (2005), or without a band to the span
of the whole series, see Yi, Jagadish and Faloutsos (1998). Candidates are warped in the order of their bounds until a
bound exceeds the best cost, and warping stops where all paths have exceeded it. Neither changes what is found.
"""

from __future__ import annotations

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.neighbours.nearest import Links
from microveil.numerics.series.curves import Curves, distinct
from microveil.numerics.series.dtw import cost_below
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_SAFETY = 1.0 + 1e-9  # bounds are trusted up to this much, so that rounding never hides a record
_ROUNDING = 1e-12  # by how much two equal distances may differ, relative to the largest number at work


def dtw_distances(
    sources: Curves,
    targets: Curves,
    band: int | None = None,
    progress: Progress = silent,
    label: str = "warping series",
) -> FloatArray:
    """The costs between all records of two tables, (sources, targets); infinite where nothing can be compared."""
    width = _width(sources, targets, band)

    def work(start: int, end: int) -> FloatArray:
        return _all_costs(sources.at(slice(start, end)), targets, width)

    chunk = max(1, min(64, sources.records // 16))
    return np.concatenate(over_chunks(work, sources.records, chunk, progress, label))


def dtw_matrix(
    given: Curves, band: int | None = None, progress: Progress = silent, label: str = "warping series"
) -> FloatArray:
    """The costs between all records of a table, (n, n); each pair is warped once."""
    width, n = _width(given, given, band), given.records
    matrix = np.zeros((n, n))

    def work(start: int, end: int) -> None:
        _costs_after(given, start, end, width, matrix)

    over_chunks(work, n, max(1, min(64, n // 16)), progress, label)
    return np.asarray(np.triu(matrix, 1) + np.triu(matrix, 1).T)


def dtw_links(
    sources: Curves,
    targets: Curves,
    records: IntArray | None = None,
    band: int | None = None,
    progress: Progress = silent,
    label: str = "linking series",
) -> Links:
    """Link each of the named source records (all of them unless named) to the nearest target records, with all ties;
    record i's own target is record i. `nearest` is the cost, which is a squared distance."""
    rows = np.arange(sources.records) if records is None else records
    source_rows, source_of = distinct(sources.at(rows))
    target_rows, target_of = distinct(targets)
    count = np.bincount(target_of)
    lowest = np.full(len(count), np.iinfo(np.int64).max)
    np.minimum.at(lowest, target_of, np.arange(len(target_of)))
    width = _width(sources, targets, band)
    largest = max(1.0, float(np.abs(sources.cells).max()), float(np.abs(targets.cells).max()))
    low, high = _spans(target_rows)

    def work(start: int, end: int) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
        part = source_rows.at(slice(start, end))
        return _nearest_of(part, target_rows, low, high, width, count, lowest, _ROUNDING * largest)

    queries = source_rows.records
    found = over_chunks(work, queries, max(1, min(256, queries // 64)), progress, label)
    border, ties, first, nearest = (np.concatenate(parts) for parts in zip(*found, strict=True))
    own = _costs_between(source_rows, target_rows, source_of, target_of[rows], width)
    return Links(ties[source_of], first[source_of], own <= border[source_of], nearest[source_of])


def _width(sources: Curves, targets: Curves, band: int | None) -> int:
    """The width of the band as kernels take it."""
    if band is not None and band < 0:
        raise ParameterError(f"band = {band} is not allowed; it must be greater than or equal to 0")
    return max(sources.cells.shape[2], targets.cells.shape[2]) if band is None else band


def _spans(given: Curves) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest point of each series, (series, records); infinite without points."""
    inside = np.arange(given.cells.shape[2]) < given.lengths[:, :, None]
    low = np.min(given.cells, axis=2, where=inside, initial=np.inf)
    return low, np.max(given.cells, axis=2, where=inside, initial=-np.inf)


@kernel
def _cost_of(sources: Curves, s: int, targets: Curves, t: int, band: int, limit: float, row: FloatArray) -> float:
    """The cost between two records, or infinite as soon as it must exceed the limit."""
    series = sources.cells.shape[0]
    compared = 0
    for v in range(series):
        compared += sources.lengths[v, s] > 0 and targets.lengths[v, t] > 0
    if compared == 0:
        return np.inf
    share = compared / series
    cost = 0.0
    for v in range(series):
        n, m = sources.lengths[v, s], targets.lengths[v, t]
        if n > 0 and m > 0:
            cost += cost_below(sources.cells[v, s, :n], targets.cells[v, t, :m], band, limit * share - cost, row)
            if cost == np.inf:
                return np.inf
    per_series: float = cost / share
    return per_series


@kernel
def _all_costs(sources: Curves, targets: Curves, band: int) -> FloatArray:
    row = np.empty(targets.cells.shape[2] + 1)
    found = np.empty((sources.cells.shape[1], targets.cells.shape[1]))
    for s in range(found.shape[0]):
        for t in range(found.shape[1]):
            found[s, t] = _cost_of(sources, s, targets, t, band, np.inf, row)
    return found


@kernel
def _costs_after(given: Curves, start: int, end: int, band: int, matrix: FloatArray) -> None:
    """Fill the rows of a matrix from `start` to `end`, beyond the diagonal."""
    row = np.empty(given.cells.shape[2] + 1)
    for s in range(start, end):
        for t in range(s + 1, matrix.shape[1]):
            matrix[s, t] = _cost_of(given, s, given, t, band, np.inf, row)


@kernel
def _costs_between(sources: Curves, targets: Curves, these: IntArray, those: IntArray, band: int) -> FloatArray:
    row = np.empty(targets.cells.shape[2] + 1)
    found = np.empty(len(these))
    for i in range(len(these)):
        found[i] = _cost_of(sources, these[i], targets, those[i], band, np.inf, row)
    return found


@kernel
def _nearest_of(
    sources: Curves,
    targets: Curves,
    low: FloatArray,
    high: FloatArray,
    band: int,
    count: IntArray,
    lowest: IntArray,
    tolerance: float,
) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    """For each source the border below which a target ties for nearest, the records that tie, the first of them, and
    the least cost."""
    queries, size, longest = sources.cells.shape[1], targets.cells.shape[1], sources.cells.shape[2]
    row, bounds, found = np.empty(targets.cells.shape[2] + 1), np.empty(size), np.empty(size)
    below, above = np.empty((sources.cells.shape[0], longest)), np.empty((sources.cells.shape[0], longest))
    border, nearest = np.full(queries, -1.0), np.full(queries, np.inf)
    ties, first = np.zeros(queries, dtype=np.int64), np.full(queries, -1, dtype=np.int64)
    for q in range(queries):
        _envelope(sources, q, band, below, above)
        for t in range(size):
            bounds[t] = _bound(sources, q, targets, t, band, below, above, low, high)
        order = np.argsort(bounds)
        reached = 0
        best, limit = np.inf, np.inf
        for t in order:
            if bounds[t] > limit * _SAFETY:
                break
            found[t] = _cost_of(sources, q, targets, t, band, limit * _SAFETY, row)
            reached += 1
            if found[t] < best:
                best = found[t]
                limit = (np.sqrt(best) + tolerance) ** 2
        nearest[q] = best
        if best == np.inf:
            continue  # nothing in common with any target: never linked
        border[q] = limit
        for t in order[:reached]:
            if found[t] <= limit:
                ties[q] += count[t]
                if first[q] < 0 or lowest[t] < first[q]:
                    first[q] = lowest[t]
    return border, ties, first, nearest


@kernel
def _envelope(sources: Curves, q: int, band: int, below: FloatArray, above: FloatArray) -> None:
    """The lowest and the highest point of a record's series around every point of a series of the same length."""
    for v in range(sources.cells.shape[0]):
        n = sources.lengths[v, q]
        for j in range(n):
            below[v, j], above[v, j] = np.inf, -np.inf
            if j > 0 and band >= n - 1:  # the band holds the whole series, wherever it is
                below[v, j], above[v, j] = below[v, 0], above[v, 0]
                continue
            for i in range(max(0, j - band), min(n, j + band + 1)):
                below[v, j] = min(below[v, j], sources.cells[v, q, i])
                above[v, j] = max(above[v, j], sources.cells[v, q, i])


@kernel
def _bound(
    sources: Curves,
    q: int,
    targets: Curves,
    t: int,
    band: int,
    below: FloatArray,
    above: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> float:
    """What warping one record into the other costs at least."""
    series = sources.cells.shape[0]
    total, compared = 0.0, 0
    for v in range(series):
        n, m = sources.lengths[v, q], targets.lengths[v, t]
        if n == 0 or m == 0:
            continue
        compared += 1
        x, y = sources.cells[v, q, :n], targets.cells[v, t, :m]
        ends = (x[0] - y[0]) ** 2
        if n > 1 or m > 1:
            ends += (x[n - 1] - y[m - 1]) ** 2
        one = 0.0
        if n == m:  # the points of the target beside the source's in the band
            one = _outside(y, below[v], above[v])
        other = _outside_span(x, low[v, t], high[v, t])
        total += ends + max(one, other)
    return total * series / compared if compared > 0 else np.inf


@kernel
def _outside(y: FloatArray, below: FloatArray, above: FloatArray) -> float:
    """The squared distances of the inner points of a series to an envelope."""
    total = 0.0
    for j in range(1, len(y) - 1):
        excess = max(max(below[j] - y[j], y[j] - above[j]), 0.0)
        total += excess * excess
    return total


@kernel
def _outside_span(x: FloatArray, low: float, high: float) -> float:
    """The squared distances of the inner points of a series to a span."""
    total = 0.0
    for i in range(1, len(x) - 1):
        excess = max(max(low - x[i], x[i] - high), 0.0)
        total += excess * excess
    return total
