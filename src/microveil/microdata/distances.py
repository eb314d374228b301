"""Distances between two categories of one attribute, and from a value to those that a label stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from microveil.numerics.neighbours.category_distance import CategoryDistance, OrdinalDistance, category_distance
from microveil.typing import BoolArray, FloatArray, IntArray

__all__ = ["ORDINAL_DISTANCES", "CategoryDistance", "OrdinalDistance", "Regions", "category_distance"]

ORDINAL_DISTANCES = (  # the help of every parameter that chooses one
    "distance between ordered categories of a domain of L: the number of categories from one to the other, both "
    "included, over L (inclusive); the steps between them over L (half-open) or over L - 1 (unit); or 1 for any two, "
    "as for nominal ones (nominal)"
)


@dataclass(frozen=True)
class Regions:
    """What labels stand for: each some segments of a line, from a low to a high end, ascending and apart.

    The line are numbers, or the positions in a domain. `without` are the low and the high end of each region where they
    do not belong to it, else NaN; such an end is taken to be a `hair` away.
    """

    segments: tuple[FloatArray, ...]
    without: FloatArray
    hair: float

    @classmethod
    def of(
        cls,
        regions: Sequence[Sequence[tuple[float, float]]],
        without: Sequence[tuple[float, float]] | None = None,
        hair: float = 0.0,
    ) -> Regions:
        segments = tuple(np.array(sorted(region), dtype=np.float64).reshape(-1, 2) for region in regions)
        ends = np.full((len(segments), 2), np.nan) if without is None else np.array(without, dtype=np.float64)
        return cls(segments, ends.reshape(-1, 2), hair)

    def over(self, unit: float) -> Regions:
        """On a line measured in another unit."""
        return Regions(tuple(region / unit for region in self.segments), self.without / unit, self.hair / unit)

    @cached_property
    def _hulls(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """The lowest and the highest end of each region, and whether there are gaps between."""
        low = np.array([region[0, 0] for region in self.segments])
        high = np.array([region[-1, 1] for region in self.segments])
        return low, high, np.array([len(region) > 1 for region in self.segments], dtype=np.bool_)

    def gaps(self, values: FloatArray, regions: IntArray) -> FloatArray:
        """How far values are from regions, a row for each value: 0 inside, else the way to the nearest end.

        >>> Regions.of([[(20, 30)], [(1, 1), (25, 27)]]).gaps(np.array([25.0, 18.0]), np.array([0, 1])).tolist()
        [[0.0, 0.0], [2.0, 7.0]]
        >>> half_open = Regions.of([[(20, 30)]], [(20, np.nan)], hair=0.5)
        >>> half_open.gaps(np.array([19.0, 20.0, 30.0]), np.array([0]))[:, 0].tolist()
        [1.0, 0.5, 0.0]
        """
        low, high, parted = (ends[regions] for ends in self._hulls)
        column = values[:, None]
        gaps = np.maximum(np.maximum(low - column, column - high), 0.0)
        for at in np.flatnonzero(parted):
            gaps[:, at] = _to_nearest(values, self.segments[regions[at]])
        left_out = (column == self.without[regions, 0]) | (column == self.without[regions, 1])
        return np.where(left_out, self.hair, gaps)


def _to_nearest(values: FloatArray, segments: FloatArray) -> FloatArray:
    """How far each value is from the nearest of some segments."""
    low, high = np.append(segments[:, 0], np.inf), np.insert(segments[:, 1], 0, -np.inf)
    at = np.searchsorted(segments[:, 0], values, side="right")  # so many begin at or below the value
    return np.minimum(np.maximum(values - high[at], 0.0), low[at] - values)
