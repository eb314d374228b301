"""Synthetic graphs with the degrees and the mixing of a given one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, clean_edges, degrees, edge_list
from microveil.numerics.graphs.mixing_model import mixing_model_graph
from microveil.typing import IntArray


def social_graph(seed: int, nodes: int, edges: int, classes: int) -> tuple[Adjacency, IntArray]:
    """Nodes with few friends and with many, who prefer friends of their own class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, nodes)
    chances = 1.0 / np.arange(1, nodes + 1) ** 0.5
    source, target = rng.choice(nodes, size=(2, 3 * edges), p=chances / chances.sum())
    kept = np.flatnonzero((codes[source] == codes[target]) | (rng.random(3 * edges) < 0.2))[:edges]
    return adjacency(source[kept], target[kept], nodes), codes


def edges_of(graph: Adjacency) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in zip(*edge_list(graph), strict=True)}


def mixing_matrix(graph: Adjacency, codes: IntArray) -> IntArray:
    matrix = np.zeros((int(codes.max(initial=0)) + 1,) * 2, dtype=np.int64)
    source, target = edge_list(graph)
    np.add.at(matrix, (codes[source], codes[target]), 1)
    return matrix + matrix.T


def assert_simple(graph: Adjacency) -> None:
    source, target = edge_list(graph)
    clean = clean_edges(source, target, graph.nodes)
    assert (clean.loops, clean.repeated) == (0, 0)
    assert np.array_equal(adjacency(source, target, graph.nodes).indices, graph.indices)


@pytest.mark.parametrize("classes", [1, 3, 12])
def test_degrees_and_mixing_are_the_same_and_the_edges_are_others(classes: int) -> None:
    graph, codes = social_graph(1, 600, 3000, classes)
    found = mixing_model_graph(graph, codes, np.random.default_rng(2))
    assert_simple(found.graph)
    assert np.array_equal(degrees(found.graph), degrees(graph))
    assert np.array_equal(mixing_matrix(found.graph, codes), mixing_matrix(graph, codes))
    assert (found.missing, found.mixing_distance) == (0, 0)
    shared = len(edges_of(graph) & edges_of(found.graph)) / graph.edges
    assert shared < 0.2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 150), st.integers(1, 8))
def test_what_is_said_about_the_distance_is_true(seed: int, nodes: int, edges: int, classes: int) -> None:
    graph, codes = social_graph(seed, nodes, edges, classes)
    found = mixing_model_graph(graph, codes, np.random.default_rng(seed))
    assert_simple(found.graph)
    assert (degrees(found.graph) <= degrees(graph)).all()
    assert (degrees(graph) - degrees(found.graph)).sum() == 2 * found.missing
    before, after = mixing_matrix(graph, codes), mixing_matrix(found.graph, codes)
    assert found.mixing_distance == pytest.approx(np.abs(before - after).sum() / max(1, 2 * before.sum()))


def test_mixing_stays_close_where_classes_are_as_small_as_they_can_be() -> None:
    """Four nodes a class: pairs of classes have too few edges to repair all of them among themselves."""
    graph, _ = social_graph(3, 200, 800, 1)
    codes = np.arange(200) // 4
    found = mixing_model_graph(graph, codes, np.random.default_rng(0))
    assert found.missing == 0
    assert np.array_equal(degrees(found.graph), degrees(graph))
    assert found.mixing_distance < 0.12


def test_the_only_graph_with_its_degrees_comes_back() -> None:
    star = adjacency(np.zeros(6, dtype=np.int64), np.arange(1, 7), 7)
    complete = adjacency(*np.triu_indices(8, 1), 8)
    for graph in (star, complete):
        found = mixing_model_graph(graph, np.zeros(graph.nodes, dtype=np.int64), np.random.default_rng(1))
        assert found.missing == 0
        assert np.array_equal(found.graph.indices, graph.indices)


def test_every_graph_of_two_edges_on_four_nodes_is_drawn_equally_often() -> None:
    pair = adjacency(np.array([0, 2]), np.array([1, 3]), 4)
    rng, codes = np.random.default_rng(3), np.zeros(4, dtype=np.int64)
    found = [min(edges_of(mixing_model_graph(pair, codes, rng).graph)) for _ in range(900)]
    for partner in (1, 2, 3):
        assert found.count((0, partner)) == pytest.approx(300, abs=60)


def test_classes_keep_their_friends_to_themselves() -> None:
    """Two classes without an edge between them stay apart."""
    graph = adjacency(np.array([0, 1, 2, 4, 5, 6]), np.array([1, 2, 3, 5, 6, 7]), 8)
    codes = np.array([5, 5, 5, 5, -2, -2, -2, -2])
    for seed in range(20):
        found = mixing_model_graph(graph, codes, np.random.default_rng(seed))
        if found.mixing_distance == 0:
            source, target = edge_list(found.graph)
            assert np.array_equal(codes[source], codes[target])


def test_the_same_generator_gives_the_same_graph() -> None:
    graph, codes = social_graph(5, 100, 400, 3)
    one, again, other = (mixing_model_graph(graph, codes, np.random.default_rng(s)).graph.indices for s in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_graphs_without_edges_are_treated_and_missing_classes_refused() -> None:
    lonely = adjacency(np.empty(0, np.int64), np.empty(0, np.int64), 3)
    found = mixing_model_graph(lonely, np.array([0, 1, 1]), np.random.default_rng(0))
    assert (found.graph.edges, found.missing, found.mixing_distance) == (0, 0, 0)
    with pytest.raises(DataError, match="2 for 3 nodes"):
        mixing_model_graph(lonely, np.array([0, 1]), np.random.default_rng(0))
