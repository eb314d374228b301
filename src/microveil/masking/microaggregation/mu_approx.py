"""mu-Approx: a forest of nearest neighbours, cut into groups."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.base import OverRecords
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.parameters import parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class MuApprox(Microaggregation):
    """Every record points at one of its k-1 nearest until each tree has k records; large trees are cut.

    Trees are cut at their longest edges where both sides keep k records; where no cut does, the branches around the
    middle record are bundled, the farthest first. Every group has k to 2k-1 records. For the forest the sum of
    distances is at most a multiple of the order of k squared of the least possible, a bound few heuristics have; the
    loss itself is seldom the lowest.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 21, 22, 61, 63]})
    >>> MuApprox(k=2).mask(people).frame["age"].to_pylist()
    [21.0, 21.0, 21.0, 62.0, 62.0]
    """

    name: ClassVar[str] = "mu-approx"
    summary: ClassVar[str] = "groups are parts of a forest in which records point at their nearest neighbours"
    source: ClassVar[str] = "Domingo-Ferrer, Sebé and Solanas (2008); Fayyoumi (2008), section 2.6.3.2"
    over_records: ClassVar[OverRecords] = "neighbours"

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.mu_approximation import forest_groups

        return forest_groups(columns, self.k, progress, "mu-approx: grouping records")
