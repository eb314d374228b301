"""MDAV: maximum distance to average vector."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import OverRecords
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.classification import Traits
from microveil.masking.ranges import GROUP_SIZES, Ranges, ranges
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class MDAV(Microaggregation):
    """Groups of k records around the two most extreme records, again and again; each group publishes its mean.

    While at least 3k records are left, the record farthest from their mean gathers its k-1 nearest, then the record
    farthest from that one does the same; what remains makes one or two groups. Every group has k to 2k-1 records,
    unless the literal remainder of some published tables is asked for.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> MDAV(k=2).mask(people).frame["age"].to_pylist()
    [21.0, 21.0, 42.0, 42.0, 63.0, 63.0]
    """

    name: ClassVar[str] = "mdav"
    summary: ClassVar[str] = "groups of at least k similar records publish their mean"
    traits: ClassVar[Traits] = Traits("multivariate", "fixed", "heuristic")
    source: ClassVar[str] = (
        "Domingo-Ferrer and Torra (2005); Nin (2008), section 2.4.2, Algorithm 3; Fayyoumi (2008), section 2.6.3.2"
    )
    over_records: ClassVar[OverRecords] = "neighbours"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    remainder: Literal["standard", "literal"] = parameter(
        default="standard",
        help="standard: no group has fewer than k records; literal: as some sources print it, the last group may have "
        "fewer",
    )

    @property
    def _keeps_k(self) -> bool:
        return self.remainder == "standard"

    def _fewest(self) -> int:
        return self.k if self._keeps_k else 1

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.mdav import mdav_groups

        return mdav_groups(columns, self.k, progress, "mdav: grouping records", literal=self.remainder == "literal")
