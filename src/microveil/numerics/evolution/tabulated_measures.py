"""The measures of many masked versions of one original with few categories, from tables instead of records.

Whatever is about one attribute follows from the table of its original and masked categories, and what the original has
to do with it is computed once. The numbers are those of `CategoricalMeasures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2, prod

import numpy as np

from microveil.numerics.evolution.categorical_measures import CategoricalMeasures, Measures
from microveil.numerics.evolution.nearest_combinations import NearestCombinations
from microveil.typing import FloatArray, IntArray

MOST_COMBINATIONS = 1_000_000  # of categories, for which tables are laid out


@dataclass(frozen=True)
class TabulatedMeasures:
    """The measures of masked versions of the original that `measures` holds."""

    measures: CategoricalMeasures

    @classmethod
    def suits(cls, measures: CategoricalMeasures) -> bool:
        """Whether there are few enough combinations of categories for tables."""
        return bool(prod(measures.sizes.tolist()) <= MOST_COMBINATIONS)

    def of(self, masked: IntArray, *, probabilistic: bool = True) -> list[Measures]:
        """All measures of several masked files, one below the other; linkage by match weight may be left out."""
        n = len(self.measures.original)
        files = masked.reshape(-1, n, len(self._sizes))
        number = np.repeat(np.arange(len(files)), n)
        tables = []  # for each attribute one of original and masked categories for each file
        for start, column, size in zip(self._row_starts, masked.T, self._sizes, strict=True):
            cells = np.tile(start, len(files)) + column + number * size * size
            tables.append(np.bincount(cells, minlength=len(files) * size * size).reshape(-1, size, size))
        parts = (
            self._ctbil(masked, number, tables),
            100 * sum((t * d).sum(axis=(1, 2)) for t, d in zip(tables, self._moved, strict=True)) / files[0].size,
            self._ebil(tables),
            self._interval(tables),
            100 * self._nearest.linked(masked),
            np.array([self.measures.prl(file) if probabilistic else 0.0 for file in files]),
        )
        return [Measures(*values) for values in np.column_stack(parts).tolist()]

    @cached_property
    def _sizes(self) -> list[int]:
        return [int(size) for size in self.measures.sizes]

    @cached_property
    def _row_starts(self) -> list[IntArray]:
        """For each record where the row of its original category starts in a table laid out row by row."""
        return [column * size for column, size in zip(self.measures.original.T, self._sizes, strict=True)]

    @cached_property
    def _moved(self) -> list[FloatArray]:
        """The distances between the categories of each attribute."""
        positions = [np.arange(size) for size in self._sizes]
        return [d(p[:, None], p[None, :]) for d, p in zip(self.measures.loss_distances, positions, strict=True)]

    @cached_property
    def _nearest(self) -> NearestCombinations:
        measures = self.measures
        return NearestCombinations.of(
            measures.original, measures.sizes, measures.ordinal, measures.conventions.link_distance
        )

    @cached_property
    def _crossed(self) -> dict[tuple[int, ...], IntArray]:
        """The counts of the original in tables of several attributes."""
        several = [subset for subset in self.measures.subsets if len(subset) > 1]
        return {subset: self._counts(self.measures.original, subset, 1) for subset in several}

    def _counts(self, codes: IntArray, subset: tuple[int, ...], files: int, number: IntArray | int = 0) -> IntArray:
        """For each file the counts of the combinations of some attributes."""
        key, cells = number, 1
        for j in subset:
            key, cells = key * self._sizes[j] + codes[:, j], cells * self._sizes[j]
        return np.bincount(key, minlength=files * cells).reshape(files, cells)

    def _ctbil(self, masked: IntArray, number: IntArray, tables: Sequence[IntArray]) -> FloatArray:
        moved = sum(np.abs(table.sum(axis=1) - table.sum(axis=2)).sum(axis=1) for table in tables)
        for subset, known in self._crossed.items():
            moved += np.abs(self._counts(masked, subset, len(tables[0]), number) - known).sum(axis=1)
        return np.asarray(100 * moved / (2 * len(self.measures.original) * len(self.measures.subsets)))

    def _ebil(self, tables: Sequence[IntArray]) -> FloatArray:
        shares = np.zeros(len(tables[0]))
        for table, size in zip(tables, self.measures.loss_sizes.tolist(), strict=True):
            of_masked = table.sum(axis=1, keepdims=True)
            bits = table * np.log2(np.divide(of_masked, table, out=np.ones(table.shape), where=table > 0))
            shares += bits.sum(axis=(1, 2)) / log2(size) if size > 1 else 0.0
        return np.asarray(100 * shares / (len(tables) * len(self.measures.original)))

    def _interval(self, tables: Sequence[IntArray]) -> FloatArray:
        n, widths = len(self.measures.original), np.sort(self.measures.conventions.widths)
        found = np.zeros(len(tables[0]))
        for table, is_ordinal in zip(tables, self.measures.ordinal.tolist(), strict=True):
            if not is_ordinal:
                found += len(widths) * np.trace(table, axis1=1, axis2=2)
                continue
            counts = table.sum(axis=1)
            middle = np.cumsum(counts, axis=1) - counts + (counts + 1) / 2
            apart = np.abs(middle[:, :, None] - middle[:, None, :])  # 0 where a category is unchanged
            found += (table * (len(widths) - np.searchsorted(widths * n / 100, apart))).sum(axis=(1, 2))
        return np.asarray(100 * found / (n * len(tables) * len(widths)))
