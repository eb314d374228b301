"""Groups of exactly k neighbouring values, the classical microaggregation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from microveil.masking.microaggregation.classification import Traits
from microveil.masking.microaggregation.individual_ranking import CutInOrder
from microveil.numerics.choices import Direction, Remainder, is_known_by_place
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class Fixed(CutInOrder):
    """The values of each attribute in order, cut into groups of k; one group also takes the n mod k left over.

    That group is the last one, the one that holds the most frequent value or the median, the middle one, or the one
    where it costs least. With direction "auto" the order runs against the long tail, so that the last group is dense.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 41, 22, 43, 60]})
    >>> Fixed(k=2).mask(people).frame["age"].to_pylist()
    [21.0, 48.0, 21.0, 48.0, 48.0]
    >>> Fixed(k=2, direction="descending").mask(people).frame["age"].to_pylist()
    [27.666666666666668, 27.666666666666668, 27.666666666666668, 51.5, 51.5]
    """

    name: ClassVar[str] = "fixed"
    summary: ClassVar[str] = "each attribute by itself: groups of k consecutive values in rank order publish their mean"
    traits: ClassVar[Traits] = Traits("univariate", "fixed", "optimal")
    source: ClassVar[str] = "Defays and Nanopoulos (1993); Fayyoumi (2008), section 2.6.3.1"

    remainder: Remainder = parameter(default="last", help="which group takes the n mod k values left over")
    direction: Direction = parameter(
        default="ascending", help="order of the values; auto: from the end with the longer tail"
    )

    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.univariate import fixed_groups

        return fixed_groups(values, self.k, self.remainder, self.direction)

    @property
    def descends(self) -> bool:
        return self.direction == "descending"

    @property
    def _is_cut_in_order(self) -> bool:
        return self.direction != "auto" and is_known_by_place(self.remainder)

    def starts_in_order(self, ordered: Iterable[FloatArray], count: int, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.univariate import starts_of_fixed

        return starts_of_fixed(count, self.k, self.remainder)
