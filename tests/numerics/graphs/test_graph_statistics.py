"""Statistics of whole graphs, random graphs to compare with, and the entropy of degrees."""

from __future__ import annotations

from collections import Counter
from math import isnan, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, degrees, edge_list, induced
from microveil.numerics.graphs.statistics import (
    degree_entropy,
    graph_statistics,
    node_importance,
    random_graph,
)


def ring(nodes: int, reach: int) -> Adjacency:
    """Every node linked to the `reach` next ones."""
    source = np.repeat(np.arange(nodes), reach)
    return adjacency(source, (source + np.tile(np.arange(1, reach + 1), nodes)) % nodes, nodes)


def plain_entropy(graph: Adjacency) -> float:
    ends = 2 * graph.edges
    return -sum(d / ends * log2(d / ends) for d in degrees(graph).tolist() if d)


@pytest.mark.spec("06:SG-20")
def test_two_components_of_known_figures() -> None:
    graph = adjacency(np.array([0, 0, 1, 2, 4]), np.array([1, 2, 2, 3, 5]), 7)
    found = graph_statistics(graph, np.random.default_rng(1))
    assert (found.nodes, found.edges, found.components, found.largest_component) == (7, 5, 3, 4)
    assert found.mean_degree == pytest.approx(10 / 7)
    assert (found.diameter, found.median_path_length) == (2, 1.0)
    assert found.mean_path_length == pytest.approx((4 * 1 + 2 * 2) / 6)
    assert found.clustering == pytest.approx((2 + 1 / 3) / 7)
    assert found.transitivity == 3 / 5


@pytest.mark.spec("06:SG-20")
def test_a_rewired_ring_is_a_small_world_and_a_random_graph_is_none() -> None:
    source, target = edge_list(ring(400, 4))
    rng = np.random.default_rng(2)
    moved = rng.random(len(target)) < 0.1
    target = np.where(moved, rng.integers(0, 400, size=len(target)), target)
    small = graph_statistics(adjacency(source, target, 400), rng).small_world
    assert small.graphs == 3
    assert small.coefficient > 5
    assert small.path_length < 2 * small.random_path_length
    assert small.random_clustering == pytest.approx(8 / 399, rel=0.2)  # a pair of neighbours is linked as any pair
    assert graph_statistics(random_graph(400, 1600, rng), rng).small_world.coefficient == pytest.approx(1, abs=0.25)


def test_the_same_seed_gives_the_same_statistics() -> None:
    one, other = (graph_statistics(ring(50, 2), np.random.default_rng(7)).small_world for _ in range(2))
    assert one == other


def test_a_graph_without_nodes_or_edges_has_statistics_too() -> None:
    for nodes in (0, 3):
        found = graph_statistics(random_graph(nodes, 0, np.random.default_rng(1)), np.random.default_rng(1))
        assert (found.components, found.mean_degree, found.diameter) == (nodes, 0.0, 0)
        assert isnan(found.small_world.coefficient)


@given(st.integers(0, 10**6), st.integers(0, 20), st.floats(0, 1))
def test_a_random_graph_has_the_edges_that_are_wanted(seed: int, nodes: int, share: float) -> None:
    edges = int(share * (nodes * (nodes - 1) // 2))
    graph = random_graph(nodes, edges, np.random.default_rng(seed))
    assert (graph.nodes, graph.edges) == (nodes, edges)


@pytest.mark.parametrize("edges", [1, 2, 5])
def test_all_graphs_of_a_size_are_equally_likely(edges: int) -> None:
    rng = np.random.default_rng(11)
    drawn = Counter(tuple(random_graph(5, edges, rng).indices.tolist()) for _ in range(3000))
    graphs = {1: 10, 2: 45, 5: 252}[edges]
    expected = 3000 / graphs
    chi_square = sum((count - expected) ** 2 / expected for count in drawn.values())
    chi_square += expected * (graphs - len(drawn))
    assert chi_square < graphs - 1 + 4 * np.sqrt(2 * (graphs - 1))


@pytest.mark.parametrize(("nodes", "edges"), [(3, 4), (3, -1), (1, 1), (-2, 1)])
def test_numbers_of_edges_that_no_graph_has_are_refused(nodes: int, edges: int) -> None:
    with pytest.raises(ParameterError, match=f"edges = {edges} is not allowed"):
        random_graph(nodes, edges, np.random.default_rng(1))


def test_no_random_graph_to_compare_with_is_refused() -> None:
    with pytest.raises(ParameterError, match="random_graphs = 0"):
        graph_statistics(ring(5, 1), np.random.default_rng(1), random_graphs=0)


@pytest.mark.spec("05:SN-02", "06:SG-24")
def test_the_entropy_of_a_path_and_the_importance_of_its_nodes() -> None:
    path = adjacency(np.array([0, 1]), np.array([1, 2]), 3)
    assert degree_entropy(path) == 1.5
    assert node_importance(path).tolist() == [0.5, 1.5, 0.5]


@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0, 1))
def test_importance_is_the_entropy_lost_by_removing_a_node(seed: int, nodes: int, share: float) -> None:
    graph = random_graph(nodes, int(share * (nodes * (nodes - 1) // 2)), np.random.default_rng(seed))
    assert degree_entropy(graph) == pytest.approx(plain_entropy(graph), abs=1e-12)
    others = [np.delete(np.arange(nodes), v) for v in range(nodes)]
    wanted = [plain_entropy(graph) - plain_entropy(induced(graph, kept)) for kept in others]
    assert node_importance(graph) == pytest.approx(wanted, abs=1e-12)
