"""Hanani's groups: slabs between parallel hyperplanes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.classification import Traits
from microveil.numerics.choices import Remainder
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class Hanani(Microaggregation):
    """Groups of k records between parallel hyperplanes, in the direction that makes the groups most homogeneous.

    From a first direction the records are cut into groups of k; then the direction turns to where the means of the
    groups differ most, while the loss falls. Local minima are met with several first directions: the first principal
    component, the sum of the attributes, then drawn ones.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 8, 9], "b": [2, 1, 9, 8]})
    >>> Hanani(k=2).mask(people, seed=1).frame["a"].to_pylist()
    [1.5, 1.5, 8.5, 8.5]
    """

    name: ClassVar[str] = "hanani"
    summary: ClassVar[str] = (
        "groups of k records between parallel hyperplanes, whose direction is chosen to lower the loss"
    )
    traits: ClassVar[Traits] = Traits("multivariate", "fixed", "heuristic")
    source: ClassVar[str] = "Defays and Nanopoulos (1993); Fayyoumi (2008), section 2.6.3.1"
    random: ClassVar[bool] = True

    starts: int = parameter(default=10, help="number of initial directions that are tried", ge=1, le=10_000)
    remainder: Remainder = parameter(default="last", help="which group takes the n mod k records left over")

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.univariate import fixed_groups
        from microveil.numerics.statistics.projections import slab_groups

        if columns.shape[1] == 1:
            progress(1.0, f"{self.name}: one attribute")
            return fixed_groups(columns[:, 0], self.k, self.remainder)
        return slab_groups(columns, self.k, self.starts, rng, self.remainder, progress, f"{self.name}: turning slabs")
