"""All targets that are nearest to a source, ties included: as sets of rows, where equal targets are one row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.neighbours.mixed_distance import Table, Terms
from microveil.numerics.neighbours.nearest import distances, distinct, link
from microveil.progress import Part, Progress, silent
from microveil.typing import FloatArray, IntArray

_CELLS = 1 << 22  # distances held at a time
_ROUNDING = 1e-12


@dataclass(frozen=True)
class NearestRows:
    """Pairs of a query and a row of equal targets that is nearest to it, by query; `row_of` is the row of a target."""

    query: IntArray
    row: IntArray
    row_of: IntArray
    queries: int

    @property
    def sizes(self) -> IntArray:
        """How many targets each row has."""
        return np.bincount(self.row_of).astype(np.int64)

    @property
    def many(self) -> IntArray:
        """How many targets are nearest to each query."""
        counts = np.bincount(self.query, weights=self.sizes[self.row], minlength=self.queries)
        return np.asarray(counts.astype(np.int64))

    def within(self, values: FloatArray, wanted: FloatArray, reach: float) -> IntArray:
        """For each query how many of its targets have a value within `reach` of the one wanted; NaN never is."""
        present = np.flatnonzero(~np.isnan(values))
        different = np.unique(values[present])
        keys = np.sort(self.row_of[present] * (len(different) + 1) + np.searchsorted(different, values[present]))
        middle, base = wanted[self.query], self.row * (len(different) + 1)
        low = np.searchsorted(keys, base + np.searchsorted(different, middle - reach, side="left"))
        high = np.searchsorted(keys, base + np.searchsorted(different, middle + reach, side="right"))
        found = np.bincount(self.query, weights=np.where(np.isnan(middle), 0, high - low), minlength=self.queries)
        return np.asarray(found.astype(np.int64))

    def members(self) -> tuple[IntArray, IntArray]:
        """Pairs of a query and a target that is nearest to it."""
        order, sizes = np.argsort(self.row_of, kind="stable"), self.sizes
        starts, many = (np.cumsum(sizes) - sizes)[self.row], sizes[self.row]
        positions = np.repeat(starts - (np.cumsum(many) - many), many) + np.arange(many.sum())
        return np.repeat(self.query, many), order[positions]


def nearest_rows(
    sources: Table, targets: Table, terms: Terms, records: IntArray, progress: Progress, label: str
) -> NearestRows:
    """The targets nearest to each of the named source records; all of them where nothing can be compared.

    >>> numbers = Table(np.array([[0.0, 0.0, 2.0, 2.0]]), np.zeros((1, 4), dtype=np.uint8))
    >>> none = np.zeros(1)
    >>> terms = Terms(np.zeros(1, dtype=np.int64), none, none, np.zeros(1, dtype=np.bool_), none)
    >>> middle = Table(np.array([[1.0, 0.3, 0.0, 0.0]]), numbers.states)
    >>> nearest_rows(middle, numbers, terms, np.arange(4), silent, "").many.tolist()
    [4, 2, 2, 2]
    """
    rows, row_of = distinct(targets)
    if len(terms.form) == 0:
        everyone = np.zeros(len(records), dtype=np.int64)
        return NearestRows(np.arange(len(records)), everyone, row_of, len(records))
    _, alike = distinct(sources.at(records))
    _, first = np.unique(alike, return_index=True)
    links = link(sources, targets, terms, records[first], Part(progress, 0.0, 0.9), label)
    row = np.where(links.first >= 0, row_of[links.first], -1)
    single = (row >= 0) & (links.ties == np.bincount(row_of)[row])
    several = np.flatnonzero(~single)
    queries, found = _tied(sources, rows, terms, records[first[several]], Part(progress, 0.9, 1.0), label)
    case = np.concatenate([np.flatnonzero(single), several[queries]])
    found = np.concatenate([row[single], found])
    order = np.argsort(case, kind="stable")
    case, found = case[order], found[order]
    many = np.bincount(case, minlength=len(first))
    starts, of_query = (np.cumsum(many) - many)[alike], many[alike]
    positions = np.repeat(starts - (np.cumsum(of_query) - of_query), of_query) + np.arange(of_query.sum())
    return NearestRows(np.repeat(np.arange(len(records)), of_query), found[positions], row_of, len(records))


def _tied(
    sources: Table, rows: Table, terms: Terms, records: IntArray, progress: Progress, label: str
) -> tuple[IntArray, IntArray]:
    """Pairs of a record (by its position among those named) and a row that ties for nearest."""
    reach = [float(np.abs(table.cells).max(initial=0.0)) for table in (sources, rows)]
    tolerance = _ROUNDING * max(1.0, *reach)
    chunk = max(1, _CELLS // max(1, rows.cells.shape[1]))
    queries, found = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for start in range(0, len(records), chunk):
        these = records[start : start + chunk]
        apart = distances(sources.at(these), rows, terms, silent, label)
        best = apart.min(axis=1, keepdims=True)
        border = (np.sqrt(best) + tolerance) ** 2 if terms.is_squared else best + tolerance
        query, row = np.nonzero(apart <= border)
        queries.append(start + query)
        found.append(row)
        progress(min(1.0, (start + chunk) / len(records)), label)
    return np.concatenate(queries), np.concatenate(found)
