"""Groups whose widths, from the least to the largest value, are least in total."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.microaggregation.classification import Traits
from microveil.masking.microaggregation.individual_ranking import OneByOne
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class Width(OneByOne):
    """Cut each attribute's values where the gaps are wide: advised for very skewed attributes.

    "split" cuts at the widest gap that leaves k values on both sides, and goes on inside the two parts, as quicksort
    does; "optimal" finds the cuts that leave the least total width. Groups have k to 2k-1 records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 9, 10, 11]})
    >>> Width(k=2).mask(people).frame["a"].to_pylist()
    [1.5, 1.5, 10.0, 10.0, 10.0]
    """

    name: ClassVar[str] = "width"
    summary: ClassVar[str] = "each attribute by itself: groups of at least k values, divided at wide gaps"
    traits: ClassVar[Traits] = Traits("univariate", "data-oriented", "optimal")
    source: ClassVar[str] = "Sande (2002); Fayyoumi (2008), section 2.6.3.1"

    search: Literal["optimal", "split"] = parameter(
        default="optimal", help="least total width, or the widest gap first"
    )

    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.univariate import least_width_groups, width_split_groups

        return (least_width_groups if self.search == "optimal" else width_split_groups)(values, self.k)
