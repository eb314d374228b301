"""Triangles of a graph, and the clustering coefficients that they give.

Edges lead from the end of lower degree to the other, so that no node has more than sqrt(2m) of them; each triangle is
then found once, as two edges that leave a node and one between their ends; see Latapy (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.numerics.graphs.adjacency import Adjacency, degrees
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Clustering:
    """The triangles at each node, beside its degree."""

    triangles: IntArray
    degrees: IntArray

    @classmethod
    def of(cls, graph: Adjacency) -> Clustering:
        """A triangle with a tail:

        >>> from microveil.numerics.graphs.adjacency import adjacency
        >>> found = Clustering.of(adjacency(np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3]), 4))
        >>> found.triangles.tolist(), found.transitivity
        ([1, 1, 1, 0], 0.6)
        """
        many = degrees(graph)
        return cls(_triangles(graph.indptr, graph.indices, many), many)

    @property
    def pairs(self) -> IntArray:
        """How many pairs of neighbours each node has."""
        return np.asarray(self.degrees * (self.degrees - 1) // 2)

    @property
    def local(self) -> FloatArray:
        """The share of each node's pairs of neighbours that are linked, 0 for a node with fewer than two neighbours;
        see Watts and Strogatz (1998)."""
        return np.asarray(self.triangles / np.maximum(1, self.pairs))

    @property
    def mean(self) -> float:
        """The mean of the local coefficients over all nodes, 0 without nodes."""
        return float(self.local.mean()) if len(self.degrees) else 0.0

    @property
    def transitivity(self) -> float:
        """The share of all pairs of neighbours of one node that are linked, 0 if there is no pair."""
        pairs = int(self.pairs.sum())
        return int(self.triangles.sum()) / pairs if pairs else 0.0


@kernel
def _triangles(indptr: IntArray, indices: IntArray, many: IntArray) -> IntArray:
    nodes = len(many)
    starts, ends = _upward(indptr, indices, many)
    found = np.zeros(nodes, dtype=np.int64)
    linked_to = np.full(nodes, -1, dtype=np.int64)
    for u in range(nodes):
        for i in range(starts[u], starts[u + 1]):
            linked_to[ends[i]] = u
        for i in range(starts[u], starts[u + 1]):
            v = ends[i]
            for j in range(starts[v], starts[v + 1]):
                w = ends[j]
                if linked_to[w] == u:
                    found[u] += 1
                    found[v] += 1
                    found[w] += 1
    return found


@kernel
def _upward(indptr: IntArray, indices: IntArray, many: IntArray) -> tuple[IntArray, IntArray]:
    """Of every node the neighbours of higher degree, or of equal degree and higher number."""
    starts = np.zeros(len(indptr), dtype=np.int64)
    ends = np.empty(len(indices) // 2, dtype=np.int64)
    end = 0
    for v in range(len(many)):
        for i in range(indptr[v], indptr[v + 1]):
            w = indices[i]
            if many[v] < many[w] or (many[v] == many[w] and v < w):
                ends[end] = w
                end += 1
        starts[v + 1] = end
    return starts, ends
