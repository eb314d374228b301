"""The partition with the least loss that we know how to find in reasonable time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from microveil.masking.base import Masked
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.bound import bound_of_partition, rounded_down
from microveil.masking.notes import ENDED_BY_THE_CLOCK, LEAST_LOSS, Note
from microveil.masking.publishing.aggregate import Aggregate
from microveil.masking.publishing.publishing import Published
from microveil.masking.ranges import GROUP_SIZES, Ranges, Whole, ranges
from microveil.microdata import Microdata
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray


@parameterised
class Best(Microaggregation):
    """MDAV, then polishing: records change groups, alone, two at a time or in turn, and groups are given up or formed,
    as long as the loss falls; then groups are disturbed here and there and mended, so that the search leaves poor
    local optima.

    It never loses more than MDAV with the same parameters, in squared changes of the standardised attributes, and
    promises the same k. What it takes is time: ten to twenty seconds on two processors, or for very long files a few
    times what MDAV takes. With `polish`, the steps that are tried for each record, it takes more or less than that.

    A note tells the loss, a lower bound that no groups of at least k can fall below, and the gap between the two.

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
    told: ClassVar[Mapping[str, Any]] = MappingProxyType({"bound": "none"})
    random: ClassVar[bool] = True
    quick: ClassVar[Mapping[str, Any]] = MappingProxyType({"polish": 200})

    polish: int | None = parameter(
        default=None,
        help="number of exchanges between groups that are tried for each record; more take longer and lower the loss; "
        "unset: at most 200,000, as many as take ten to twenty seconds on two processors, but at least 500",
        ge=0,
        le=10_000_000,
    )
    seconds: float | None = parameter(
        default=None,
        help="the search ends after this time in seconds, if polish does not end it before; then the release "
        "depends on how fast the machine is, and the same seed need not give it again; unset: no limit, and the same "
        "seed gives the same release",
        ge=0.0,
        le=1e6,
    )

    bound: Literal["none", "fast", "tight"] = parameter(
        default="fast",
        help="lower bound that the loss is told beside: none; from nearest neighbours, which takes about a second for "
        "20,000 records (fast); or by column generation, which takes minutes and is closer (tight)",
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        share = {"none": 1.0, "fast": 0.95, "tight": 0.5}[self.bound]
        masked = super()._mask(data, attributes, streams, Part(progress, 0.0, share))
        notes = [] if self.seconds is None else [ENDED_BY_THE_CLOCK()]
        if self.bound != "none" and self._has_bound:
            blocks = parts(Part(progress, share, 1.0), len(masked.partitions))
            notes += [
                self._bound(data, block, masked, part) for block, part in zip(masked.partitions, blocks, strict=True)
            ]
        return replace(masked, notes=(*masked.notes, *notes))

    @property
    def _has_bound(self) -> bool:
        """Whether the groups are those of distances between records, and publish one value each."""
        publishes_one_value = isinstance(self.publishing, Aggregate) and not self.publishing.draws
        return publishes_one_value and not self.preparation.compares_series

    def _budget(self, records: int, runs: int) -> tuple[int, float | None]:
        if self.seconds is None:
            return super()._budget(records, runs)
        from microveil.numerics.grouping.local_search import steps_within

        seconds = self.seconds / runs
        return steps_within(seconds, records) if self.polish is None else self.polish, seconds

    def _bound(self, data: Microdata, block: tuple[str, ...], masked: Masked, progress: Progress) -> Note:
        effort: Literal["fast", "tight"] = "tight" if self.bound == "tight" else "fast"
        partition = masked.partitions[block]
        found = bound_of_partition(data, block, self.k, partition, self.preparation, effort, progress=progress)
        lost = Published({name: masked.columns[name] for name in block}).lost(data)
        loss = 100 * lost / found.variation if found.variation > 0 else 0.0
        return LEAST_LOSS(
            method=self.name,
            attributes=block,
            loss=loss,
            k=self.k,
            bound=rounded_down(min(found.least, loss)),
            gap=found.gap(loss),
        )

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.mdav import mdav_groups

        return mdav_groups(columns, self.k, progress, "best: grouping records")
