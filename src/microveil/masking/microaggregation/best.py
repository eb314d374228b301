"""The partition with the least loss that we know how to find in reasonable time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.ranges import GROUP_SIZES, Ranges, Whole, ranges
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class Best(Microaggregation):
    """MDAV, then polishing: records change groups, alone, two at a time or in turn, and groups are given up or formed,
    as long as the loss falls; then groups are disturbed here and there and mended, so that the search leaves poor
    local optima.

    It never loses more than MDAV with the same parameters, in squared changes of the standardised attributes, and
    promises the same k. What it takes is time: some seconds, or for very long files a few times what MDAV takes. With
    `polish`, the steps that are tried for each record, it takes more or less than that.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 43, 22, 41, 61, 65], "pay": [1, 5, 2, 4, 9, 8]})
    >>> Best(k=2, polish=100).mask(people, seed=1).partition.labels.tolist()
    [0, 1, 0, 1, 2, 2]
    """

    name: ClassVar[str] = "best"
    summary: ClassVar[str] = "mdav, then exchanges between groups that lower the loss (iterated local search)"
    source: ClassVar[str] = (
        "Microveil's own: iterated local search over exchanges between neighbouring groups, with the objective of "
        "Domingo-Ferrer and Mateo-Sanz (2002)"
    )
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES, polish=Whole(100, 2_000))
    random: ClassVar[bool] = True
    quick: ClassVar[Mapping[str, Any]] = MappingProxyType({"polish": 200})

    polish: int | None = parameter(
        default=None,
        help="number of exchanges between groups that are tried for each record; more take longer and lower the loss; "
        "unset: at most 200,000 and at least 500, as many as take some seconds",
        ge=0,
        le=10_000_000,
    )

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.mdav import mdav_groups

        return mdav_groups(columns, self.k, progress, "best: grouping records")
