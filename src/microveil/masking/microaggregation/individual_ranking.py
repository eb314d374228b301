"""Individual ranking, and what all methods share that mask every attribute by itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import OverRecords
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.classification import Traits
from microveil.masking.partition import Partition
from microveil.masking.preparation import OneAttributeAtATime, Preparation
from microveil.masking.publishing.aggregate import Aggregate
from microveil.masking.publishing.publishing import Published
from microveil.masking.ranges import GROUP_SIZES, OneOf, Ranges, ranges
from microveil.microdata import Microdata
from microveil.numerics.choices import Remainder, is_known_by_place
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray


def own_values(records: Records, position: int = 0) -> FloatArray:
    """An attribute's values as they are in the file, or the positions of its categories; a missing one as the mean.

    In one dimension no scale changes what is near, but the rounding of a scale breaks ties; so none is used.
    """
    values = values_in_file(records.data, records.attributes[position])
    mean = Scaling.of(values[:, None]).mean[0]
    return np.asarray(np.where(np.isnan(values), mean, values)[records.rows])


def values_in_file(data: Microdata, name: str) -> FloatArray:
    """The same with NaN where a cell is missing."""
    if data[name].kind == "numeric":
        return data.numbers(name).values
    return np.where(data.missing_states(name) > 0, np.nan, data.categories(name).codes)


@parameterised
class OneByOne(Microaggregation):
    """A method that puts the values of one attribute in order and groups neighbours; attributes do not meet."""

    traits: ClassVar[Traits] = Traits("univariate", "data-oriented", "heuristic")
    over_records: ClassVar[OverRecords] = "ordered"

    preparation: Preparation = parameter(default=OneAttributeAtATime(), help="what happens before records are grouped")

    @abstractmethod
    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        """Labels for at least 2k values of one attribute."""

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        if len(columns) < 2 * self.k:
            labels = np.zeros(len(columns), dtype=np.int64)
        else:
            labels = self._axis_groups(own_values(records), rng, progress)
        progress(1.0, f"{self.name}: {records.attributes[0]}")
        return labels


@parameterised
class CutInOrder(OneByOne):
    """A method whose groups are found while the values come by in their order, so that a column that is longer than
    memory can be masked range by range."""

    @property
    def works_by_ranges(self) -> bool:
        """Whether nothing but the order of the values is looked at, with the parameters as they are."""
        publishing, preparation = self.publishing, self.preparation
        publishes = isinstance(publishing, Aggregate) and not publishing.draws and not publishing.weighted
        is_whole = self.polish == 0 and not preparation.strata and preparation.chunk is None
        return publishes and is_whole and self._is_cut_in_order

    @property
    def descends(self) -> bool:
        """Whether the values come from the greatest to the least."""
        return False

    @property
    @abstractmethod
    def _is_cut_in_order(self) -> bool:
        """Whether `starts_in_order` finds the groups, with the parameters as they are."""

    @abstractmethod
    def starts_in_order(self, ordered: Iterable[FloatArray], count: int, progress: Progress) -> IntArray:
        """Where groups start among so many values, at least 2k, which come in their order, some after the other."""

    def published(self, data: Microdata, name: str, partition: Partition, streams: Streams) -> Published:
        """What groups of an attribute publish."""
        return self.publishing.of_groups(data, (name,), partition, self._fewest(), streams, self.name)


@parameterised
class IndividualRanking(CutInOrder):
    """Each attribute is put in order and grouped by itself, so no two attributes share a partition.

    Ordered categories are ranked by their domain, and their groups publish the median category. Little is lost, even on
    outliers, but the combination of several attributes stays recognisable: records are not k-anonymous over more than
    one attribute.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 41, 22, 43], "income": [9, 1, 2, 8]})
    >>> IndividualRanking(k=2).mask(people).frame.to_pydict()
    {'age': [21.0, 42.0, 21.0, 42.0], 'income': [8.5, 1.5, 1.5, 8.5]}
    """

    name: ClassVar[str] = "individual-ranking"
    summary: ClassVar[str] = "individual ranking: each attribute is sorted and microaggregated by itself"
    traits: ClassVar[Traits] = Traits("univariate", "fixed", "optimal")
    source: ClassVar[str] = "Defays and Anwar (1998); Fayyoumi (2008), sections 2.6.3.1 and 2.6.4"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES, partition=OneOf(("fixed", "optimal")))
    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal")

    partition: Literal["fixed", "optimal"] = parameter(
        default="fixed", help="groups of k each, or of k to 2k-1 with the least sum of squares"
    )
    remainder: Remainder = parameter(default="last", help="with fixed: which group takes the n mod k values left over")

    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.univariate import fixed_groups, optimal_groups

        if self.partition == "fixed":
            return fixed_groups(values, self.k, self.remainder)
        return optimal_groups(values, self.k, None, progress, f"{self.name}: shortest path")

    @property
    def _is_cut_in_order(self) -> bool:
        return self.partition == "optimal" or is_known_by_place(self.remainder)

    def starts_in_order(self, ordered: Iterable[FloatArray], count: int, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.univariate import optimal_starts, starts_of_fixed

        if self.partition == "fixed":
            return starts_of_fixed(count, self.k, self.remainder)
        rows = (values[:, None] for values in ordered)
        return optimal_starts(rows, count, self.k, progress, f"{self.name}: shortest path")
