"""Distances from known to released records, over attributes with values and attributes with labels for several values.

Without labels everything is left to the compiled search. Labels cover the released records of whole groups, so there
are few different ones; then distances are taken in chunks of known records to all distinct released ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from microveil.comparison.labels import Labels
from microveil.numerics.core.compiled import over_chunks
from microveil.numerics.linkage.pair_sums import add_from_table
from microveil.numerics.neighbours.mixed_distance import Table, Terms
from microveil.numerics.neighbours.nearest import Links, OwnRanks, distances, distinct, link, ranks_of_own
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

Result = TypeVar("Result")

_AT_ONCE = 1 << 20  # distances in a chunk
_ROUNDING = 1e-12  # by how much two equal distances may differ, over the largest number at work
_ASKED = 500  # distinct records from which the cost of a missing cell is taken
_UNLIKE_ANY = 255  # a state that no released cell has
_LESS_COMPLETE = 1e-6  # of equally near records the more complete is nearer, by this share of a cell


@dataclass(frozen=True)
class DistinctCells:
    """The distinct cells that some records have in an attribute with labels, with their missing states, and which of
    these each record has."""

    cells: npt.NDArray[Any]
    reasons: IntArray
    of_record: IntArray


@dataclass(frozen=True)
class Prepared:
    """Some records of one file as they are compared: their columns with values, and their distinct cells in those
    with labels."""

    table: Table
    distinct_cells: tuple[DistinctCells, ...]

    def __len__(self) -> int:
        return int(self.table.cells.shape[1])


@dataclass(frozen=True)
class Labelled:
    """An attribute with labels, and what it adds to a distance.

    `cost` makes a distance of the gap between a value and what its label covers, `squared` or not. Where a wildcard is
    missing `unknown` is added, where cells are missing for different reasons `penalty`.
    """

    labels: Labels
    cost: Callable[[FloatArray], FloatArray]
    wildcard: bool
    unknown: float
    penalty: float
    squared: bool = False

    def distinct_known(self, records: IntArray) -> DistinctCells:
        """The distinct cells of some known records: their values, 0 where missing, and their states."""
        states = self.labels.states[records].astype(np.int64)
        values, value_of = np.unique(np.where(states > 0, -np.inf, self.labels.values[records]), return_inverse=True)
        kinds, row_of = np.unique(value_of * (_UNLIKE_ANY + 1) + states, return_inverse=True)
        cells, reasons = values[kinds // (_UNLIKE_ANY + 1)], kinds % (_UNLIKE_ANY + 1)
        return DistinctCells(np.where(reasons > 0, 0.0, cells), reasons, row_of)

    def distinct_released(self, records: IntArray) -> DistinctCells:
        """The distinct cells of some released records: their labels, 0 where missing, and their states."""
        codes, column_of = np.unique(self.labels.codes[records], return_inverse=True)
        return DistinctCells(np.maximum(codes, 0), np.maximum(-codes, 0), column_of)

    def add_to(self, apart: FloatArray, known: DistinctCells, released: DistinctCells) -> None:
        """Add the attribute's part to the distances of some known records to some released ones."""
        reasons = known.reasons[:, None]
        gaps = self.labels.regions.gaps(known.cells, released.cells)
        lacking = self.unknown if self.wildcard else np.where(reasons == released.reasons, 0.0, self.penalty)
        table = np.where((reasons > 0) | (released.reasons > 0), lacking, self.cost(gaps))
        add_from_table(apart, table, known.of_record, released.of_record)


