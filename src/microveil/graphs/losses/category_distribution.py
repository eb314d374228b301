"""CDIL: how far the distribution of categories has changed."""

from __future__ import annotations

from typing import ClassVar

from microveil.comparison.pairs import Pair
from microveil.graphs.cells import MISSING, cells_of
from microveil.graphs.losses.base import MeanOverAttributes
from microveil.microdata.schema import KINDS
from microveil.parameters import parameterised


@parameterised
class CDIL(MeanOverAttributes):
    """Information loss of the category distribution: the sum of |freq_j - freq'_j| over all categories j of both files,
    over twice the number of nodes; in the mean over the attributes.

    Places and labels of a hierarchy count by what they stand for, and every number is a category.

    >>> from microveil.microdata import Microdata
    >>> links = {"source": [1, 2], "target": [2, 3]}
    >>> people = Microdata.of({"id": [1, 2, 3], "job": ["cook", "judge", "judge"]}, graph=links)
    >>> release = Microdata.of({"id": [1, 2, 3], "job": ["judge", "judge", "judge"]}, graph=links)
    >>> round(CDIL().measure(people, release, ["job"]).value, 2)
    33.33
    """

    name: ClassVar[str] = "cdil"
    family: ClassVar[str] = "graphs"
    usual: ClassVar[bool] = True
    of_graph: ClassVar[bool] = True
    reads_labels: ClassVar[bool] = True
    summary: ClassVar[str] = "change of the frequencies of categories of nodes (CDIL)"
    meaning: ClassVar[str] = "change of the frequencies of categories of nodes; lower is better"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "Marés (2013), section 6.3.2, Eq. 6.5 and 6.6"

    def _lost(self, pair: Pair, name: str) -> float:
        from microveil.numerics.graphs.mixing import cdil

        cells = cells_of(pair, name)
        return cdil(cells.before, cells.after)
