"""Shortest paths: distances from a node, and the lengths of the paths in the largest component of a graph.

Searches from 64 nodes run at once, one bit of a word for each, so that a link which many of them follow in the same
step is read once; see Then et al. (2014). All counts are whole numbers, and threads change none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError
from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.graphs.adjacency import Adjacency, induced, largest_component
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

EXACT_UP_TO = 10_000
SOURCES = 1_000
_AT_ONCE = 64  # searches in one word


@dataclass(frozen=True)
class PathLengths:
    """How many paths from `sources` of the `nodes` of the largest component to all others have each length;
    `sums[s]` is the sum of the lengths from one source. With fewer sources than nodes, all that follows are estimates.

    A graph without edges has no paths; its figures are 0.
    """

    counts: IntArray
    sums: IntArray = field(repr=False)
    nodes: int

    @property
    def sources(self) -> int:
        return len(self.sums)

    @property
    def is_estimate(self) -> bool:
        return self.sources < self.nodes

    @property
    def distribution(self) -> FloatArray:
        """The share of paths of each length, from 0 to the greatest."""
        return np.asarray(self.counts / max(1, int(self.counts.sum())))

    @property
    def mean(self) -> float:
        """The average shortest path length."""
        return int(self.sums.sum()) / max(1, int(self.counts.sum()))

    @property
    def standard_error(self) -> float:
        """Of the mean, from how it differs between the sources; 0 if all nodes are sources."""
        if not self.is_estimate:
            return 0.0
        if self.sources < 2:
            return float("inf")
        spread = float(np.std(self.sums / (self.nodes - 1), ddof=1))
        return spread / sqrt(self.sources) * sqrt(1.0 - self.sources / self.nodes)

    @property
    def median(self) -> float:
        """The characteristic path length; halfway if the two lengths in the middle differ."""
        paths = int(self.counts.sum())
        if paths == 0:
            return 0.0
        within = np.cumsum(self.counts)
        low, high = np.searchsorted(within, [(paths - 1) // 2, paths // 2], side="right")
        return float(low + high) / 2.0

    @property
    def diameter(self) -> int:
        """The greatest length; of an estimate, the greatest that was seen, which the diameter may exceed."""
        return max(0, len(self.counts) - 1)

    @property
    def effective_diameter(self) -> float:
        """The length that 90 % of the paths do not exceed, interpolated between whole lengths as in Leskovec,
        Kleinberg and Faloutsos (2005)."""
        if int(self.counts.sum()) == 0:
            return 0.0
        within = np.cumsum(self.counts)
        wanted = 0.9 * int(within[-1])
        length = int(np.searchsorted(within, wanted))
        return length - float(within[length] - wanted) / float(self.counts[length])


def distances_from(graph: Adjacency, source: int) -> IntArray:
    """The length of the shortest path from a node to each node, -1 where there is none.

    >>> from microveil.numerics.graphs.adjacency import adjacency
    >>> distances_from(adjacency(np.array([0, 1]), np.array([1, 2]), 4), 0).tolist()
    [0, 1, 2, -1]
    """
    if not 0 <= source < graph.nodes:
        raise ParameterError(f"source = {source} is not allowed; the graph has {graph.nodes:,} nodes, numbered from 0")
    return _breadth_first(graph.indptr, graph.indices, source)


def path_lengths(
    graph: Adjacency,
    rng: np.random.Generator,
    exact_up_to: int = EXACT_UP_TO,
    sources: int = SOURCES,
    progress: Progress = silent,
    label: str = "following shortest paths",
) -> PathLengths:
    """The lengths of the shortest paths in the largest component: of all of them if it has at most `exact_up_to` nodes,
    otherwise of those from `sources` nodes drawn at random.

    >>> from microveil.numerics.graphs.adjacency import adjacency
    >>> path = adjacency(np.arange(3), np.arange(1, 4), 4)
    >>> found = path_lengths(path, np.random.default_rng(1))
    >>> found.counts.tolist(), found.diameter, found.median
    ([0, 6, 4, 2], 3, 1.5)
    """
    if sources < 1:
        raise ParameterError(f"sources = {sources} is not allowed; it must be greater than or equal to 1")
    inside = largest_component(graph)
    component = graph if len(inside) == graph.nodes else induced(graph, inside)
    nodes = component.nodes
    chosen = np.arange(nodes)
    if nodes > max(exact_up_to, sources):
        chosen = np.sort(rng.choice(nodes, size=sources, replace=False))

    def work(start: int, end: int) -> tuple[IntArray, IntArray]:
        return _searched(component.indptr, component.indices, chosen[start:end])

    found = over_chunks(work, len(chosen), _AT_ONCE, progress, label)
    counts = np.zeros(max((len(part) for part, _ in found), default=0), dtype=np.int64)
    for part, _ in found:
        counts[: len(part)] += part
    sums = np.concatenate([np.empty(0, dtype=np.int64), *(part for _, part in found)])
    return PathLengths(counts, sums, nodes)


@kernel
def _breadth_first(indptr: IntArray, indices: IntArray, source: int) -> IntArray:
    nodes = len(indptr) - 1
    reached = np.full(nodes, -1, dtype=np.int64)
    queue = np.empty(nodes, dtype=np.int64)
    reached[source], queue[0] = 0, source
    first, end = 0, 1
    while first < end:
        v = queue[first]
        first += 1
        for i in range(indptr[v], indptr[v + 1]):
            w = indices[i]
            if reached[w] < 0:
                reached[w] = reached[v] + 1
                queue[end] = w
                end += 1
    return reached


@kernel
def _searched(indptr: IntArray, indices: IntArray, sources: IntArray) -> tuple[IntArray, IntArray]:
    """From at most 64 sources: how many nodes are at each distance, and each source's sum of distances."""
    nodes = len(indptr) - 1
    seen = np.zeros(nodes, dtype=np.uint64)
    here, coming = np.zeros_like(seen), np.zeros_like(seen)
    active, following = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    counts, sums = np.zeros(nodes, dtype=np.int64), np.zeros(_AT_ONCE, dtype=np.int64)
    many = len(sources)
    for s in range(many):
        seen[sources[s]] = here[sources[s]] = np.uint64(1) << np.uint64(s)
        active[s] = sources[s]
    distance = 0
    while many > 0:
        met = _step(indptr, indices, active[:many], seen, here, coming, following)
        for i in range(many):
            here[active[i]] = 0
        distance += 1
        arrived = np.zeros(_AT_ONCE, dtype=np.int64)
        for i in range(met):
            w = following[i]
            here[w] = coming[w]
            seen[w] |= coming[w]
            _count_bits(coming[w], arrived)
            coming[w] = 0
        if met > 0:
            counts[distance] = arrived.sum()
            sums += distance * arrived
        active, following = following, active
        many = met
    return counts[:distance].copy(), sums[: len(sources)].copy()


@kernel
def _step(
    indptr: IntArray,
    indices: IntArray,
    active: IntArray,
    seen: npt.NDArray[np.uint64],
    here: npt.NDArray[np.uint64],
    coming: npt.NDArray[np.uint64],
    following: IntArray,
) -> int:
    """Follow every link from the active nodes; the nodes that some search meets for the first time are `following`."""
    met = 0
    for v in active:
        for i in range(indptr[v], indptr[v + 1]):
            w = indices[i]
            new = here[v] & ~seen[w]
            if new != 0:
                if coming[w] == 0:
                    following[met] = w
                    met += 1
                coming[w] |= new
    return met


@kernel
def _count_bits(word: int, into: IntArray) -> None:
    for bit in range(_AT_ONCE):
        into[bit] += np.int64((word >> np.uint64(bit)) & np.uint64(1))
