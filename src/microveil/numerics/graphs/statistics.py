"""What a graph looks like as a whole: size, degrees, path lengths, clustering, beside random graphs of the same size;
and the entropy of its degrees, with what each node adds to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, connected_components, degrees
from microveil.numerics.graphs.clustering import Clustering
from microveil.numerics.graphs.paths import EXACT_UP_TO, SOURCES, PathLengths, path_lengths
from microveil.progress import Progress, parts, silent
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class SmallWorld:
    """Path length and clustering of a graph beside the means over `graphs` random graphs with as many nodes and edges.
    A small world has paths about as short as theirs and much more clustering; see Watts and Strogatz (1998)."""

    path_length: float
    clustering: float
    random_path_length: float
    random_clustering: float
    graphs: int

    @property
    def coefficient(self) -> float:
        """(C / C_random) / (L / L_random) of Humphries and Gurney (2008), above 1 for a small world; not a number if
        one of the divisors is 0."""
        if self.random_clustering == 0.0 or self.path_length == 0.0:
            return float("nan")
        return (self.clustering / self.random_clustering) * (self.random_path_length / self.path_length)


@dataclass(frozen=True)
class GraphStatistics:
    """Path lengths are those of the largest component, everything else that of the whole graph."""

    nodes: int
    edges: int
    components: int
    paths: PathLengths
    clustering: float
    transitivity: float
    small_world: SmallWorld

    @property
    def mean_degree(self) -> float:
        return 2 * self.edges / self.nodes if self.nodes else 0.0

    @property
    def largest_component(self) -> int:
        """How many nodes the largest component has."""
        return self.paths.nodes

    @property
    def diameter(self) -> int:
        return self.paths.diameter

    @property
    def mean_path_length(self) -> float:
        return self.paths.mean

    @property
    def median_path_length(self) -> float:
        return self.paths.median


def graph_statistics(
    graph: Adjacency,
    rng: np.random.Generator,
    random_graphs: int = 3,
    exact_up_to: int = EXACT_UP_TO,
    sources: int = SOURCES,
    progress: Progress = silent,
    label: str = "measuring the graph",
) -> GraphStatistics:
    """Measure a graph and as many random graphs as are wanted to compare it with; `path_lengths` says what
    `exact_up_to` and `sources` mean."""
    if random_graphs < 1:
        raise ParameterError(f"random_graphs = {random_graphs} is not allowed; it must be greater than or equal to 1")
    first, *others = parts(progress, 1 + random_graphs)
    paths = path_lengths(graph, rng, exact_up_to, sources, first, label)
    clustering = Clustering.of(graph)
    lengths, coefficients = [], []
    for part in others:
        drawn = random_graph(graph.nodes, graph.edges, rng)
        lengths.append(path_lengths(drawn, rng, exact_up_to, sources, part, label).mean)
        coefficients.append(Clustering.of(drawn).mean)
    compared = SmallWorld(
        paths.mean, clustering.mean, float(np.mean(lengths)), float(np.mean(coefficients)), random_graphs
    )
    components = int(connected_components(graph).max(initial=-1)) + 1
    return GraphStatistics(
        graph.nodes, graph.edges, components, paths, clustering.mean, clustering.transitivity, compared
    )


def random_graph(nodes: int, edges: int, rng: np.random.Generator) -> Adjacency:
    """A graph drawn uniformly from all with these numbers of nodes and edges; see Erdős and Rényi (1959).

    >>> random_graph(4, 6, np.random.default_rng(1)).indices.tolist()
    [1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]
    """
    pairs = nodes * (nodes - 1) // 2
    if nodes < 0 or not 0 <= edges <= pairs:
        raise ParameterError(f"edges = {edges} is not allowed; a graph of {nodes:,} nodes has 0 to {pairs:,} edges")
    chosen = _distinct_numbers(pairs, edges, rng)
    below = np.arange(nodes) * (np.arange(nodes) - 1) // 2  # pairs whose higher node is below this one
    high = np.searchsorted(below, chosen, side="right") - 1
    return adjacency(chosen - below[high], high, nodes)


def _distinct_numbers(below: int, size: int, rng: np.random.Generator) -> IntArray:
    """Distinct numbers, every set of them as likely as every other, in memory that depends on the size alone."""
    if below <= 4 * size:
        return rng.permutation(below)[:size]
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < size:
        chosen = np.unique(np.concatenate([chosen, rng.integers(below, size=size - len(chosen))]))
    return chosen


def degree_entropy(graph: Adjacency) -> float:
    """H = -sum (d / 2E) log2 (d / 2E) over all nodes, 0 without edges; see Marés (2013), section 2.6.1."""
    return float(_entropy(np.array([2 * graph.edges]), np.array([_terms(degrees(graph)).sum()]))[0])


def node_importance(graph: Adjacency) -> FloatArray:
    """How much the entropy of the degrees falls when a node is removed, H(G) - H(G - v), for every node.

    >>> path = adjacency(np.array([0, 1]), np.array([1, 2]), 3)
    >>> node_importance(path).tolist()
    [0.5, 1.5, 0.5]
    """
    many = degrees(graph)
    terms = _terms(many)
    lost_by_neighbour = terms - _terms(np.maximum(0, many - 1))
    rows = np.repeat(np.arange(graph.nodes), many)
    lost = np.bincount(rows, weights=lost_by_neighbour[graph.indices], minlength=graph.nodes)
    return degree_entropy(graph) - _entropy(2 * graph.edges - 2 * many, terms.sum() - terms - lost)


def _terms(many: IntArray) -> FloatArray:
    """d log2 d, with 0 for d = 0."""
    return np.asarray(many * np.log2(np.maximum(1, many)))


def _entropy(ends: IntArray, terms: FloatArray) -> FloatArray:
    """Entropy of degrees that sum to `ends` and whose d log2 d sum to `terms`: log2 2E - (sum d log2 d) / 2E."""
    some = np.maximum(1, ends)
    return np.where(ends > 0, np.log2(some) - terms / some, 0.0)
