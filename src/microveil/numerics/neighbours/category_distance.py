"""Distances between two categories of one attribute, by their positions in its domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from microveil.typing import FloatArray, IntArray

OrdinalDistance = Literal["inclusive", "half-open", "unit", "nominal"]


@dataclass(frozen=True)
class CategoryDistance:
    """The distance is 0 between equal categories, else `start + slope * |difference of positions|`; at most 1."""

    start: float
    slope: float

    def __call__(self, one: IntArray, other: IntArray) -> FloatArray:
        return self.of_gap(np.abs(one - other).astype(np.float64))

    def of_gap(self, gap: FloatArray) -> FloatArray:
        """The distance over so many positions."""
        return np.where(gap > 0, self.start + self.slope * gap, 0.0)


def category_distance(kind: str, size: int, form: OrdinalDistance = "inclusive") -> CategoryDistance:
    """For nominal attributes 1 between different categories; for ordinal ones by position in a domain of this size.

    `inclusive` counts the categories from one to the other, both included; `half-open` the steps between them, each
    over the size of the domain; `unit` the steps over the greatest number of steps.

    >>> category_distance("ordinal", 4)(np.array([0, 0, 2]), np.array([0, 1, 3])).tolist()
    [0.0, 0.5, 0.5]
    """
    if kind != "ordinal" or form == "nominal" or size <= 1:
        return CategoryDistance(1.0, 0.0)
    if form == "inclusive":
        return CategoryDistance(1.0 / size, 1.0 / size)
    return CategoryDistance(0.0, 1.0 / size if form == "half-open" else 1.0 / (size - 1))
