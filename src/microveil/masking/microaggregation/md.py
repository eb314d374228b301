"""MD: maximum distance."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.classification import Traits
from microveil.parameters import parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class MD(Microaggregation):
    """Groups of k records around the two records that are farthest apart, again and again.

    While 2k records are left, each of the two most distant ones gathers its k-1 nearest. Of two records equally far
    from each other as another pair, and for the order in a pair, the lower record number goes first; the order of the
    file can change the groups. What is left is a group, or joins the groups with the nearest means: every group has k
    to 2k-1 records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> MD(k=2).mask(people).frame["age"].to_pylist()
    [21.0, 21.0, 42.0, 42.0, 63.0, 63.0]
    """

    name: ClassVar[str] = "md"
    summary: ClassVar[str] = "groups of at least k records around the two records that are farthest apart"
    traits: ClassVar[Traits] = Traits("multivariate", "fixed", "heuristic")
    source: ClassVar[str] = "Mateo-Sanz and Domingo-Ferrer (1999), maximum distance; Fayyoumi (2008), section 2.6.3.2"

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.maximum_distance import maximum_distance_groups

        return maximum_distance_groups(columns, self.k, progress, "md: grouping records")
