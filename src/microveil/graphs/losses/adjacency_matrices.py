"""AAMIL: how far the links between categories have changed."""

from __future__ import annotations

from typing import ClassVar, Literal

from microveil.comparison.pairs import Pair
from microveil.graphs.cells import MISSING, cells_of, graphs_of
from microveil.graphs.losses.base import MeanOverAttributes
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised

Form = Literal["masked", "printed"]
FORM = (
    "what the rows of the masked matrix are: the released categories of nodes, as the formula is explained (masked), "
    "or their original ones, as in the example that the source prints (printed)"
)


@parameterised
class AAMIL(MeanOverAttributes):
    """Information loss by attribute adjacency matrices: for each attribute, x_ij counts the links from nodes with the
    category i to nodes with the category j, each link in both directions; the loss is the sum of |x_ij - x'_ij| over
    twice the sum of x_ij, in the mean over the attributes.

    It sees changes of the links as well as of the values. Places and labels of a hierarchy count by what they stand
    for, and every number is a category. No loss is below the distance of the two histograms in which each node counts
    once for each of its links.

    >>> from microveil.microdata import Microdata
    >>> links = {"source": [1, 2], "target": [2, 3]}
    >>> people = Microdata.of({"id": [1, 2, 3], "job": ["cook", "judge", "judge"]}, graph=links)
    >>> release = Microdata.of({"id": [1, 2, 3], "job": ["judge", "judge", "judge"]}, graph=links)
    >>> AAMIL().measure(people, release, ["job"]).value, AAMIL(form="printed").measure(people, release, ["job"]).value
    (50.0, 25.0)
    """

    name: ClassVar[str] = "aamil"
    family: ClassVar[str] = "graphs"
    usual: ClassVar[bool] = True
    of_graph: ClassVar[bool] = True
    reads_labels: ClassVar[bool] = True
    summary: ClassVar[str] = "change of the numbers of links between categories (AAMIL)"
    meaning: ClassVar[str] = "change of the numbers of links between categories; lower is better"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "Marés (2013), section 6.3.1, Eq. 6.3 and 6.4"

    form: Form = parameter(default="masked", help=FORM)

    def _lost(self, pair: Pair, name: str) -> float:
        from microveil.numerics.graphs.mixing import aamil

        before, after = graphs_of(pair)
        rows: Literal["masked_masked", "orig_masked"] = "masked_masked" if self.form == "masked" else "orig_masked"
        cells = cells_of(pair, name)
        return aamil(before, cells.before, cells.after, after, rows)
