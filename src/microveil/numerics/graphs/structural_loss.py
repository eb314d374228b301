"""How much of the structure of a graph is lost: degrees, clustering, path lengths, spectrum, communities, edges.

The figures of one graph are kept together in a `Structure`, so that an original is measured once and compared with
many others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.numerics.clustering.partition_similarity import PairCounts
from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.splitmix import INCREMENT, finished
from microveil.numerics.graphs.adjacency import Adjacency, degrees, edge_list, induced, largest_component
from microveil.numerics.graphs.clustering import Clustering
from microveil.numerics.graphs.paths import EXACT_UP_TO, SOURCES, PathLengths, path_lengths
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

_DENSE = 300  # nodes up to which all eigenvalues of the full matrix are found
_RESTARTS = 100  # of the Lanczos iteration
_LEAST_GAIN = 1e-7  # in modularity; a round of moves that gains less is the last


@dataclass(frozen=True)
class Structure:
    """What of a graph is compared. Path lengths and the eigenvalues of the Laplacian are those of the largest
    component."""

    graph: Adjacency
    paths: PathLengths
    clustering: float
    transitivity: float
    eigenvalues: FloatArray
    laplacian_eigenvalues: FloatArray
    communities: IntArray

    @classmethod
    def of(
        cls,
        graph: Adjacency,
        rng: np.random.Generator,
        eigenvalues: int = 10,
        exact_up_to: int = EXACT_UP_TO,
        sources: int = SOURCES,
        progress: Progress = silent,
        label: str = "measuring the structure",
        *,
        laplacian: bool = True,
    ) -> Structure:
        """Without `laplacian` its eigenvalues, which take longest, are left out."""
        clustering = Clustering.of(graph)
        return cls(
            graph,
            path_lengths(graph, rng, exact_up_to, sources, progress, label),
            clustering.mean,
            clustering.transitivity,
            largest_eigenvalues(graph, eigenvalues),
            laplacian_eigenvalues(graph, eigenvalues) if laplacian else np.empty(0),
            communities(graph, rng),
        )


@dataclass(frozen=True)
class EdgeChanges:
    """How many edges two graphs have in common, and how many only the second (added) or the first (removed) has."""

    kept: int
    added: int
    removed: int

    @classmethod
    def of(cls, before: Adjacency, after: Adjacency) -> EdgeChanges:
        one, other = ((ends[0] * max(1, before.nodes) + ends[1]) for ends in (edge_list(before), edge_list(after)))
        kept = len(np.intersect1d(one, other, assume_unique=True))
        return cls(kept, len(other) - kept, len(one) - kept)

    @property
    def kept_share(self) -> float:
        """Of the original edges; 1 if there are none."""
        return 1.0 - self.removed_share

    @property
    def removed_share(self) -> float:
        """Of the original edges; 0 if there are none."""
        return self.removed / max(1, self.kept + self.removed)

    @property
    def added_share(self) -> float:
        """The share of the published edges that are not original ones; 0 if there are none."""
        return self.added / max(1, self.kept + self.added)


@dataclass(frozen=True)
class StructuralLoss:
    """All losses are 0 for two equal graphs.

    `degrees` is the total variation distance of the histograms of degrees, `clustering` and `transitivity` the
    difference of the coefficients, `path_length` that of the mean path lengths relative to the original. `eigenvalues`
    and `laplacian_eigenvalues` are the differences one by one, published less original.
    """

    degrees: float
    clustering: float
    transitivity: float
    path_length: float
    eigenvalues: FloatArray
    laplacian_eigenvalues: FloatArray
    communities: PairCounts
    edges: EdgeChanges

    @property
    def spectral_radius(self) -> float:
        """How much the largest eigenvalue differs."""
        return float(np.abs(self.eigenvalues[:1]).sum())

    @property
    def connectivity(self) -> float:
        """How much the smallest non-zero eigenvalue of the normalised Laplacian differs."""
        return float(np.abs(self.laplacian_eigenvalues[:1]).sum())


def structural_loss(before: Structure, after: Structure) -> StructuralLoss:
    """Compare two graphs of the same nodes; see Marés (2013), section 2.6.1, and for the spectrum Ying and Wu (2008).

    >>> from microveil.numerics.graphs.adjacency import adjacency
    >>> path, star = (adjacency(np.array(ends), np.array([1, 2, 3]), 4) for ends in ([0, 1, 2], [0, 0, 0]))
    >>> found = structural_loss(*(Structure.of(graph, np.random.default_rng(1)) for graph in (path, star)))
    >>> found.degrees, found.edges
    (0.5, EdgeChanges(kept=1, added=2, removed=2))
    """
    if before.graph.nodes != after.graph.nodes:
        raise DataError(
            f"the graphs have {before.graph.nodes:,} and {after.graph.nodes:,} nodes; compare graphs of the same nodes"
        )
    return StructuralLoss(
        degree_distance(degrees(before.graph), degrees(after.graph)),
        abs(before.clustering - after.clustering),
        abs(before.transitivity - after.transitivity),
        _relative(before.paths.mean, after.paths.mean),
        _differences(before.eigenvalues, after.eigenvalues),
        _differences(before.laplacian_eigenvalues, after.laplacian_eigenvalues),
        PairCounts.of(before.communities, after.communities),
        EdgeChanges.of(before.graph, after.graph),
    )


def degree_distance(before: IntArray, after: IntArray) -> float:
    """Total variation distance of the histograms of the degrees of as many nodes, 0 without nodes.

    >>> degree_distance(np.array([1, 1, 2]), np.array([1, 2, 3]))
    0.3333333333333333
    """
    if len(before) != len(after):
        raise DataError(f"there are {len(before):,} degrees and {len(after):,}; compare graphs of the same nodes")
    most = int(max(before.max(initial=0), after.max(initial=0)))
    one, other = (np.bincount(many, minlength=most + 1) for many in (before, after))
    return int(np.abs(one - other).sum()) / (2 * max(1, len(before)))


def adjusted_rand(pairs: PairCounts) -> float:
    """The Rand index corrected for chance, 1 for equal partitions and 0 on average for random ones; see Hubert and
    Arabie (1985)."""
    r, s, t, u = pairs.together, pairs.only_first, pairs.only_second, pairs.apart
    spread = (r + s) * (s + u) + (r + t) * (t + u)
    return 2 * (r * u - s * t) / spread if spread else 1.0


def _relative(before: float, after: float) -> float:
    """The difference relative to the first; 1 if only the second graph has paths."""
    if before == 0.0:
        return float(after != 0.0)
    return abs(before - after) / before


def _differences(before: FloatArray, after: FloatArray) -> FloatArray:
    """One by one, as far as both graphs have them: a small component has few eigenvalues."""
    both = min(len(before), len(after))
    return np.asarray(after[:both] - before[:both])


def largest_eigenvalues(graph: Adjacency, count: int) -> FloatArray:
    """The largest eigenvalues of the adjacency matrix, descending."""
    _check_count(count)
    source, target = edge_list(graph)
    many = degrees(graph)
    bound = np.sqrt((many[source] * many[target]).max(initial=0))  # Berman and Zhang (2001)
    return _largest(graph, np.ones(graph.nodes), count, float(bound))


def laplacian_eigenvalues(graph: Adjacency, count: int) -> FloatArray:
    """The smallest non-zero eigenvalues of the normalised Laplacian of the largest component, ascending.

    With D the degrees and A the adjacency matrix, the Laplacian is I - D^(-1/2) A D^(-1/2). A component has the
    eigenvalue 0 once, so that it is the first that is left out.
    """
    _check_count(count)
    component = induced(graph, largest_component(graph))
    scale = 1.0 / np.sqrt(np.maximum(1, degrees(component)))
    return 1.0 - _largest(component, scale, count + 1, 1.0)[1:]


def _check_count(count: int) -> None:
    if count < 1:
        raise ParameterError(f"eigenvalues = {count} is not allowed; it must be greater than or equal to 1")


def _largest(graph: Adjacency, scale: FloatArray, count: int, bound: float) -> FloatArray:
    """The largest eigenvalues of S A S, S the diagonal matrix of the scale, descending; none exceeds the bound."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    if graph.edges == 0:
        return np.zeros(min(count, graph.nodes))
    cells = np.repeat(scale, degrees(graph)) * scale[graph.indices]
    matrix = csr_array((cells, graph.indices, graph.indptr), shape=(graph.nodes, graph.nodes))
    if graph.nodes <= max(_DENSE, 5 * count + 20):
        return np.asarray(np.linalg.eigvalsh(matrix.toarray())[::-1][:count])
    start = _start_vector(graph.nodes)
    wanted = {"k": count, "v0": start, "ncv": 4 * count + 20, "tol": 1e-9, "return_eigenvectors": False}
    try:
        found = eigsh(matrix, which="LA", maxiter=_RESTARTS, **wanted)
    except ArpackNoConvergence:  # the eigenvalues of long chains lie close together; seen from the bound they do not
        found = eigsh(matrix.tocsc(), sigma=bound * (1.0 + 1e-6), **wanted)
    return np.asarray(np.sort(found)[::-1])


