"""How much of the structure of a graph is lost."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.graphs.cells import in_order, order_of_nodes
from microveil.losses.base import Loss, LossMeasure
from microveil.numerics.graphs.adjacency import Adjacency
from microveil.parameters import LARGEST_SEED, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray


@parameterised
class StructureLoss(LossMeasure):
    """The mean of six changes of the structure, each from 0 to 1, which `details` has too: `degrees`, the total
    variation distance of the histograms of degrees; `clustering`, the difference of the mean clustering coefficients;
    `path length`, that of the mean shortest paths over the original one, at most 1; `communities`, 1 less the adjusted
    Rand index of the communities found by the method of Louvain, at most 1; `spectrum`, the differences of the ten
    largest eigenvalues over the sum of their sizes; and `edges`, the share of all links of both graphs that only one of
    them has.

    Path lengths are those of the largest component, of a large graph from some nodes drawn at random.

    >>> from microveil.microdata import Microdata
    >>> path, star = ({"source": source, "target": [2, 3, 4]} for source in ([1, 2, 3], [1, 1, 1]))
    >>> before, after = (Microdata.of({"id": [1, 2, 3, 4]}, graph=links) for links in (path, star))
    >>> loss = StructureLoss().measure(before, after)
    >>> loss.details["degrees"], loss.details["edges"]
    (50.0, 80.0)
    """

    name: ClassVar[str] = "structure"
    family: ClassVar[str] = "graphs"
    usual: ClassVar[bool] = True
    of_graph: ClassVar[bool] = True
    summary: ClassVar[str] = "mean change of degrees, clustering, path lengths, communities, spectrum and links"
    meaning: ClassVar[str] = "mean change of six figures of a graph's structure; lower is better"
    kinds: ClassVar[tuple[str, ...]] = ()
    missing: ClassVar[str] = "no cell is read"
    source: ClassVar[str] = (
        "Marés (2013), section 2.6.1; Ying and Wu (2008) on the spectrum; Blondel et al. (2008) and Hubert and Arabie "
        "(1985) on communities"
    )

    eigenvalues: int = parameter(default=10, help="number of largest eigenvalues that are compared", ge=1, le=100)
    seed: int = parameter(
        default=0, help="seed for the search for communities and for drawing nodes", ge=0, le=LARGEST_SEED
    )

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        from microveil.numerics.graphs.structural_loss import Structure, adjusted_rand, structural_loss

        def measured(graph: Adjacency, part: Progress) -> Structure:
            rng, label = PublicStreams(self.seed).generator(self.name), f"{self.name}: measuring a graph"
            return Structure.of(graph, rng, self.eigenvalues, progress=part, label=label, laplacian=False)

        graphs, (first, second) = in_order(pair, order_of_nodes(pair)), parts(progress, 2)
        before = measured(graphs[0], first)
        after = before if pair.original.edges == pair.masked.edges else measured(graphs[1], second)
        found = structural_loss(before, after)
        edges = found.edges
        bounded = {
            "degrees": found.degrees,
            "clustering": found.clustering,
            "path length": min(1.0, found.path_length),
            "communities": min(1.0, 1.0 - adjusted_rand(found.communities)),
            "spectrum": _spectral_change(before.eigenvalues, after.eigenvalues),
            "edges": (edges.added + edges.removed) / max(1, edges.kept + edges.added + edges.removed),
        }
        others = {
            "transitivity": found.transitivity,
            "removed edges": edges.removed_share,
            "added edges": edges.added_share,
        }
        details = {name: 100 * float(part) for name, part in (bounded | others).items()}
        return Loss.of(self.name, float(np.mean(list(bounded.values()))), attributes, details=details)


def _spectral_change(before: FloatArray, after: FloatArray) -> float:
    """The sum of the differences over the sum of the sizes, which it cannot exceed; 0 for graphs without links."""
    sizes = float(np.abs(before).sum() + np.abs(after).sum())
    change = float(np.abs(before - after).sum())
    return change / sizes if change > 1e-9 * sizes else 0.0  # the rest is rounding
