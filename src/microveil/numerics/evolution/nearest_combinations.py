"""Linkage of combinations of categories by distance, where one original is linked with many masked versions of it.

Which originals are nearest to a combination depends on the original alone, so it is found once for each combination
that turns up, and every further masked file costs no more than looking it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.neighbours.category_distance import CategoryDistance, OrdinalDistance, category_distance
from microveil.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-12
_AT_ONCE = 2_000_000  # distances held at a time


@dataclass(frozen=True)
class NearestCombinations:
    """For each combination the distance to the nearest original record, and how many of these there are.

    `least` is NaN for a combination that was not asked for yet.
    """

    original: IntArray
    sizes: tuple[int, ...]
    distances: Sequence[CategoryDistance]
    distinct: IntArray
    counts: IntArray
    least: FloatArray
    ties: IntArray

    @classmethod
    def of(
        cls, original: IntArray, sizes: IntArray, ordinal: BoolArray, form: OrdinalDistance = "inclusive"
    ) -> NearestCombinations:
        """For an original as codes, a row for each record; the distance of ordered categories has this form."""
        extents = tuple(int(size) for size in sizes)
        kinds = np.where(ordinal, "ordinal", "nominal").tolist()
        distances = [category_distance(kind, size, form) for kind, size in zip(kinds, extents, strict=True)]
        numbers, first = number_rows(list(original.T), list(extents))
        combinations = prod(extents)
        return cls(
            original,
            extents,
            distances,
            original[first],
            np.bincount(numbers).astype(np.int64),
            np.full(combinations, np.nan),
            np.zeros(combinations, dtype=np.int64),
        )

    def linked(self, masked: IntArray) -> FloatArray:
        """The share of masked records whose nearest original record is their own, by chance where several are; of each
        of several masked files, one below the other.

        >>> original = np.array([[0], [0], [1]])
        >>> nearest = NearestCombinations.of(original, np.array([3]), np.array([False]))
        >>> nearest.linked(np.array([[0], [1], [1], [2], [2], [2]])).round(3).tolist()
        [0.5, 0.333]
        """
        numbers = np.ravel_multi_index(tuple(masked.T), self.sizes)
        unknown = np.isnan(self.least[numbers])
        if unknown.any():
            self._look_up(np.unique(numbers[unknown]))
        files = masked.reshape(-1, *self.original.shape)
        own = self._between(self.original, files).ravel()
        found = (own <= self.least[numbers] + _ROUNDING) / self.ties[numbers]
        return np.asarray(found.reshape(len(files), -1).mean(axis=1))

    def _look_up(self, numbers: IntArray) -> None:
        step = max(1, _AT_ONCE // len(self.distinct))
        for start in range(0, len(numbers), step):
            part = numbers[start : start + step]
            combinations = np.column_stack(np.unravel_index(part, self.sizes))
            apart = self._between(combinations[:, None, :], self.distinct[None, :, :])
            self.least[part] = apart.min(axis=1)
            self.ties[part] = (apart <= self.least[part][:, None] + _ROUNDING) @ self.counts

    def _between(self, one: IntArray, other: IntArray) -> FloatArray:
        return np.asarray(sum(distance(one[..., j], other[..., j]) for j, distance in enumerate(self.distances)))
