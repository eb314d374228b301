"""Microaggregation is preparation, grouping and publishing, each of which goes with any of the others.

A method of this family says only how records are grouped (`_groups`). Which attributes are masked together, on what
scale and in which parts of the file are settings of the preparation; what a group publishes are those of the
publishing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa

from microveil.masking.base import Masked, Method, OverRecords
from microveil.masking.microaggregation.classification import Traits
from microveil.masking.notes import Note
from microveil.masking.partition import Partition
from microveil.masking.preparation import Preparation
from microveil.masking.publishing.aggregate import Aggregate
from microveil.masking.publishing.missing_cells import Emptied
from microveil.masking.publishing.publishing import Publishing
from microveil.microdata import Attribute, Microdata
from microveil.microdata.microdata import check_records
from microveil.numerics.grouping.groups import joined_labels
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

__all__ = ["Microaggregation", "Partitioner", "Records"]


@dataclass(frozen=True)
class Records:
    """What a partitioner may know besides the matrix: the table, the attributes, and which records the rows are."""

    data: Microdata
    attributes: tuple[str, ...]
    rows: IntArray


Partitioner = Callable[[FloatArray, Records, np.random.Generator, Progress], IntArray]


@parameterised
class Microaggregation(Method):
    """Group the records on some attributes at once and publish one value for each group and attribute."""

    family: ClassVar[str] = "microaggregation"
    traits: ClassVar[Traits] = Traits("multivariate", "data-oriented", "heuristic")
    suppresses: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    random: ClassVar[bool] = False
    weights: ClassVar[str] = "not used for grouping; with weighted=true group means are weighted by them"
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; records with the same pattern of missing cells are "
        "grouped together, rare patterns are pooled, and a value is suppressed where fewer than k members of its "
        "group have one. Where missing is not a wildcard, an attribute that is missing for some members of a "
        "pooled group only is suppressed for all of them, missing codes included"
    )

    k: int = parameter(default=3, help="smallest size of a group", ge=2, le=MOST_RECORDS)
    polish: int | None = parameter(
        default=0,
        help="number of exchanges between groups that are tried for each record afterwards, to lower the loss; 0: no "
        "exchanges; set to none: as many as take ten to twenty seconds, or a few times what mdav does",
        ge=0,
        le=10_000_000,
    )
    preparation: Preparation = parameter(default=Preparation(), help="what happens before records are grouped")
    publishing: Publishing = parameter(default=Aggregate(), help="what a group publishes")

    @property
    def draws(self) -> bool:
        return self.random or self.publishing.draws

    @property
    def works_over(self) -> OverRecords:
        """Those that group by distances can do so in blocks of similar records where a group publishes an aggregate,
        and nothing else depends on which records are at hand."""
        if self.over_records != "neighbours":
            return self.over_records
        publishes_alike = isinstance(self.publishing, Aggregate) and not self.draws
        is_possible = publishes_alike and self.polish == 0 and self.preparation.is_of_any_records and self._keeps_k
        return "neighbours" if is_possible else "whole table"

    @property
    def _keeps_k(self) -> bool:
        """Whether every group has k records or more."""
        return True

    @abstractmethod
    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        """The partitioner: labels for the rows of a matrix without missing cells, in groups of at least k."""

    def _partitioner(self, data: Microdata) -> Partitioner:
        """The partitioner of one table; what it needs to know of all records is found here, once."""
        return self._groups

    def _fewest(self) -> int:
        """How many members of a group must have a value for it to be published."""
        return self.k

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        self.publishing.check_table(data, attributes, self.name)
        columns: dict[str, pa.Array] = {}
        described: list[Attribute] = []
        notes: list[Note] = []
        partitions, emptied = {}, Emptied()
        blocks = self.preparation.blocks(data, attributes, self.name)
        for block, part in zip(blocks, parts(progress, len(blocks)), strict=True):
            found = self._partitions(data, block, streams.generator("groups", *block), part, runs=len(blocks))
            partition = self._least_loss(data, block, found, streams)
            published = self.publishing.of_groups(data, block, partition, self._fewest(), streams, self.name)
            emptied += published.emptied
            columns |= published.columns
            described += published.attributes
            notes += published.notes
            partitions[block] = partition
        return Masked(columns, partitions, notes=(*emptied.notes, *notes), attributes=tuple(described))

    def _least_loss(
        self, data: Microdata, block: tuple[str, ...], found: list[Partition], streams: Streams
    ) -> Partition:
        """The partition that loses least when it is published.

        What polishing lowers is not quite that with medians, weights, missing cells or another scale. Where distances
        are those of series it is what was asked for.
        """
        if len(found) == 1 or self.preparation.compares_series:
            return found[0]

        def lost(partition: Partition) -> float:
            judge = self.publishing.judged_by
            return judge.of_groups(data, block, partition, self._fewest(), streams, self.name).lost(data)

        return min(found, key=lost)

    def _partitions(
        self, data: Microdata, names: tuple[str, ...], rng: np.random.Generator, progress: Progress, *, runs: int
    ) -> list[Partition]:
        """The partition on some attributes, and where it is polished the one before as well.

        `runs` is for how many blocks of attributes the work by default is meant to suffice.
        """
        if self.preparation.distance == "dtw":  # most of the work is warping
            warping, progress = Part(progress, 0.0, 0.7), Part(progress, 0.7, 1.0)
        else:
            warping = Part(progress, 0.0, 0.0)
        columns, columns_of = self.preparation.coordinates(data, names, warping)
        filled = np.where(np.isnan(columns), 0.0, columns)  # 0 is the mean of a column with missing cells
        choices = self.preparation.choices(data, names, self.name)
        partitioner = self._partitioner(data)
        rows_of_parts = self.preparation.parts_of_the_file(data, names, filled, self.k)
        steps, seconds = self._budget(len(data), runs * len(choices))
        made: list[list[IntArray]] = []
        for choice, part in zip(choices, parts(progress, len(choices)), strict=True):
            chosen = tuple(names[j] for j in choice)
            taken = [column for j in choice for column in columns_of[j]]
            group = partial(self._polished_groups, partitioner, data, chosen, filled, taken, rng, steps, seconds)
            made.append(self._labels(rows_of_parts, group, part))
        return [
            Partition.of(min(found, key=lambda labels: _loss(filled, labels)) if len(found) > 1 else found[0])
            for found in zip(*made, strict=True)
        ]

    def _budget(self, records: int, runs: int) -> tuple[int, float | None]:
        """How many steps for each record, and how many seconds if they are limited, one of so many runs may take."""
        if self.polish is not None:
            return self.polish, None
        from microveil.numerics.grouping.local_search import default_steps

        return default_steps(records, runs), None

    def _labels(
        self,
        rows_of_parts: Sequence[IntArray],
        group: Callable[[IntArray, Progress], list[IntArray]],
        progress: Progress,
    ) -> list[IntArray]:
        """The groups of all records, part of the file by part; several where `group` makes several."""
        records, done = sum(map(len, rows_of_parts)), 0
        found = []
        for rows in rows_of_parts:
            found.append(group(rows, Part(progress, done / records, (done + len(rows)) / records)))
            done += len(rows)
        return [joined_labels(rows_of_parts, made) for made in zip(*found, strict=True)]

    def _polished_groups(
        self,
        partitioner: Partitioner,
        data: Microdata,
        names: tuple[str, ...],
        filled: FloatArray,
        taken: list[int],
        rng: np.random.Generator,
        steps: int,
        seconds: float | None,
        rows: IntArray,
        progress: Progress,
    ) -> list[IntArray]:
        """Groups of some records made on some columns; where asked for, polished on all of them, and as they were."""
        columns, records = filled[rows], Records(data, names, rows)
        chosen = np.ascontiguousarray(columns[:, taken])
        if self.polish == 0:
            return [partitioner(chosen, records, rng, progress)]
        from microveil.numerics.grouping.local_search import polish_groups

        made = partitioner(chosen, records, rng, Part(progress, 0.0, 0.1))
        ours = None if seconds is None else seconds * len(rows) / len(data)
        search = Part(progress, 0.1, 1.0)
        polished = polish_groups(columns, made, self.k, steps * len(columns), rng, search, seconds=ours)
        return [polished, made]


def _loss(columns: FloatArray, labels: IntArray) -> float:
    from microveil.numerics.grouping.local_search import loss_within

    return loss_within(columns, labels)