def _start_vector(size: int) -> FloatArray:
    """Irregular, so that it has a part along every eigenvector, and always the same."""
    bits = finished(np.arange(1, size + 1, dtype=np.uint64) * INCREMENT)
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53 - 0.5)


def modularity(graph: Adjacency, labels: IntArray) -> float:
    """The share of links within communities, less that expected of links drawn at random between nodes of the same
    degrees; see Newman and Girvan (2004). 0 without edges."""
    links = len(graph.indices)
    if links == 0:
        return 0.0
    within = int((np.repeat(labels, degrees(graph)) == labels[graph.indices]).sum())
    sums = np.bincount(labels, weights=degrees(graph))
    return within / links - float(np.square(sums / links).sum())


def communities(graph: Adjacency, rng: np.random.Generator) -> IntArray:
    """The community of each node by the method of Louvain, numbered by their first nodes; see Blondel et al. (2008).

    Nodes move, in an order drawn at random, to the community of a neighbour where modularity gains most; communities
    then become nodes, until none moves. Weights are whole numbers, so that gains are compared exactly.
    """
    labels = np.arange(graph.nodes)
    level = _Weighted(graph.indptr, graph.indices, np.ones(len(graph.indices), dtype=np.int64), degrees(graph))
    while level.nodes:
        moved = _moved(level.indptr, level.indices, level.weights, level.strength, rng.permutation(level.nodes))
        found = _numbered_by_first(moved)
        labels = found[labels]
        if int(found.max()) + 1 == level.nodes:
            break
        level = level.merged(found)
    return _numbered_by_first(labels)


