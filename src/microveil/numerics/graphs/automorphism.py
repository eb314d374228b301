"""Graphs in which every node has at least k - 1 others that nothing of the structure tells from it: k-automorphism,
after Zou, Chen and Özsu (2009).

Nodes of similar degree stand in rows of k, and the graph is made to look the same after every node has taken the place
of the next one in its row. The links between two rows then come in orbits of k, of which the original has some and
lacks others. There all missing ones are added, which makes a graph with up to k times as many links. Here orbits are
taken whole or not at all, those of which the original has most first, until there are as many links as before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from microveil.errors import DataError, ParameterError
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, degrees, edge_list
from microveil.typing import IntArray


class AutomorphicGraph(NamedTuple):
    """A graph with the rows of nodes that nothing tells apart, -1 for those that have no links; how many links were
    added and removed; and how many nodes lost all of theirs because the number of nodes is no multiple of k."""

    graph: Adjacency
    rows: IntArray
    added: int
    removed: int
    isolated: int


def automorphic_graph(graph: Adjacency, k: int, rng: np.random.Generator) -> AutomorphicGraph:
    """A graph with about as many links, in which every node with links has k - 1 equivalent ones, and so have those
    without any."""
    if k < 2:
        raise ParameterError(f"k = {k} is not allowed; it must be greater than or equal to 2")
    if graph.nodes < k:
        raise DataError(f"a graph of {graph.nodes:,} nodes cannot have {k} equivalent ones for every node")
    spare = k + graph.nodes % k if graph.nodes % k else 0
    many = degrees(graph)
    falling = np.lexsort((rng.random(graph.nodes), -many))
    placed = falling[: graph.nodes - spare].reshape(-1, k)
    rows, positions = _placed(graph, placed)
    source, target = edge_list(graph)
    inside = (rows[source] >= 0) & (rows[target] >= 0)
    orbits = _Orbits.of(rows, positions, source[inside], target[inside], k)
    order = np.lexsort((rng.random(len(orbits.sizes)), -orbits.held / orbits.sizes))
    before = np.cumsum(orbits.sizes[order]) - orbits.sizes[order]
    chosen = order[before + orbits.sizes[order] / 2 <= graph.edges]  # the last one where more than half of it fits
    members = np.full((len(placed), k), -1, dtype=np.int64)
    members[rows[placed.ravel()], positions[placed.ravel()]] = placed.ravel()
    made = adjacency(*orbits.links(chosen, members), graph.nodes)
    kept = int(orbits.held[chosen].sum())
    isolated = int((many[falling[graph.nodes - spare :]] > 0).sum())
    return AutomorphicGraph(made, rows, made.edges - kept, graph.edges - kept, isolated)


def _placed(graph: Adjacency, placed: IntArray) -> tuple[IntArray, IntArray]:
    """The row of each node and its position there: where most of its neighbours in earlier rows stand."""
    k = placed.shape[1]
    rows = np.full(graph.nodes, -1, dtype=np.int64)
    positions = np.full(graph.nodes, -1, dtype=np.int64)
    for row, nodes in enumerate(placed):
        wishes = np.zeros((k, k))
        for i, node in enumerate(nodes):
            there = positions[graph.neighbours(int(node))]
            wishes[i] = np.bincount(there[there >= 0], minlength=k)
        _, positions[nodes] = linear_sum_assignment(-wishes)
        rows[nodes] = row
    return rows, positions


class _Orbits(NamedTuple):
    """The links that follow from each other: between the rows `low` and `high`, from each position to the one that is
    `shift` further; `sizes` are how many links these are, and `held` how many of them the graph has."""

    low: IntArray
    high: IntArray
    shift: IntArray
    sizes: IntArray
    held: IntArray

    @classmethod
    def of(cls, rows: IntArray, positions: IntArray, source: IntArray, target: IntArray, k: int) -> _Orbits:
        swapped = rows[source] > rows[target]
        one, other = np.where(swapped, target, source), np.where(swapped, source, target)
        shift = (positions[other] - positions[one]) % k
        same = rows[one] == rows[other]
        shift = np.where(same, np.minimum(shift, (k - shift) % k), shift)
        triples = np.column_stack([rows[one], rows[other], shift]).reshape(-1, 3)
        distinct, held = np.unique(triples, axis=0, return_counts=True)
        half = (distinct[:, 0] == distinct[:, 1]) & (2 * distinct[:, 2] == k)
        sizes = np.where(half, k // 2, k)
        return cls(distinct[:, 0], distinct[:, 1], distinct[:, 2], sizes, held.astype(np.int64))

    def links(self, chosen: IntArray, members: IntArray) -> tuple[IntArray, IntArray]:
        """All links of some orbits; those of an orbit within a row may come twice."""
        k = members.shape[1]
        start = np.arange(k)[None, :]
        end = (start + self.shift[chosen][:, None]) % k
        source, target = members[self.low[chosen]], members[self.high[chosen]]
        return source.ravel(), np.take_along_axis(target, end, axis=1).ravel()