@dataclass(frozen=True)
class Comparison:
    """Record i of `known` is the true version of record i of `released`; their columns are those with values.

    `plain` and `labelled` are the numbers of the attributes with values and with labels. If `flipped`, the released
    records look for their nearest known one. The sums of distances may be indices into a table, as in the terms.
    """

    known: Table
    released: Table
    terms: Terms
    plain: tuple[int, ...]
    labelled: dict[int, Labelled]
    flipped: bool = False

    def of(self, chosen: Sequence[int]) -> Comparison:
        """On some of the attributes."""
        columns = [self.plain.index(j) for j in chosen if j in self.plain]
        kept = {j: self.labelled[j] for j in chosen if j in self.labelled}
        tables = self.known.of(columns), self.released.of(columns), self.terms.of(columns)
        return replace(self, plain=tuple(self.plain[c] for c in columns), labelled=kept).between(*tables)

    def between(self, known: Table, released: Table, terms: Terms) -> Comparison:
        """The same with other columns of values."""
        return replace(self, known=known, released=released, terms=terms)

    # --- who is nearest --------------------------------------------------------------------------------------------

    def link(self, records: IntArray, progress: Progress, label: str) -> Links:
        """Each of these records linked to the nearest of the other file."""
        if not self.labelled:
            sources, targets = (self.released, self.known) if self.flipped else (self.known, self.released)
            return link(sources, targets, self.terms, records, progress, label)
        _, distinct_of = self._targets
        count, never = np.bincount(distinct_of), len(distinct_of)
        lowest = np.full(len(count), never)
        np.minimum.at(lowest, distinct_of, np.arange(len(distinct_of)))

        def linked(chunk: IntArray, apart: FloatArray) -> tuple[IntArray, IntArray, BoolArray, FloatArray]:
            tied, nearest = self._tied(apart)
            row, target = np.divmod(np.flatnonzero(tied), len(count))
            ties, first = np.zeros(len(chunk), dtype=np.int64), np.full(len(chunk), never)
            np.add.at(ties, row, count[target])
            np.minimum.at(first, row, lowest[target])
            own = tied[np.arange(len(chunk)), distinct_of[chunk]]
            return ties, np.where(first < never, first, -1), own, nearest

        found = self._over_sources(records, linked, progress, label)
        return Links(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def ranks_of_own(self, records: IntArray, enough: int, progress: Progress, label: str) -> OwnRanks:
        """Where each of these records' own record stands among those of the other file."""
        if not self.labelled:
            sources, targets = (self.released, self.known) if self.flipped else (self.known, self.released)
            return ranks_of_own(sources, targets, self.terms, records, enough, progress, label)
        _, distinct_of = self._targets
        count = np.bincount(distinct_of)

        def ranked(chunk: IntArray, apart: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
            reached = apart[np.arange(len(chunk)), distinct_of[chunk]]
            closer = apart < self._border(reached, -1)[:, None]
            tied = ~closer & (apart <= self._border(reached, 1)[:, None])
            earlier = np.array([np.count_nonzero(tied[q, distinct_of[:own]]) for q, own in enumerate(chunk)])
            return np.where(np.isinf(reached), enough, closer @ count), tied @ count, earlier

        found = self._over_sources(records, ranked, progress, label)
        return OwnRanks(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def nearest_released(self, records: IntArray) -> BoolArray:
        """Which released records are nearest to each of these few known ones, a row for each; none where all are
        infinitely far."""
        tied, _ = self._tied(self._apart(self._prepare_known(records), self._every_released))
        return tied[:, self.distinct_records[1][1]]

    @cached_property
    def _every_released(self) -> Prepared:
        return self._prepare_released(self.distinct_records[1][0])

    def distances(self, progress: Progress, label: str) -> tuple[FloatArray, IntArray, IntArray]:
        """The distances of all distinct records, and which of these each known and each released record is."""
        (rows, row_of), (_, column_of) = self.distinct_records
        chunks = self.over_known(np.arange(len(rows)), lambda _, apart: apart, progress, label)
        return np.concatenate(chunks), row_of, column_of

    def _tied(self, apart: FloatArray) -> tuple[BoolArray, FloatArray]:
        """Which records are nearest in each row of distances, and how near they are; none where all are infinite."""
        nearest = apart.min(axis=1)
        return (apart <= self._border(nearest, 1)[:, None]) & np.isfinite(nearest)[:, None], nearest

    def _border(self, distance: FloatArray, side: int) -> FloatArray:
        """The distance that just counts as different from this one."""
        tolerance = side * self._tolerance
        if self.terms.is_squared or any(one.squared for one in self.labelled.values()):
            return np.maximum(np.sqrt(distance) + tolerance, 0.0) ** 2
        return distance + tolerance

    @cached_property
    def _tolerance(self) -> float:
        values = [np.nan_to_num(one.labels.values) for one in self.labelled.values()]
        largest = [float(np.abs(cells).max(initial=1.0)) for cells in (self.known.cells, self.released.cells, *values)]
        return _ROUNDING * max(largest)

    def all_missing(self, records: IntArray) -> BoolArray:
        """Whether all cells of the records that look for their nearest are missing wildcards."""
        sources = self.released if self.flipped else self.known
        missing = (sources.states[:, records] > 0) & self.terms.wildcard[:, None]
        lacking = [one.labels.codes < 0 if self.flipped else one.labels.states > 0 for one in self.labelled.values()]
        wildcards = [one.wildcard for one in self.labelled.values()]
        parts = [missing.all(axis=0), *(cells[records] & wild for cells, wild in zip(lacking, wildcards, strict=True))]
        return np.asarray(np.logical_and.reduce(parts))

    # --- what a missing cell costs ---------------------------------------------------------------------------------

    def charging_for_wildcards(self) -> Comparison:
        """The same, but a missing wildcard is not left out: it costs what its attribute typically differs by.

        That is the mean over pairs of a known record and the nearest released one, which are first found with the cost
        in the terms, that of two records picked at random. Of records equally near the more complete is nearer.
        """
        unsure = [j for j in self.costs_at_random if self.lacks(j)]
        return self.charging(self.charging()._typical(unsure)) if unsure else self

    @property
    def costs_at_random(self) -> dict[int, float]:
        """What a missing wildcard of each attribute costs that differs as much as two records picked at random."""
        costs = dict(zip(self.plain, self.terms.penalty.tolist(), strict=True))
        return costs | {j: one.unknown for j, one in self.labelled.items()}

    def charging(self, typical: Mapping[int, float] | None = None) -> Comparison:
        """The same, but a missing wildcard costs what is typical of its attribute, where that is known, and a very
        little more, so that of records equally near the more complete is nearer; else what it costs at random."""
        costs = self.costs_at_random
        if typical is None:
            return self._charging(costs)
        return self._charging({j: typical.get(j, cost) + _LESS_COMPLETE * cost for j, cost in costs.items()})

    def lacks(self, attribute: int) -> bool:
        """Whether a wildcard of this attribute is missing."""
        if attribute in self.labelled:
            one = self.labelled[attribute]
            return one.wildcard and bool(one.labels.states.any() or (one.labels.codes < 0).any())
        column = self.plain.index(attribute)
        missing = self.known.states[column].any() or self.released.states[column].any()
        return bool(self.terms.wildcard[column] and missing)

    def _charging(self, cost: Mapping[int, float]) -> Comparison:
        wildcard = self.terms.wildcard
        unlike = np.where(wildcard[:, None] & (self.known.states > 0), _UNLIKE_ANY, self.known.states)
        costs = np.array([cost[j] for j in self.plain])
        terms = replace(
            self.terms,
            wildcard=np.zeros_like(wildcard),
            penalty=np.where(wildcard, costs, self.terms.penalty),
        )
        labelled = {j: replace(one, unknown=cost[j]) for j, one in self.labelled.items()}
        known = Table(self.known.cells, unlike.astype(np.uint8))
        return replace(self, labelled=labelled).between(known, self.released, terms)

    def _typical(self, attributes: Sequence[int]) -> dict[int, float]:
        """How far apart, in each of these attributes, known records and the released ones nearest to them are."""
        (rows, row_of), (columns, column_of) = self.distinct_records
        asked = np.unique(np.linspace(0, len(rows) - 1, _ASKED).astype(np.int64))
        alone = [self.of([j]) for j in attributes]
        prepared = [one._prepare_released(columns) for one in alone]

        def differing(chunk: IntArray, apart: FloatArray) -> FloatArray:
            """For each attribute the sum of differences between nearest records that both tell it, and their number."""
            chance = self._tied(apart)[0] * np.bincount(column_of)
            chance = chance / np.maximum(chance.sum(axis=1, keepdims=True), 1) * np.bincount(row_of)[chunk][:, None]
            sums = np.empty((2, len(alone)))
            for j, one in enumerate(alone):
                share = np.where(one._both_present(rows[chunk], columns), chance, 0.0)
                added = np.where(share > 0, one._apart(one._prepare_known(rows[chunk]), prepared[j]), 0.0)
                sums[:, j] = (share * added).sum(), share.sum()
            return sums

        sums, numbers = np.sum(self.over_known(asked, differing, silent, ""), axis=0)
        return {j: sums[position] / numbers[position] for position, j in enumerate(attributes) if numbers[position] > 0}

    def _both_present(self, known: IntArray, released: IntArray) -> BoolArray:
        """Which pairs of records have a value in every attribute in both."""
        before, after = (table.states == 0 for table in (self.known, self.released))
        present: BoolArray = before[:, known].all(axis=0)[:, None] & after[:, released].all(axis=0)
        for one in self.labelled.values():
            present = present & ((one.labels.states[known] == 0)[:, None] & (one.labels.codes[released] >= 0))
        return present

    # --- distances in chunks ---------------------------------------------------------------------------------------

    @cached_property
    def distinct_records(self) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
        """The rows of the distinct records in the known and in the released file, and the one that each record equals.

        Distinct records are in an order that does not depend on that of the files.
        """
        labels = [one.labels for one in self.labelled.values()]
        known = [Table(np.where(one.states > 0, 0.0, one.values)[None], one.states[None]) for one in labels]
        released = [
            Table(one.codes.astype(np.float64)[None], np.zeros((1, len(one.codes)), dtype=np.uint8)) for one in labels
        ]
        return _distinct([self.known, *known]), _distinct([self.released, *released])

    def over_known(
        self, records: IntArray, work: Callable[[IntArray, FloatArray], Result], progress: Progress, label: str
    ) -> list[Result]:
        """What `work` makes of these distinct known records with their distances to all distinct released ones, chunk
        by chunk."""
        (rows, _), (columns, _) = self.distinct_records
        released = self._prepare_released(columns)

        def over(start: int, end: int) -> Result:
            return work(records[start:end], self._apart(self._prepare_known(rows[records[start:end]]), released))

        return over_chunks(over, len(records), max(1, _AT_ONCE // len(columns)), progress, label)

    def _over_sources(
        self, records: IntArray, work: Callable[[IntArray, FloatArray], Result], progress: Progress, label: str
    ) -> list[Result]:
        """The same for records that look for their nearest, with their distances to the distinct records of the other
        file."""
        targets, _ = self._targets
        prepared = self._prepare_known(targets) if self.flipped else self._prepare_released(targets)

        def over(start: int, end: int) -> Result:
            these = records[start:end]
            if self.flipped:
                return work(these, self._apart(prepared, self._prepare_released(these)).T)
            return work(these, self._apart(self._prepare_known(these), prepared))

        return over_chunks(over, len(records), max(1, _AT_ONCE // len(targets)), progress, label)

    @property
    def _targets(self) -> tuple[IntArray, IntArray]:
        return self.distinct_records[0 if self.flipped else 1]

    def _prepare_known(self, records: IntArray) -> Prepared:
        distinct_cells = tuple(one.distinct_known(records) for one in self.labelled.values())
        return Prepared(_records(self.known, records), distinct_cells)

    def _prepare_released(self, records: IntArray) -> Prepared:
        distinct_cells = tuple(one.distinct_released(records) for one in self.labelled.values())
        return Prepared(_records(self.released, records), distinct_cells)

    def _apart(self, known: Prepared, released: Prepared) -> FloatArray:
        """The distances of some known records to some released ones."""
        if self.plain:
            apart = distances(known.table, released.table, replace(self.terms, table=None), silent, "")
        else:
            apart = np.zeros((len(known), len(released)))
        for one, before, after in zip(
            self.labelled.values(), known.distinct_cells, released.distinct_cells, strict=True
        ):
            one.add_to(apart, before, after)
        if self.terms.table is None:
            return apart
        indices = np.where(np.isinf(apart), 0.0, apart).astype(np.int64)
        return np.where(np.isinf(apart), np.inf, self.terms.table[indices])


def _records(table: Table, records: IntArray) -> Table:
    return table.at(records).contiguous()


def _distinct(tables: Sequence[Table]) -> tuple[IntArray, IntArray]:
    cells, states = np.vstack([one.cells for one in tables]), np.vstack([one.states for one in tables])
    _, distinct_of = distinct(Table(cells, states))
    return np.unique(distinct_of, return_index=True)[1], distinct_of
