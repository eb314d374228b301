"""Undirected simple graphs as compressed sparse rows, and the cleaning that makes a list of edges one of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.errors import DataError, ParameterError
from microveil.numerics.core.compiled import kernel
from microveil.typing import IntArray


class Adjacency(NamedTuple):
    """The neighbours of node v are `indices[indptr[v] : indptr[v + 1]]`, ascending; every edge is in two rows."""

    indptr: IntArray
    indices: IntArray

    @property
    def nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        return len(self.indices) // 2

    def neighbours(self, node: int) -> IntArray:
        return self.indices[self.indptr[node] : self.indptr[node + 1]]


class CleanEdges(NamedTuple):
    """Each undirected edge once with source < target, ascending; and how many self-loops and repeated edges were
    dropped. The two directions of a reciprocal link are one edge, so that the second counts as repeated."""

    source: IntArray
    target: IntArray
    loops: int
    repeated: int


def clean_edges(source: npt.NDArray[Any], target: npt.NDArray[Any], nodes: int) -> CleanEdges:
    """The simple graph in a list of edges between the nodes 0, ..., nodes - 1.

    >>> clean = clean_edges(np.array([1, 0, 2, 2]), np.array([0, 1, 2, 1]), 3)
    >>> clean.source.tolist(), clean.target.tolist(), clean.loops, clean.repeated
    ([0, 1], [1, 2], 1, 1)
    """
    _check_edges(source, target, nodes)
    one, other = source.astype(np.int64), target.astype(np.int64)
    low, high = np.minimum(one, other), np.maximum(one, other)
    proper = low != high
    keys = low[proper] * nodes + high[proper]
    distinct = np.unique(keys)
    return CleanEdges(
        distinct // max(1, nodes), distinct % max(1, nodes), len(low) - len(keys), len(keys) - len(distinct)
    )


def adjacency(source: npt.NDArray[Any], target: npt.NDArray[Any], nodes: int) -> Adjacency:
    """The undirected simple graph of a list of edges, in which an edge may stand once or in both directions; self-loops
    are dropped and repeated edges merged.

    >>> adjacency(np.array([2, 1]), np.array([1, 0]), 3)
    Adjacency(indptr=array([0, 1, 3, 4]), indices=array([1, 0, 2, 1]))
    """
    clean = clean_edges(source, target, nodes)
    many = np.bincount(clean.source, minlength=nodes) + np.bincount(clean.target, minlength=nodes)
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(many, dtype=np.int64)])
    return Adjacency(indptr, _neighbours(clean.source, clean.target, indptr))


def edge_list(graph: Adjacency) -> tuple[IntArray, IntArray]:
    """Every edge once, source < target, ascending by source and then by target."""
    rows = np.repeat(np.arange(graph.nodes), degrees(graph))
    once = rows < graph.indices
    return rows[once], graph.indices[once]


def degrees(graph: Adjacency) -> IntArray:
    """How many neighbours each node has."""
    return np.diff(graph.indptr)


def induced(graph: Adjacency, nodes: IntArray) -> Adjacency:
    """The graph of some nodes and the edges among them; the nodes are renumbered in the order in which they are named.

    >>> path = adjacency(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
    >>> induced(path, np.array([3, 2, 0])).indices.tolist()
    [1, 0]
    """
    kept = np.asarray(nodes, dtype=np.int64)
    if len(kept) and (kept.min() < 0 or kept.max() >= graph.nodes):
        raise ParameterError(f"a node that is to be kept does not exist; the graph has {_numbered(graph.nodes)}")
    if len(np.unique(kept)) < len(kept):
        raise ParameterError("a node that is to be kept is named twice; name each node once")
    number = np.full(graph.nodes, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    source, target = (number[end] for end in edge_list(graph))
    inside = (source >= 0) & (target >= 0)
    return adjacency(source[inside], target[inside], len(kept))


def connected_components(graph: Adjacency) -> IntArray:
    """The component of each node, numbered by their first nodes.

    >>> connected_components(adjacency(np.array([0, 1]), np.array([3, 2]), 5)).tolist()
    [0, 1, 1, 0, 2]
    """
    return _components(graph.indptr, graph.indices)


def largest_component(graph: Adjacency) -> IntArray:
    """The nodes of the largest component, ascending; of several as large, the one with the first node."""
    labels = connected_components(graph)
    if len(labels) == 0:
        return labels
    return np.flatnonzero(labels == np.bincount(labels).argmax())


def _check_edges(source: npt.NDArray[Any], target: npt.NDArray[Any], nodes: int) -> None:
    if nodes < 0:
        raise ParameterError(f"nodes = {nodes} is not allowed; it must be greater than or equal to 0")
    if source.ndim != 1 or source.shape != target.shape:
        raise DataError("the edges need two columns of equal length, one for each end")
    if len(source) == 0:
        return
    if source.dtype.kind not in "iu" or target.dtype.kind not in "iu":
        raise DataError("the ends of the edges must be numbers of nodes, as whole numbers")
    if min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= nodes:
        raise DataError(f"an edge leads to a node that does not exist; the graph has {_numbered(nodes)}")


def _numbered(nodes: int) -> str:
    return f"{nodes:,} nodes, numbered from 0" if nodes else "no nodes"


@kernel
def _neighbours(source: IntArray, target: IntArray, indptr: IntArray) -> IntArray:
    """The rows of all nodes; edges that come in ascending order make every row ascending."""
    place = indptr[:-1].copy()
    indices = np.empty(2 * len(source), dtype=np.int64)
    for e in range(len(source)):
        a, b = source[e], target[e]
        indices[place[a]] = b
        indices[place[b]] = a
        place[a] += 1
        place[b] += 1
    return indices


@kernel
def _components(indptr: IntArray, indices: IntArray) -> IntArray:
    nodes = len(indptr) - 1
    labels = np.full(nodes, -1, dtype=np.int64)
    waiting = np.empty(nodes, dtype=np.int64)
    found = 0
    for first in range(nodes):
        if labels[first] >= 0:
            continue
        labels[first], waiting[0], end = found, first, 1
        while end > 0:
            end -= 1
            v = waiting[end]
            for i in range(indptr[v], indptr[v + 1]):
                if labels[indices[i]] < 0:
                    labels[indices[i]] = found
                    waiting[end] = indices[i]
                    end += 1
        found += 1
    return labels
