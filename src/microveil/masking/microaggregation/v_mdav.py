"""V-MDAV: MDAV with groups of variable size."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import OverRecords
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.ranges import GROUP_SIZES, Interval, Ranges, ranges
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class VMDAV(Microaggregation):
    """Groups around the record farthest from the centre of all, that go on while the next record clearly belongs.

    A group of k takes a further record, up to 2k-1, while that record's distance to the group is less than gamma times
    its distance to the nearest other record without a group. With gamma 0 all groups have k records; about 0.2 suits
    scattered data, about 1.1 data with clear clusters. Leftover records join the groups with the nearest means; where
    that makes a group of 2k records or more it is divided, unless post is none.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 21, 22, 61, 63]})
    >>> VMDAV(k=2).mask(people).frame["age"].to_pylist()
    [21.0, 21.0, 21.0, 62.0, 62.0]
    """

    name: ClassVar[str] = "v-mdav"
    summary: ClassVar[str] = (
        "mdav with groups of variable size, k to 2k-1 records, that follow the clusters in the data"
    )
    source: ClassVar[str] = "Solanas and Martínez-Ballesté (2006); Fayyoumi (2008), section 2.6.3.2"
    over_records: ClassVar[OverRecords] = "neighbours"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES, gamma=Interval(0.1, 1.5))

    gamma: float = parameter(
        default=0.2,
        help="a group of k takes another record if that record's distance to it is less than gamma times the record's "
        "distance to the nearest other record without a group; 0: never",
        ge=0,
        le=1e6,
    )
    post: Literal["mdav", "none"] = parameter(default="mdav", help="how groups of 2k records or more are divided")

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.centroid_groups import split_large, variable_groups

        labels = variable_groups(columns, self.k, self.gamma, progress, "v-mdav: grouping records")
        return labels if self.post == "none" else split_large(columns, labels, self.k)
