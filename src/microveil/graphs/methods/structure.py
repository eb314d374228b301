"""Methods that change who is linked to whom; the attributes of the nodes stay as they are."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method
from microveil.masking.notes import (
    LINKS_CHANGED,
    LINKS_NOT_PLACED,
    LINKS_OF_NODES_REMOVED,
    MIXING_OF,
    SWAPS_NOT_MADE,
    Note,
)
from microveil.masking.ranges import GROUP_SIZES, Interval, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.edges import Edges
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams

if TYPE_CHECKING:
    from microveil.numerics.graphs.adjacency import Adjacency


class StructuralMethod(Method):
    """A method that changes the links of a graph and no attribute."""

    family: ClassVar[str] = "structure"
    structural: ClassVar[bool] = True
    changes_values: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ()
    missing: ClassVar[str] = "attributes stay as they are, and so do missing cells"
    weights: ClassVar[str] = "sampling weights are not used and are released as they are"

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        assert data.edges is not None
        changed, notes = self._linked(data, data.edges.graph, streams.generator("links"), progress)
        return Masked({}, edges=Edges.of_graph(changed), notes=notes)

    @abstractmethod
    def _linked(
        self, data: Microdata, graph: Adjacency, rng: np.random.Generator, progress: Progress
    ) -> tuple[Adjacency, tuple[Note, ...]]:
        """The new links between the nodes, and what is to be said of them."""


@parameterised
class KDegree(StructuralMethod):
    """Links are added, and unless `add_only` also removed, until every number of links that a node has is shared by at
    least k nodes; as few links as can be found are changed.

    The numbers to be reached are found by dynamic programming over groups of similar degrees, and then a simple graph
    near the original that has them. With `add_only` that is the printed method; else degrees may fall as well as rise,
    which changes fewer links.

    What an intruder can do: who knows only how many friends somebody has is left with at least k nodes. Who knows how
    many friends these friends have, who they are, or what the nodes' profiles say, may find fewer.

    >>> from microveil.microdata import Microdata
    >>> star = Microdata.of({"id": [1, 2, 3, 4, 5]}, graph={"source": [1, 1, 1, 1], "target": [2, 3, 4, 5]})
    >>> release = KDegree(k=2).mask(star, seed=1)
    >>> sorted(release.data.edges.degrees.tolist())
    [2, 2, 2, 4, 4]
    """

    name: ClassVar[str] = "k-degree"
    summary: ClassVar[str] = "links of a graph are added and removed until every degree is shared by at least k nodes"
    source: ClassVar[str] = "Liu and Terzi (2008); Marés (2013), section 2.6"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    k: int = parameter(default=3, help="fewest nodes that share a degree", ge=2, le=MOST_RECORDS)
    add_only: bool = parameter(default=False, help="whether links are only added, as it is printed")

    def _linked(
        self, data: Microdata, graph: Adjacency, rng: np.random.Generator, progress: Progress
    ) -> tuple[Adjacency, tuple[Note, ...]]:
        from microveil.numerics.graphs.degree_anonymity import degree_anonymous_graph, degree_anonymous_supergraph

        progress(0.1, f"{self.name}: looking for degrees")
        make = degree_anonymous_supergraph if self.add_only else degree_anonymous_graph
        made = make(graph, self.k, rng)
        return made.graph, (LINKS_CHANGED(added=made.added, removed=made.removed),)


@parameterised
class KAutomorphism(StructuralMethod):
    """Links are moved until every node has at least k - 1 others that stand in the graph exactly as it does, so that no
    knowledge of the structure, however much, tells them apart: neither degrees nor neighbourhoods nor the whole graph.

    Nodes of similar degree stand in rows of k, and the graph looks the same when every node takes the place of the
    next in its row. As many links remain as there were; about one in k of them is an original one, more where nodes of
    a row have linked neighbours, so it is for graphs whose degrees and density matter more than who is linked to whom.
    Where the number of nodes is no multiple of k, those with the fewest links lose them.

    What an intruder can do: find the row of a person, and guess who of its k or more nodes it is. Profiles that were
    left alone tell them apart all the same.

    >>> from microveil.microdata import Microdata
    >>> ring = Microdata.of({"id": [1, 2, 3, 4]}, graph={"source": [1, 2, 3, 4], "target": [2, 3, 4, 1]})
    >>> KAutomorphism(k=2).mask(ring, seed=1).data.edges.degrees.tolist()
    [2, 2, 2, 2]
    """

    name: ClassVar[str] = "k-automorphism"
    summary: ClassVar[str] = (
        "links of a graph are moved until nothing of its structure tells a node from k - 1 others, also not its "
        "neighbourhood"
    )
    source: ClassVar[str] = "Zou, Chen and Özsu (2009); Zhou and Pei (2008) on neighbourhoods"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    k: int = parameter(default=2, help="fewest nodes that nothing tells apart", ge=2, le=1000)

    def _linked(
        self, data: Microdata, graph: Adjacency, rng: np.random.Generator, progress: Progress
    ) -> tuple[Adjacency, tuple[Note, ...]]:
        from microveil.numerics.graphs.automorphism import automorphic_graph

        progress(0.1, f"{self.name}: putting nodes into rows")
        made = automorphic_graph(graph, self.k, rng)
        notes = [LINKS_CHANGED(added=made.added, removed=made.removed)]
        if made.isolated:
            notes.append(LINKS_OF_NODES_REMOVED(nodes=made.isolated))
        return made.graph, tuple(notes)


@parameterised
class EdgeSwapping(StructuralMethod):
    """Pairs of links exchange their ends: of a-b and c-d become a-d and c-b. Every node keeps the number of its links.

    With `share` = 1 as many exchanges are made as there are links, so that most links are touched; who is linked to
    whom is then mostly chance, given the degrees.

    What an intruder can do: degrees are the true ones, so who knows how many friends somebody has may find the node.

    >>> from microveil.microdata import Microdata
    >>> path = Microdata.of({"id": [1, 2, 3, 4]}, graph={"source": [1, 2, 3], "target": [2, 3, 4]})
    >>> EdgeSwapping(share=1).mask(path, seed=1).data.edges.degrees.tolist()
    [1, 2, 2, 1]
    """

    name: ClassVar[str] = "edge-swapping"
    summary: ClassVar[str] = "pairs of links of a graph exchange their ends at random; every node keeps its degree"
    source: ClassVar[str] = "Marés (2013), section 2.6; Ying and Wu (2008)"
    searched: ClassVar[Ranges] = ranges(share=Interval(0.05, 5.0, logarithmic=True))

    share: float = parameter(default=0.5, help="how many exchanges are made, as a share of the links", ge=0, le=100)

    def _linked(
        self, data: Microdata, graph: Adjacency, rng: np.random.Generator, progress: Progress
    ) -> tuple[Adjacency, tuple[Note, ...]]:
        from microveil.numerics.graphs.rewiring import swap_edges

        progress(0.1, f"{self.name}: exchanging ends")
        made = swap_edges(graph, self.share, rng)
        missing = round(self.share * graph.edges) - made.swaps
        return made.graph, (SWAPS_NOT_MADE(swaps=missing),) if missing > 0 else ()


@parameterised
class EdgeReplacement(StructuralMethod):
    """Some links, drawn at random, are removed, and as many others are added between random nodes.

    What an intruder can do: the links that remain are true ones, so that with a share below one half the neighbourhoods
    of well-linked nodes are still found.

    >>> from microveil.microdata import Microdata
    >>> path = Microdata.of({"id": [1, 2, 3, 4]}, graph={"source": [1, 2, 3], "target": [2, 3, 4]})
    >>> len(EdgeReplacement(share=0.5).mask(path, seed=1).data.edges)
    3
    """

    name: ClassVar[str] = "edge-replacement"
    summary: ClassVar[str] = "some links of a graph are removed at random and as many added between random nodes"
    source: ClassVar[str] = "Hay et al. (2007); Marés (2013), section 2.6"
    searched: ClassVar[Ranges] = ranges(share=Interval(0.01, 1.0, logarithmic=True))

    share: float = parameter(default=0.1, help="the share of links that are replaced", ge=0, le=1)

    def _linked(
        self, data: Microdata, graph: Adjacency, rng: np.random.Generator, progress: Progress
    ) -> tuple[Adjacency, tuple[Note, ...]]:
        from microveil.numerics.graphs.rewiring import replace_edges

        progress(0.1, f"{self.name}: replacing links")
        count = round(self.share * graph.edges)
        free = graph.nodes * (graph.nodes - 1) // 2 - graph.edges + count
        if free < count:
            raise DataError(f"the graph is too dense for {self.name}: it has room for {free:,} new links")
        return replace_edges(graph, count, rng), (LINKS_CHANGED(added=count, removed=count),)


@parameterised
class SyntheticGraph(StructuralMethod):
    """All links are drawn anew: every node gets as many as it had, and every two classes of nodes have as many between
    them as before; nothing else of the graph is kept.

    Classes are the categories of the attributes `mixing`; by default of the first categorical attribute that is a key,
    else of the first one that there is, and without any all nodes are one class.

    What an intruder can do: the degrees are the true ones, so combine it with k-degree. A class with one node tells
    how many links this node has into every other class.

    >>> from microveil.microdata import Microdata
    >>> nodes = {"id": [1, 2, 3, 4, 5, 6], "sex": ["f", "f", "f", "m", "m", "m"]}
    >>> people = Microdata.of(nodes, graph={"source": [1, 2, 4, 3], "target": [2, 3, 5, 6]})
    >>> SyntheticGraph().mask(people, seed=1).data.edges.degrees.tolist()
    [1, 2, 2, 1, 1, 1]
    """

    name: ClassVar[str] = "synthetic-graph"
    summary: ClassVar[str] = (
        "all links of a graph are drawn anew, with the same degrees and as many links between classes of nodes"
    )
    source: ClassVar[str] = "Karrer and Newman (2011); Marés (2013), section 7.3"

    mixing: tuple[str, ...] | None = parameter(
        default=None,
        help="categorical attributes whose combinations are the classes; unset: the first one among the keys, else the "
        "first one",
    )

    def _linked(
        self, data: Microdata, graph: Adjacency, rng: np.random.Generator, progress: Progress
    ) -> tuple[Adjacency, tuple[Note, ...]]:
        from microveil.numerics.counting.distinct_rows import number_rows
        from microveil.numerics.graphs.mixing_model import mixing_model_graph

        names = self._classes(data)
        codes = [data.categories(name).codes for name in names]
        classes = number_rows(codes)[0] if codes else np.zeros(len(data), dtype=np.int64)
        progress(0.1, f"{self.name}: drawing links")
        made = mixing_model_graph(graph, classes, rng)
        notes = [MIXING_OF(attributes=names)] if names else []
        if made.missing:
            notes.append(LINKS_NOT_PLACED(links=made.missing))
        return made.graph, tuple(notes)

    def _classes(self, data: Microdata) -> tuple[str, ...]:
        if self.mixing is not None:
            for name in self.mixing:
                if not data[name].is_categorical or set(data[name].roles) & {"identifier", "node"}:
                    raise ParameterError(f"{self.name}: mixing names '{name}', which is no categorical attribute")
            return self.mixing
        keys = [name for name in data.schema.keys if data[name].is_categorical]
        others = (a.name for a in data.schema if a.is_categorical and not set(a.roles) & {"identifier", "node"})
        found = next(iter((*keys, *others)), None)
        return () if found is None else (found,)
