"""CBFS: centroid-based fixed-size groups, one at a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from microveil.masking.base import OverRecords
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.classification import Traits
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class FarthestFirst(Microaggregation):
    """A method whose groups grow one at a time, each from the record farthest from a centroid."""

    traits: ClassVar[Traits] = Traits("multivariate", "fixed", "heuristic")
    over_records: ClassVar[OverRecords] = "neighbours"

    centroid: Literal["recomputed", "fixed"] = parameter(
        default="recomputed",
        help="centroid: that of the records still without a group, or that of all records throughout",
    )

    @property
    @abstractmethod
    def _by_interaction(self) -> bool:
        """Whether a group takes next the record nearest to all its members, and not that nearest to its first."""

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.centroid_groups import centroid_groups

        return centroid_groups(
            columns,
            self.k,
            recomputed=self.centroid == "recomputed",
            interaction=self._by_interaction,
            progress=progress,
            label=f"{self.name}: grouping records",
        )[0]


@parameterised
class CBFS(FarthestFirst):
    """The record farthest from the centre gathers k-1 others, again and again; the leftovers join the last group.

    Its four settings are the programs behind several published tables: with the centre recomputed and growth from the
    seed it is what some sources call MDAV; with growth by interaction, in which each new member is the record with the
    least summed squared distance to all members, it is IAMAT. All groups but the last have exactly k records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65, 69]})
    >>> CBFS(k=2).mask(people).frame["age"].to_pylist()
    [21.0, 21.0, 42.0, 42.0, 65.0, 65.0, 65.0]
    """

    name: ClassVar[str] = "cbfs"
    summary: ClassVar[str] = "groups of k records around the record farthest from the centroid, one group at a time"
    source: ClassVar[str] = "Fayyoumi (2008), sections 2.6.3.2 and 4.5.2, where it is called MDAV"

    growth: Literal["seed", "interaction"] = parameter(
        default="seed",
        help="the record that a group takes next: the nearest to its first record (seed), or to all its members "
        "(interaction)",
    )

    @property
    def _by_interaction(self) -> bool:
        return self.growth == "interaction"
