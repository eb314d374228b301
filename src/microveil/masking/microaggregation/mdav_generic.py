"""MDAV-generic, and what all microaggregation shares that takes distances between categories as they are."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.classification import Traits
from microveil.masking.partition import Partition
from microveil.masking.preparation import MixedPreparation, Preparation
from microveil.masking.ranges import GROUP_SIZES, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.distances import ORDINAL_DISTANCES, OrdinalDistance
from microveil.microdata.mixed import mixed_columns
from microveil.microdata.schema import KINDS
from microveil.numerics.neighbours.mixed_distance import MEAN, Axes
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class Generic(Microaggregation):
    """Microaggregation of attributes of any kind, by the sum of the distances on each."""

    kinds: ClassVar[tuple[str, ...]] = KINDS

    preparation: Preparation = parameter(default=MixedPreparation(), help="what happens before records are grouped")
    polish: Literal[0] = parameter(default=0, help="exchanges between groups are not available for this method")
    ordinal_distance: OrdinalDistance = parameter(
        default="inclusive",
        help=ORDINAL_DISTANCES,
    )
    squared: bool = parameter(
        default=False, help="sum the squared distances of the attributes instead of the distances"
    )

    @abstractmethod
    def _mixed_groups(self, columns: FloatArray, axes: Axes, rng: np.random.Generator, progress: Progress) -> IntArray:
        """The partitioner: labels for the rows of columns of any kind, in groups of at least k."""

    def _mixed_columns(self, data: Microdata, names: tuple[str, ...]) -> tuple[FloatArray, Axes]:
        return mixed_columns(
            data,
            names,
            self.ordinal_distance,
            numeric_centre=MEAN,
            deviations=self.preparation.scale == "z",
            squared=self.squared,
        )

    def _partitions(
        self, data: Microdata, names: tuple[str, ...], rng: np.random.Generator, progress: Progress, *, runs: int
    ) -> list[Partition]:
        columns, axes = self._mixed_columns(data, names)

        def group(rows: IntArray, part: Progress) -> list[IntArray]:
            return [self._mixed_groups(columns[rows], axes, rng, part)]

        alike = columns / np.where(axes.size > 0, axes.size, 1.0)
        rows_of_parts = self.preparation.parts_of_the_file(data, names, alike, self.k)
        return [Partition.of(labels) for labels in self._labels(rows_of_parts, group, progress)]

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        mixed, axes = self._mixed_columns(records.data, records.attributes)
        return self._mixed_groups(mixed[records.rows], axes, rng, progress)


@parameterised
class MDAVGeneric(Generic):
    """The steps of `mdav` for categories and mixed attributes: the average record has the median of ordered categories,
    the most frequent of others, and the mean of numbers.

    While at least 3k records are left, the record farthest from the average gathers its k-1 nearest, then the record
    farthest from that one does the same; what remains makes one or two groups of k to 2k-1 records, and each group
    publishes its average record. With `block` = 1 every attribute is masked by itself, with more in blocks.

    Equal records are treated together, so long files with few different combinations are quick; the time grows with the
    number of records times that of combinations, so divide long files with numbers by `chunk`.

    >>> from microveil.microdata import Microdata
    >>> jobs = ["cook", "cook", "cook", "nurse", "smith", "smith", "smith"]
    >>> people = Microdata.of({"grade": [1, 1, 2, 3, 5, 5, 4], "job": jobs}, ordinal=["grade"], keys=["grade", "job"])
    >>> MDAVGeneric(k=2).mask(people).frame.to_pydict()["grade"]
    [1, 1, 3, 3, 5, 5, 3]
    """

    name: ClassVar[str] = "mdav-generic"
    summary: ClassVar[str] = "mdav for categories and mixed attributes: groups publish medians, modes and means"
    traits: ClassVar[Traits] = Traits("multivariate", "fixed", "heuristic")
    source: ClassVar[str] = (
        "Domingo-Ferrer and Torra (2005); Marés (2013), section 2.3.2, Algorithm 4; Fayyoumi (2008), section 2.6.4"
    )
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    ties: Literal["first", "computed", "random"] = parameter(
        default="first",
        help="which of several equally distant records is taken: the first in the file, or a random one; computed: "
        "the first, but distances that differ only by rounding errors do not count as equal",
    )

    def _mixed_groups(self, columns: FloatArray, axes: Axes, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.mdav_generic import mdav_generic

        label = f"{self.name}: grouping records"
        if self.ties != "random":
            return mdav_generic(columns, axes._replace(exact=self.ties == "first"), self.k, progress, label)
        order = rng.permutation(len(columns))
        labels = np.empty(len(columns), dtype=np.int64)
        labels[order] = mdav_generic(columns[order], axes, self.k, progress, label)
        return labels
