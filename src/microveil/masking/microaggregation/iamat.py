"""IAMAT: interactive-associative microaggregation."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class IAMAT(Microaggregation):
    """Like cbfs, but a group takes next the record with the strongest interaction with all its members.

    The interaction is the product of the associations, which fall exponentially with the squared distance; so the
    record with the strongest one is the record that raises the sum of squares within the group least, and the scale
    of the exponential (alpha in the papers) decides nothing. Leftover records join the last group; all other groups
    have exactly k records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 42, 43, 62, 66]})
    >>> IAMAT(k=3).mask(people).frame["age"].to_pylist()
    [28.0, 28.0, 28.0, 57.0, 57.0, 57.0]
    """

    name: ClassVar[str] = "iamat"
    summary: ClassVar[str] = "groups of k records that grow by the record nearest to all members"
    source: ClassVar[str] = "Oommen and Fayyoumi (2007), Algorithm 1; Fayyoumi (2008), section 5.3.2, Algorithm 12"

    centroid: Literal["fixed", "recomputed"] = parameter(
        default="fixed",
        help="centroid from which the farthest record starts a group: that of all records, as published, or that of "
        "the records still without a group",
    )

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.centroid_groups import centroid_groups

        labels, _ = centroid_groups(
            columns,
            self.k,
            recomputed=self.centroid == "recomputed",
            interaction=True,
            progress=progress,
            label="iamat: grouping records",
        )
        return labels
