"""Secure-k-Ward: k-Ward whose published values keep away from every value they stand for."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import Masked
from microveil.masking.microaggregation.incomplete import cells_to_empty
from microveil.masking.microaggregation.individual_ranking import OneByOne
from microveil.masking.notes import MEAN_MOVED
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.numerics.grouping.groups import means_by_group
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray


@parameterised
class SecureKWard(OneByOne):
    """k-Ward on each attribute by itself; a mean too close to one of its members is moved off all of them.

    The published value is the nearest one, above or below the mean, at least epsilon from every member; above or below
    is chosen so that the shifts of the groups cancel in the attribute's overall mean.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1.0, 2.0, 2.9, 11.0, 12.0, 13.1]})
    >>> release = SecureKWard(k=3, epsilon=0.02).mask(people)
    >>> [round(value, 3) for value in release.frame["a"].to_pylist()]
    [1.898, 1.898, 1.898, 12.102, 12.102, 12.102]
    """

    name: ClassVar[str] = "secure-k-ward"
    summary: ClassVar[str] = "k-Ward whose published values keep a distance from every original value of the group"
    source: ClassVar[str] = "Li et al. (2002); Fayyoumi (2008), section 2.6.3.1"

    publish: Literal["mean"] = parameter("mean", help="the mean, moved away from the original values of the group")
    epsilon: float = parameter(
        0.01,
        help="least distance of a published value from every original value of the group, in standard deviations of "
        "the attribute",
        ge=0,
        le=1_000,
    )

    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.ward import k_ward_groups

        return k_ward_groups(values, self.k)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        masked = super()._mask(data, attributes, streams, progress)
        weights = self._weights(data)
        columns, notes = {}, list(masked.notes)
        for (name,), partition in masked.partitions.items():
            numbers = data.numbers(name)
            means = means_by_group(numbers.values[:, None], partition.labels, weights)[:, 0]
            spread = float(Scaling.of(numbers.values[:, None]).deviation[0])
            moved = moved_off_members(numbers.values, means, partition, self.epsilon * spread)
            matches = data[name].missing == "wildcard"
            suppressed = cells_to_empty(numbers.state, partition, self.k, missing_matches=matches)
            columns[name] = data.number_column(name, moved, suppressed)
            shift = float(np.abs(np.nanmean(moved - means))) / spread if spread > 0 else 0.0
            notes.append(MEAN_MOVED(attribute=name, shift=shift))
        return Masked(columns, masked.partitions, notes=tuple(notes))


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
