"""What all microaggregation of numeric attributes shares: scaling, missing cells, publishing the group means."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from microveil.masking.base import Masked, Method
from microveil.masking.microaggregation.aggregators import group_means
from microveil.masking.microaggregation.incomplete import blocks_by_pattern, cells_to_suppress
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.microdata.microdata import check_records, count
from microveil.numerics.standard import min_max, standardise
from microveil.progress import Part, Progress
from microveil.randomness import Streams

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Scale = Literal["z", "minmax", "raw"]


class Microaggregation(Method):
    """Group the records on all attributes at once and publish the mean of each group."""

    family: ClassVar[str] = "microaggregation"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    random: ClassVar[bool] = False
    weights: ClassVar[str] = "sampling weights are not used: every record counts once in its group's mean"
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; records with the same pattern of missing cells are grouped "
        "together, rare patterns are pooled, and a value is suppressed where fewer than k members of its group have one"
    )

    k: int
    scale: Scale

    @abstractmethod
    def _groups(self, columns: FloatArray, streams: Streams, progress: Progress) -> IntArray:
        """The partitioner: labels for the rows of a matrix without missing cells, in groups of at least k."""

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        numbers = [data.numbers(name) for name in attributes]
        values = np.column_stack([column.values for column in numbers])
        states = np.column_stack([column.state for column in numbers])
        partition = self._partition(scaled(values, self.scale), states, streams, progress)
        columns, suppressed_cells = {}, 0
        for column in numbers:
            suppressed = cells_to_suppress(
                column.present, partition, self.k, missing_matches=data[column.name].missing == "wildcard"
            )
            suppressed_cells += int(suppressed.sum())
            published = group_means(column.values, partition)
            columns[column.name] = data.number_column(column.name, published, suppressed)
        notes = (f"{count(suppressed_cells, 'cell')} suppressed because of missing values",) if suppressed_cells else ()
        return Masked(columns, partition, notes=notes)

    def _partition(
        self, columns: FloatArray, states: npt.NDArray[np.uint8], streams: Streams, progress: Progress
    ) -> Partition:
        filled = np.where(np.isnan(columns), 0.0, columns)  # 0 is every attribute's mean here
        labels = np.empty(len(columns), dtype=np.int64)
        blocks = blocks_by_pattern(states, self.k)
        done = used = 0
        for records in blocks:
            part = Part(progress, done / len(labels), (done + len(records)) / len(labels))
            labels[records] = used + self._groups(filled[records], streams, part)
            used = labels[records].max() + 1
            done += len(records)
        return Partition.of(labels)


def scaled(columns: FloatArray, scale: Scale) -> FloatArray:
    """The matrix distances are taken on, with the mean of every attribute at 0."""
    if scale == "z":
        return standardise(columns)
    ready = min_max(columns) if scale == "minmax" else columns
    return np.asarray(ready - np.nanmean(np.where(np.isnan(ready).all(axis=0), 0.0, ready), axis=0))
