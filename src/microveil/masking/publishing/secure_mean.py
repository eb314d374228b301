"""Publishing means that keep a distance from every value they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from microveil.masking.notes import MEAN_MOVED
from microveil.masking.partition import Partition
from microveil.masking.publishing.aggregate import Aggregate
from microveil.masking.publishing.publishing import Published, Publishing
from microveil.microdata import Microdata
from microveil.numerics.grouping.groups import means_by_group
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import parameter, parameterised
from microveil.randomness import Streams
from microveil.typing import BoolArray, FloatArray


@parameterised
class SecureMean(Aggregate):
    """A group publishes the value nearest to its mean that keeps a distance from every member's value.

    >>> from microveil.masking.microaggregation.fixed import Fixed
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1.0, 2.0, 2.9, 11.0, 12.0, 13.1]})
    >>> release = Fixed(k=3, publishing=SecureMean(epsilon=0.02)).mask(people)
    >>> [round(value, 3) for value in release.frame["a"].to_pylist()]
    [1.898, 1.898, 1.898, 12.102, 12.102, 12.102]
    """

    name: ClassVar[str] = "secure-mean"
    summary: ClassVar[str] = "a group publishes its mean, moved away from the original values of its members"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)

    publish: Literal["mean"] = parameter(
        default="mean", help="the mean, moved away from the original values of the group"
    )
    epsilon: float = parameter(
        default=0.01,
        help="least distance of a published value from every original value of the group, in standard deviations of "
        "the attribute",
        ge=0,
        le=1_000,
    )

    @classmethod
    def offered(cls) -> Mapping[str, type[Publishing]]:
        return {cls.name: cls}

    @property
    def judged_by(self) -> Publishing:
        return Aggregate(weighted=self.weighted)

    def _published(
        self, data: Microdata, partition: Partition, suppressed: Mapping[str, BoolArray], streams: Streams, label: str
    ) -> Published:
        weights = self.weights(data, label)
        columns: dict[str, pa.Array] = {}
        notes = []
        for name, cells in suppressed.items():
            values = data.numbers(name).values
            means = means_by_group(values[:, None], partition.labels, weights)[:, 0]
            spread = float(Scaling.of(values[:, None]).deviation[0])
            moved = moved_off_members(values, means, partition, self.epsilon * spread)
            columns[name] = data.number_column(name, moved, cells)
            shift = float(np.abs(np.nanmean(moved - means))) / spread if spread > 0 else 0.0
            notes.append(MEAN_MOVED(attribute=name, shift=shift))
        return Published(columns, notes=tuple(notes))


def moved_off_members(values: FloatArray, means: FloatArray, partition: Partition, least: float) -> FloatArray:
    """For each record its group's mean, moved so far that no member's value is nearer than `least`."""
    from microveil.numerics.grouping.ward import balanced_choice, values_away_from_members

    present = np.flatnonzero(~np.isnan(values))
    if least == 0 or not len(present):
        return means
    order = present[np.lexsort((values[present], partition.labels[present]))]
    groups, starts, sizes = np.unique(partition.labels[order], return_index=True, return_counts=True)
    centres = means[order[starts]]
    below, above = values_away_from_members(values[order], starts, centres, least)
    low, high = values[present].min(), values[present].max()
    published = np.full(len(partition), np.nan)
    published[groups] = balanced_choice(below, above, centres, sizes, low, high)
    return published[partition.labels]