@dataclass(frozen=True)
class _Weighted:
    """A graph of communities: links between them with weights; `strength` counts the links within as well."""

    indptr: IntArray
    indices: IntArray
    weights: IntArray
    strength: IntArray

    @property
    def nodes(self) -> int:
        return len(self.strength)

    def merged(self, labels: IntArray) -> _Weighted:
        number = int(labels.max()) + 1
        rows, columns = np.repeat(labels, np.diff(self.indptr)), labels[self.indices]
        between = rows != columns
        keys, cells = np.unique(rows[between] * number + columns[between], return_inverse=True)
        weights = np.zeros(len(keys), dtype=np.int64)
        np.add.at(weights, cells, self.weights[between])
        strength = np.zeros(number, dtype=np.int64)
        np.add.at(strength, labels, self.strength)
        indptr = np.searchsorted(keys, np.arange(number + 1) * number).astype(np.int64)
        return _Weighted(indptr, keys % number, weights, strength)


def _numbered_by_first(labels: IntArray) -> IntArray:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


@kernel
def _moved(indptr: IntArray, indices: IntArray, weights: IntArray, strength: IntArray, order: IntArray) -> IntArray:
    """The community of each node when no move gains modularity any more, or too little."""
    nodes = len(strength)
    labels, total = np.arange(nodes), strength.copy()
    linked, near = np.zeros(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    links = max(1, strength.sum())
    gained = 1.0
    while gained > _LEAST_GAIN:
        gained = 0.0
        for v in order:
            many = 0
            for i in range(indptr[v], indptr[v + 1]):
                c = labels[indices[i]]
                if linked[c] == 0:
                    near[many] = c
                    many += 1
                linked[c] += weights[i]
            own = labels[v]
            total[own] -= strength[v]
            stay = linked[own] * links - strength[v] * total[own]
            best, most = own, stay
            for c in near[:many]:
                gain = linked[c] * links - strength[v] * total[c]
                if gain > most:
                    best, most = c, gain
            total[best] += strength[v]
            labels[v] = best
            gained += 2.0 * (most - stay) / links / links
            for c in near[:many]:
                linked[c] = 0
    return labels
