"""Degree linkage: the intruder knows how many friends a person has, and perhaps how many these have."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from microveil.attacks.base import Attack, Risk, Variant
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.comparison.pairs import Pair, Workings
from microveil.errors import DataError
from microveil.graphs.cells import graphs_of
from microveil.microdata.frames import open_frame
from microveil.microdata.microdata import Microdata
from microveil.microdata.schema import KINDS, Attribute, Schema
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import BoolArray, IntArray

_QUICKLY_COMPARED = 20_000  # nodes whose friends are compared with each other in seconds
_KNOWS = {
    "degree": "how many friends a person has and takes one of the released nodes with as many",
    "neighbour-degrees": (
        "how many friends a person has and how many each of these has, and takes one of the released nodes of which "
        "both are the same"
    ),
    "neighbourhood": (
        "how many friends a person has and which of these are linked, and takes one of the released nodes with such a "
        "neighbourhood"
    ),
}


def _has_keys(pair: Pair) -> bool:
    return bool(pair.of_kinds(KINDS))


@parameterised
class DegreeLinkage(Attack):
    """The intruder knows how many friends a person has and takes one of the released nodes with as many; the risk is
    the share of right links.

    More can be known: also the numbers of friends of these friends (`neighbour-degrees`), which of the friends are
    linked, whoever they are (`neighbourhood`), or the number of friends beside the person's known values, as one more
    number in distance-based linkage (`degree-and-keys`). The counters say which share of the nodes has how many
    candidates, and `own`, how many are among their own candidates.

    >>> from microveil.microdata import Microdata
    >>> star = Microdata.of({"id": [1, 2, 3, 4]}, graph={"source": [1, 1, 1], "target": [2, 3, 4]})
    >>> risk = DegreeLinkage().assess(star, star)
    >>> risk.value, risk.counters["1 candidate"]
    (50.0, 25.0)
    """

    name: ClassVar[str] = "degree-linkage"
    family: ClassVar[str] = "linkage"
    general: ClassVar[bool] = True
    of_graph: ClassVar[bool] = True
    reads_labels: ClassVar[bool] = True
    summary: ClassVar[str] = "finds nodes by their numbers of friends, and what more is known of the structure"
    meaning: ClassVar[str] = "nodes an intruder finds by the number of their friends; lower is safer"
    assumes: ClassVar[str] = "how many friends a person has, and by some forms what these are like"
    formula: ClassVar[str] = "mean over i of [i in C_i] / |C_i|, C_i = { j : deg'(j) = deg(i) }"
    kinds: ClassVar[tuple[str, ...]] = ()
    missing: ClassVar[str] = "without known values no cell is read; with them, as in distance-linkage"
    source: ClassVar[str] = "Marés (2013), sections 2.6 and 2.6.1; Liu and Terzi (2008); Hay et al. (2008)"

    knows: Literal["degree", "neighbour-degrees", "neighbourhood", "degree-and-keys"] = parameter(
        default="degree",
        help="what the intruder knows: the number of friends (degree), also that of each friend (neighbour-degrees), "
        "which of the friends are linked (neighbourhood), or the number of friends and the known attributes "
        "(degree-and-keys)",
    )

    variants: ClassVar[tuple[Variant, ...]] = (
        Variant({"knows": "neighbour-degrees"}),
        Variant({"knows": "neighbourhood"}, most_records=_QUICKLY_COMPARED),
        Variant({"knows": "degree-and-keys"}, _has_keys),
    )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        from microveil.numerics.graphs.candidates import BUCKETS, bucket_shares

        if self.knows == "degree-and-keys":
            return self._with_keys(pair, progress)
        own, candidates = self._candidates(pair)
        shares = [float((candidates == 0).mean()), *bucket_shares(candidates)]
        named = ["no candidate", "1 candidate", *(f"{bucket} candidates" for bucket in BUCKETS[1:])]
        counters = {name: 100 * float(share) for name, share in zip(named, shares, strict=True)}
        chances = np.where(own, 1.0 / np.maximum(candidates, 1), 0.0)
        scenario = f"An intruder knows {_KNOWS[self.knows]}."
        return Risk.of(self.name, chances, (), scenario, counters={**counters, "own": 100 * float(own.mean())})

    def _candidates(self, pair: Pair) -> tuple[BoolArray, IntArray]:
        """Whether each node is among its own candidates, and how many these are."""
        from microveil.numerics.graphs.adjacency import degrees
        from microveil.numerics.graphs.candidates import DegreeCandidates
        from microveil.numerics.graphs.neighbourhoods import equal_neighbourhoods

        before, after = graphs_of(pair)
        true, published = degrees(before), degrees(after)
        if self.knows == "degree":
            return true == published, DegreeCandidates(true, published).sizes
        if self.knows == "neighbour-degrees":
            found = equal_neighbourhoods(before, after, true, published, induced=False)
        else:
            nobody = np.zeros(len(pair), dtype=np.int64)
            found = equal_neighbourhoods(before, after, nobody, nobody)
        return found.own, found.candidates

    def _with_keys(self, pair: Pair, progress: Progress) -> Risk:
        attributes = pair.of_kinds(KINDS)
        if not attributes:
            raise DataError(f"{self.name}: knows = 'degree-and-keys' needs an attribute that the intruder knows")
        beside = _with_degrees(pair, attributes)
        found = DistanceLinkage().assess_pair(beside, explicit=True, progress=progress)
        counters = {name: share for name, share in found.counters.items() if name != "first"}  # by the order of nodes
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} and the number of friends of a person, and "
            "takes the released node that is nearest to them."
        )
        return replace(found, name=self.name, known=attributes, scenario=scenario, counters=counters)


def _with_degrees(pair: Pair, attributes: tuple[str, ...]) -> Pair:
    """Both tables with the number of friends as one more attribute."""
    name = "friends"
    while name in pair.original.names:
        name += "_"
    tables = []
    for data in (pair.original, pair.masked):
        assert data.edges is not None
        columns = {key: data.arrow(key) for key in attributes} | {name: pa.array(data.edges.degrees)}
        schema = Schema((*data.schema.select(attributes), Attribute(name=name, kind="numeric")))
        tables.append(Microdata(open_frame(pa.table(columns)), schema))
    known = (*attributes, name)
    return replace(pair, original=tables[0], masked=tables[1], attributes=known, workings=Workings())
