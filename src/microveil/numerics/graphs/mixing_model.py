"""A synthetic graph with the degrees and the attribute mixing of a given one: a degree-corrected stochastic block model
(Karrer and Newman 2011) with fixed numbers of edges between classes, of which nothing else of the graph is kept.

Every end of an edge is given to a random node of its class, as often as the node has edges; then the ends between two
classes are linked at random. Loops and repeated edges are repaired by swaps with edges between the same two classes,
which change neither degrees nor mixing. Where these do not suffice a swap with any edge follows, which changes the
mixing a little, and what cannot be repaired at all is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.errors import DataError
from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.random_bits import StateArray, whole
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, degrees
from microveil.numerics.graphs.mixing import aamil
from microveil.numerics.graphs.rewiring import edge_table, has_edge, insert_edge, random_state, remove_edge
from microveil.typing import BoolArray, IntArray

_NEAR, _FAR = 200, 2000  # edges drawn for a swap between the same classes, and between any


class SyntheticGraph(NamedTuple):
    """A synthetic graph, how many edges it has fewer than the original because they could not be placed, and the total
    variation distance of the two distributions of edges over pairs of classes."""

    graph: Adjacency
    missing: int
    mixing_distance: float


def mixing_model_graph(graph: Adjacency, classes: IntArray, rng: np.random.Generator) -> SyntheticGraph:
    """A random simple graph in which every node has its degree, and every pair of classes its number of edges, exactly
    where possible; the result says how far it is from that."""
    if len(classes) != graph.nodes:
        raise DataError(f"every node needs a class; there are {len(classes):,} for {graph.nodes:,} nodes")
    codes = np.unique(classes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    source, target, pair = _linked_stubs(graph, codes, rng)
    starts = np.append(np.flatnonzero(np.diff(pair, prepend=-1)), len(pair))
    slots = edge_table(np.empty(0, np.int64), np.empty(0, np.int64), graph.nodes, len(source))
    wrong = _place_all(slots, source, target, graph.nodes)
    state = random_state(rng)
    _repair(slots, source, target, wrong, starts[pair], starts[pair + 1], graph.nodes, codes, state)
    made = adjacency(source[~wrong], target[~wrong], graph.nodes)
    return SyntheticGraph(made, int(wrong.sum()), aamil(graph, codes, codes, made))


def _linked_stubs(graph: Adjacency, codes: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Edges between random stubs, with the number of their pair of classes, ascending; loops and repetitions occur."""
    owners = np.repeat(np.arange(graph.nodes), degrees(graph))
    mine, theirs = codes[owners], codes[graph.indices]
    # stubs of a class stand together in both orders, so that each takes the partner class of another
    drawn = owners[np.lexsort((rng.random(len(owners)), mine))]
    order = np.lexsort((theirs, mine))
    mine, theirs = mine[order], theirs[order]
    pair = number_rows([np.minimum(mine, theirs), np.maximum(mine, theirs)])[0]
    # of a pair of classes first the stubs of the one, then as many of the other; within a class, one half and the other
    by_pair = np.lexsort((mine, pair))
    drawn, pair = drawn[by_pair], pair[by_pair]
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    sizes = np.diff(starts, append=len(pair))
    first = np.arange(len(pair)) - np.repeat(starts, sizes) < np.repeat(sizes // 2, sizes)
    return drawn[first], drawn[~first], pair[first]


@kernel
def _place_all(slots: IntArray, source: IntArray, target: IntArray, nodes: int) -> BoolArray:
    """Put edges into the table; returns which are loops or repeat another."""
    wrong = np.zeros(len(source), dtype=np.bool_)
    for e in range(len(source)):
        wrong[e] = not _is_placed(slots, source[e], target[e], nodes)
    return wrong


@kernel
def _is_placed(slots: IntArray, a: int, b: int, nodes: int) -> bool:
    """Put an edge into the table unless it is a loop or repeats another."""
    if a == b or has_edge(slots, a, b, nodes):
        return False
    insert_edge(slots, a, b, nodes)
    return True


@kernel
def _repair(
    slots: IntArray,
    source: IntArray,
    target: IntArray,
    wrong: BoolArray,
    begins: IntArray,
    ends: IntArray,
    nodes: int,
    codes: IntArray,
    state: StateArray,
) -> None:
    """Swap the ends of wrong edges with those of others, in place: first of the same pair of classes, then of any."""
    edges = len(source)
    for e in range(edges):
        within = codes[source[e]] == codes[target[e]]
        attempts = 0
        while wrong[e] and attempts < _NEAR:
            f = begins[e] + whole(state, ends[e] - begins[e])
            _swap(slots, source, target, wrong, e, f, within and whole(state, 2) == 1, nodes)
            attempts += 1
    for e in range(edges):
        # the edge that it repeats may have gone
        wrong[e] = wrong[e] and not _is_placed(slots, source[e], target[e], nodes)
        attempts = 0
        while wrong[e] and attempts < _FAR:
            _swap(slots, source, target, wrong, e, whole(state, edges), whole(state, 2) == 1, nodes)
            attempts += 1
    for e in range(edges):
        wrong[e] = wrong[e] and not _is_placed(slots, source[e], target[e], nodes)


@kernel
def _swap(
    slots: IntArray, source: IntArray, target: IntArray, wrong: BoolArray, e: int, f: int, turned: bool, nodes: int
) -> None:
    """Replace a wrong edge (a, b) and another (c, d) by (a, d) and (c, b), if the number of wrong ones falls."""
    a, b = source[e], target[e]
    c, d = source[f], target[f]
    if turned:
        c, d = d, c
    if e == f or a == d or has_edge(slots, a, d, nodes):
        return
    same = min(a, d) == min(c, b) and max(a, d) == max(c, b)
    right = b != c and not same and not has_edge(slots, c, b, nodes)
    if not right and not wrong[f]:
        return
    if not wrong[f]:
        remove_edge(slots, c, d, nodes)
    insert_edge(slots, a, d, nodes)
    if right:
        insert_edge(slots, c, b, nodes)
    source[e], target[e], source[f], target[f] = a, d, c, b
    wrong[e], wrong[f] = False, not right
