"""Random changes of edges: what they keep, how often each edge is drawn, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, clean_edges, degrees, edge_list
from microveil.numerics.graphs.rewiring import (
    edge_table,
    has_edge,
    insert_edge,
    remove_edge,
    replace_edges,
    swap_edges,
)


def random_graph(seed: int, nodes: int, edges: int) -> Adjacency:
    rng = np.random.default_rng(seed)
    return adjacency(rng.integers(0, nodes, edges), rng.integers(0, nodes, edges), nodes)


def edges_of(graph: Adjacency) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in zip(*edge_list(graph), strict=True)}


def assert_simple(graph: Adjacency) -> None:
    source, target = edge_list(graph)
    clean = clean_edges(source, target, graph.nodes)
    assert (clean.loops, clean.repeated) == (0, 0)
    assert np.array_equal(adjacency(source, target, graph.nodes).indices, graph.indices)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 25), st.integers(0, 80), st.floats(0, 3))
def test_swaps_keep_every_degree_and_a_simple_graph(seed: int, nodes: int, edges: int, share: float) -> None:
    graph = random_graph(seed, max(1, nodes), edges)
    swapped = swap_edges(graph, share, np.random.default_rng(seed))
    assert np.array_equal(degrees(swapped.graph), degrees(graph))
    assert swapped.graph.edges == graph.edges
    assert swapped.swaps <= round(share * graph.edges)
    assert_simple(swapped.graph)


def test_a_share_of_one_makes_as_many_swaps_as_there_are_edges_and_leaves_few_of_them() -> None:
    graph = random_graph(1, 300, 900)
    swapped = swap_edges(graph, 1.0, np.random.default_rng(2))
    assert swapped.swaps == graph.edges
    kept = len(edges_of(graph) & edges_of(swapped.graph)) / graph.edges
    assert 0.1 < kept < 0.2  # each edge takes part in two swaps on average: exp(-2) = 0.135


def test_a_star_and_a_complete_graph_allow_no_swap() -> None:
    star = adjacency(np.zeros(5, dtype=np.int64), np.arange(1, 6), 6)
    complete = adjacency(*np.triu_indices(6, 1), 6)
    for graph in (star, complete):
        swapped = swap_edges(graph, 1.0, np.random.default_rng(0))
        assert swapped.swaps == 0
        assert np.array_equal(swapped.graph.indices, graph.indices)


def test_both_perfect_matchings_of_a_rectangle_are_reached_equally_often() -> None:
    """Four nodes of degree one have three graphs, and a swap leads from each to the two others."""
    pair = adjacency(np.array([0, 2]), np.array([1, 3]), 4)
    rng = np.random.default_rng(3)
    found = [min(edges_of(swap_edges(pair, 0.5, rng).graph)) for _ in range(2000)]
    assert set(found) == {(0, 2), (0, 3)}
    assert abs(found.count((0, 2)) - 1000) < 120


@pytest.mark.spec("05:SN-01", "06:SG-23")
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 25), st.integers(0, 120), st.floats(0, 1))
def test_as_many_edges_are_added_as_were_deleted(seed: int, nodes: int, edges: int, share: float) -> None:
    graph = random_graph(seed, nodes, edges)
    count = int(share * graph.edges)
    changed = replace_edges(graph, count, np.random.default_rng(seed))
    assert changed.edges == graph.edges
    assert len(edges_of(graph) - edges_of(changed)) <= count
    assert_simple(changed)


def test_every_edge_is_deleted_and_every_other_pair_added_equally_often() -> None:
    path = adjacency(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
    rng = np.random.default_rng(5)
    drawn = [edges_of(replace_edges(path, 1, rng)) for _ in range(3000)]
    assert sum(edges == edges_of(path) for edges in drawn) == pytest.approx(750, abs=110)  # drawn again: one in four
    for pair in [(0, 2), (0, 3), (1, 3)]:
        assert sum(pair in edges for edges in drawn) == pytest.approx(750, abs=110)
    for pair in [(0, 1), (1, 2), (2, 3)]:
        assert sum(pair not in edges for edges in drawn) == pytest.approx(750, abs=110)


def test_a_complete_graph_comes_back_because_no_other_pairs_exist() -> None:
    complete = adjacency(*np.triu_indices(7, 1), 7)
    assert np.array_equal(replace_edges(complete, 21, np.random.default_rng(1)).indices, complete.indices)


def test_the_same_generator_gives_the_same_graph() -> None:
    graph = random_graph(9, 60, 200)
    swapped = [swap_edges(graph, 0.5, np.random.default_rng(seed)).graph for seed in (4, 4, 5)]
    replaced = [replace_edges(graph, 50, np.random.default_rng(seed)) for seed in (4, 4, 5)]
    for one, again, other in (swapped, replaced):
        assert np.array_equal(one.indices, again.indices)
        assert not np.array_equal(one.indices, other.indices)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=60))
def test_the_table_of_edges_behaves_as_a_set(pairs: list[tuple[int, int]]) -> None:
    """Every pair is put in if it is out and taken out if it is in."""
    slots = edge_table(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 7, 28)
    plain: set[tuple[int, int]] = set()
    for a, b in pairs:
        pair = min(a, b), max(a, b)
        change = remove_edge if pair in plain else insert_edge
        change(slots, a, b, 7)
        plain ^= {pair}
        assert {(i, j) for i in range(7) for j in range(i, 7) if has_edge(slots, j, i, 7)} == plain


@pytest.mark.parametrize("share", [-0.1, float("nan"), float("inf")])
def test_a_share_that_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(ParameterError, match="share"):
        swap_edges(random_graph(0, 5, 5), share, np.random.default_rng(0))


@pytest.mark.parametrize("count", [-1, 100])
def test_more_edges_than_there_are_cannot_be_replaced(count: int) -> None:
    with pytest.raises(ParameterError, match="cannot be replaced"):
        replace_edges(random_graph(0, 5, 5), count, np.random.default_rng(0))
