"""MST: the minimum spanning tree, cut into groups."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import OverRecords
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class MST(Microaggregation):
    """Cut the longest edges of the tree that joins all records at least total length, where both sides keep k.

    It follows clusters of any shape, but chains of records make groups that are larger than they need be: those of 2k
    records or more are divided, by the farthest records from their centre (mdav, in pairs to the end) or by the two
    farthest from each other (md). With post = none they stay as they are.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 21, 22, 61, 63]})
    >>> MST(k=2).mask(people).frame["age"].to_pylist()
    [21.0, 21.0, 21.0, 62.0, 62.0]
    """

    name: ClassVar[str] = "mst"
    summary: ClassVar[str] = "groups are what is left of the minimum spanning tree when its longest edges are cut"
    source: ClassVar[str] = "Laszlo and Mukherjee (2005); Fayyoumi (2008), section 2.6.3.2"
    over_records: ClassVar[OverRecords] = "neighbours"

    post: Literal["mdav", "md", "none"] = parameter(default="mdav", help="how groups of 2k records or more are divided")

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.centroid_groups import split_large
        from microveil.numerics.grouping.maximum_distance import maximum_distance_groups, paired_mdav_groups
        from microveil.numerics.grouping.spanning_tree import spanning_tree_groups

        labels = spanning_tree_groups(columns, self.k, progress, "mst: growing the tree")
        if self.post == "none":
            return labels
        return split_large(
            columns, labels, self.k, maximum_distance_groups if self.post == "md" else paired_mdav_groups
        )
