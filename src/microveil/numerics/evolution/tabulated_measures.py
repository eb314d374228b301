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

    def of(self, masked: IntArray, *, probabilistic: bool = True) -> Measures:
        """All measures of a masked file; linkage by match weight may be left out."""
        tables = [
            np.bincount(start + column, minlength=size * size).reshape(size, size)
            for start, column, size in zip(self._row_starts, masked.T, self._sizes, strict=True)
        ]
        return Measures(
            ctbil=self._ctbil(masked, tables),
            dbil=100 * sum(float((t * d).sum()) for t, d in zip(tables, self._moved, strict=True)) / masked.size,
            ebil=self._ebil(tables),
            interval=self._interval(tables),
            dbrl=100 * self._nearest.linked(masked),
            prl=self.measures.prl(masked) if probabilistic else 0.0,
        )

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
        places = [np.arange(size) for size in self._sizes]
        return [d(p[:, None], p[None, :]) for d, p in zip(self.measures.loss_distances, places, strict=True)]

    @cached_property
    def _nearest(self) -> NearestCombinations:
        return NearestCombinations.of(self.measures.original, self.measures.sizes, self.measures.link_distances)

    @cached_property
    def _crossed(self) -> dict[tuple[int, ...], IntArray]:
        """The counts of the original in tables of several attributes."""
        several = [subset for subset in self.measures.subsets if len(subset) > 1]
        return {subset: self._counts(self.measures.original, subset) for subset in several}

    def _counts(self, codes: IntArray, subset: tuple[int, ...]) -> IntArray:
        key, cells = codes[:, subset[0]], self._sizes[subset[0]]
        for j in subset[1:]:
            key, cells = key * self._sizes[j] + codes[:, j], cells * self._sizes[j]
        return np.bincount(key, minlength=cells)

    def _ctbil(self, masked: IntArray, tables: Sequence[IntArray]) -> float:
        moved = sum(int(np.abs(table.sum(axis=0) - table.sum(axis=1)).sum()) for table in tables)
        for subset, known in self._crossed.items():
            moved += int(np.abs(self._counts(masked, subset) - known).sum())
        return 100 * moved / (2 * len(masked) * len(self.measures.subsets))

    def _ebil(self, tables: Sequence[IntArray]) -> float:
        shares = []
        for table, size in zip(tables, self.measures.loss_sizes.tolist(), strict=True):
            present = table > 0
            of_masked = np.broadcast_to(table.sum(axis=0), table.shape)[present]
            bits = float((table[present] * np.log2(of_masked / table[present])).sum())
            shares.append(bits / (len(self.measures.original) * log2(size)) if size > 1 else 0.0)
        return 100 * sum(shares) / len(shares)

    def _interval(self, tables: Sequence[IntArray]) -> float:
        n, widths = len(self.measures.original), np.sort(self.measures.conventions.widths)
        found = 0
        for table, is_ordinal in zip(tables, self.measures.ordinal.tolist(), strict=True):
            if not is_ordinal:
                found += len(widths) * int(np.trace(table))
                continue
            counts = table.sum(axis=0)
            middle = np.cumsum(counts) - counts + (counts + 1) / 2
            apart = np.abs(middle[:, None] - middle[None, :])  # 0 where a category is unchanged
            found += int((table * (len(widths) - np.searchsorted(widths * n / 100, apart))).sum())
        return 100 * found / (n * len(tables) * len(widths))
