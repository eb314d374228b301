"""Random changes of the edges of a graph: swaps that keep every degree, and deletion followed by addition. They share
a hash table of edges, which answers in constant time whether two nodes are linked while edges come and go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.random_bits import StateArray, whole
from microveil.numerics.core.splitmix import finished
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, edge_list
from microveil.typing import IntArray

_FREE = -1
_ATTEMPTS = 100  # draws for each swap before a graph counts as one that allows no more
_finished = kernel(finished)


class SwappedEdges(NamedTuple):
    """A graph after swaps, and how many of them could be made; a graph such as a star allows none."""

    graph: Adjacency
    swaps: int


def swap_edges(graph: Adjacency, share: float, rng: np.random.Generator) -> SwappedEdges:
    """Exchange the ends of two random edges, as often as this share of the number of edges; every node keeps its degree
    and the graph stays simple.

    Swaps that would make a loop or a repeated edge are drawn again, up to 100 times for each swap.
    """
    if not (np.isfinite(share) and share >= 0):
        raise ParameterError(f"share = {share} is not allowed; it must be a number greater than or equal to 0")
    source, target = edge_list(graph)
    slots = edge_table(source, target, graph.nodes, len(source))
    wanted = round(share * len(source))
    swaps = _swap(source, target, graph.nodes, slots, wanted, random_state(rng))
    return SwappedEdges(adjacency(source, target, graph.nodes), int(swaps))


def replace_edges(graph: Adjacency, count: int, rng: np.random.Generator) -> Adjacency:
    """Delete so many edges and then add as many between nodes that are not linked, all drawn uniformly.

    An edge that was deleted is no longer an edge, so that it may be drawn again.
    """
    if not 0 <= count <= graph.edges:
        raise ParameterError(f"{count:,} edges cannot be replaced; the graph has {graph.edges:,}")
    source, target = edge_list(graph)
    lost = rng.choice(len(source), size=count, replace=False)
    kept = np.ones(len(source), dtype=np.bool_)
    kept[lost] = False
    slots = edge_table(source[kept], target[kept], graph.nodes, len(source))
    new_source, new_target = _new_edges(graph.nodes, slots, count, random_state(rng))
    ends = np.concatenate([source[kept], new_source]), np.concatenate([target[kept], new_target])
    return adjacency(*ends, graph.nodes)


def random_state(rng: np.random.Generator) -> StateArray:
    """The state of the random numbers of a kernel, drawn from a generator."""
    return rng.integers(0, 2**64, size=1, dtype=np.uint64)


def edge_table(source: IntArray, target: IntArray, nodes: int, room: int) -> IntArray:
    """A hash table that holds these edges and has room for so many at a time."""
    slots = np.full(1 << max(3, int(2 * room).bit_length()), _FREE, dtype=np.int64)
    _insert_all(slots, source, target, nodes)
    return slots


@kernel
def _insert_all(slots: IntArray, source: IntArray, target: IntArray, nodes: int) -> None:
    for e in range(len(source)):
        insert_edge(slots, source[e], target[e], nodes)


@kernel
def _place(slots: IntArray, key: int) -> np.int64:
    """The slot at which the search for a key begins."""
    return np.int64(_finished(np.uint64(key)) & np.uint64(len(slots) - 1))


@kernel
def _key(a: int, b: int, nodes: int) -> int:
    return min(a, b) * nodes + max(a, b)


@kernel
def has_edge(slots: IntArray, a: int, b: int, nodes: int) -> bool:
    """Whether a table holds the edge between two nodes."""
    key = _key(a, b, nodes)
    at = _place(slots, key)
    while slots[at] != _FREE:
        if slots[at] == key:
            return True
        at = (at + 1) & (len(slots) - 1)
    return False


@kernel
def insert_edge(slots: IntArray, a: int, b: int, nodes: int) -> None:
    """Put an edge into a table that does not hold it yet."""
    key = _key(a, b, nodes)
    at = _place(slots, key)
    while slots[at] != _FREE:
        at = (at + 1) & (len(slots) - 1)
    slots[at] = key


@kernel
def remove_edge(slots: IntArray, a: int, b: int, nodes: int) -> None:
    """Take an edge out of a table that holds it; later ones move up, so that no search ends too early."""
    key, last = _key(a, b, nodes), len(slots) - 1
    hole = _place(slots, key)
    while slots[hole] != key:
        hole = (hole + 1) & last
    at = hole
    while True:
        at = (at + 1) & last
        if slots[at] == _FREE:
            break
        if ((at - _place(slots, slots[at])) & last) >= ((at - hole) & last):
            slots[hole] = slots[at]
            hole = at
    slots[hole] = _FREE


@kernel
def _swap(source: IntArray, target: IntArray, nodes: int, slots: IntArray, wanted: int, state: StateArray) -> int:
    """Swap the ends of edges in place."""
    edges, done, attempts = len(source), 0, 0
    while done < wanted and edges > 1 and attempts < _ATTEMPTS * wanted:
        attempts += 1
        e, f = whole(state, edges), whole(state, edges)
        a, b = source[e], target[e]
        c, d = source[f], target[f]
        if whole(state, 2) == 1:
            c, d = d, c
        if e == f or a == d or b == c or has_edge(slots, a, d, nodes) or has_edge(slots, c, b, nodes):
            continue
        remove_edge(slots, a, b, nodes)
        remove_edge(slots, c, d, nodes)
        insert_edge(slots, a, d, nodes)
        insert_edge(slots, c, b, nodes)
        source[e], target[e] = a, d
        source[f], target[f] = c, b
        done += 1
    return done


@kernel
def _new_edges(nodes: int, slots: IntArray, count: int, state: StateArray) -> tuple[IntArray, IntArray]:
    """Edges between nodes that are not linked; the draw ends, because as many were deleted before."""
    source, target = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    found = 0
    while found < count:
        a, b = whole(state, nodes), whole(state, nodes)
        if a == b or has_edge(slots, a, b, nodes):
            continue
        insert_edge(slots, a, b, nodes)
        source[found], target[found] = a, b
        found += 1
    return source, target
