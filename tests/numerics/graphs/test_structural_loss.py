"""What two graphs of the same nodes have in common: degrees, clustering, paths, spectrum, communities, edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.numerics.clustering.partition_similarity import PairCounts
from microveil.numerics.graphs import structural_loss as module
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, degrees, edge_list, induced, largest_component
from microveil.numerics.graphs.statistics import random_graph
from microveil.numerics.graphs.structural_loss import (
    EdgeChanges,
    Structure,
    adjusted_rand,
    communities,
    degree_distance,
    laplacian_eigenvalues,
    largest_eigenvalues,
    modularity,
    structural_loss,
)
from microveil.typing import FloatArray

PATH = adjacency(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
STAR = adjacency(np.array([0, 0, 0]), np.array([1, 2, 3]), 4)


def measured(graph: Adjacency) -> Structure:
    return Structure.of(graph, np.random.default_rng(1))


def dense(graph: Adjacency) -> FloatArray:
    matrix = np.zeros((graph.nodes, graph.nodes))
    source, target = edge_list(graph)
    matrix[source, target] = matrix[target, source] = 1.0
    return matrix


def cliques(number: int, size: int) -> Adjacency:
    """Complete graphs, each linked to the next by one edge."""
    within = np.array([(a, b) for a in range(size) for b in range(a)])
    pairs = np.concatenate([within + size * c for c in range(number)])
    links = np.array([(size * c, size * (c + 1) + 1) for c in range(number - 1)]).reshape(-1, 2)
    both = np.concatenate([pairs, links])
    return adjacency(both[:, 0], both[:, 1], number * size)


@pytest.mark.spec("05:SN-02", "06:SG-24")
def test_a_path_that_becomes_a_star() -> None:
    found = structural_loss(measured(PATH), measured(STAR))
    assert found.degrees == 0.5  # degrees 1, 2, 2, 1 against 3, 1, 1, 1
    assert found.path_length == pytest.approx((10 / 6 - 9 / 6) / (10 / 6))
    assert (found.clustering, found.transitivity) == (0.0, 0.0)
    assert found.spectral_radius == pytest.approx(np.sqrt(3) - (1 + np.sqrt(5)) / 2)
    assert found.connectivity == pytest.approx(0.5)  # 1 - cos(pi/3) against 1
    assert (found.edges.kept_share, found.edges.removed_share, found.edges.added_share) == pytest.approx(
        (1 / 3, 2 / 3, 2 / 3)
    )


@pytest.mark.spec("05:SN-02", "06:SG-24")
def test_a_closed_triangle_shows_in_the_clustering() -> None:
    closed = adjacency(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 2]), 4)
    found = structural_loss(measured(PATH), measured(closed))
    assert found.clustering == pytest.approx((2 + 1 / 3) / 4)
    assert found.transitivity == 3 / 5
    assert (found.edges.kept_share, found.edges.removed_share, found.edges.added_share) == (1.0, 0.0, 0.25)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(0, 30), st.floats(0, 0.5))
def test_a_graph_loses_nothing_against_itself(seed: int, nodes: int, share: float) -> None:
    graph = random_graph(nodes, int(share * (nodes * (nodes - 1) // 2)), np.random.default_rng(seed))
    found = structural_loss(measured(graph), measured(graph))
    assert (found.degrees, found.clustering, found.transitivity, found.path_length) == (0.0, 0.0, 0.0, 0.0)
    assert not found.eigenvalues.any()
    assert not found.laplacian_eigenvalues.any()
    assert adjusted_rand(found.communities) == 1.0
    assert found.edges == EdgeChanges(graph.edges, 0, 0)


@given(st.integers(0, 10**6), st.integers(0, 12))
def test_edges_kept_added_and_removed_are_those_of_the_sets(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = nodes * (nodes - 1) // 2
    one, other = (random_graph(nodes, int(rng.integers(0, pairs + 1)), rng) for _ in range(2))
    first, second = (set(zip(*(end.tolist() for end in edge_list(g)), strict=True)) for g in (one, other))
    assert EdgeChanges.of(one, other) == EdgeChanges(len(first & second), len(second - first), len(first - second))


def test_graphs_without_edges_lose_all_paths_or_gain_them() -> None:
    empty = random_graph(4, 0, np.random.default_rng(1))
    assert structural_loss(measured(empty), measured(PATH)).path_length == 1.0
    assert structural_loss(measured(PATH), measured(empty)).path_length == 1.0
    assert structural_loss(measured(empty), measured(empty)).edges.kept_share == 1.0


@pytest.mark.parametrize("limit", [0, 300])
def test_eigenvalues_are_those_of_the_full_matrices(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DENSE", limit)
    graph = random_graph(150, 260, np.random.default_rng(6))
    assert largest_eigenvalues(graph, 6) == pytest.approx(np.linalg.eigvalsh(dense(graph))[::-1][:6])
    component = induced(graph, largest_component(graph))
    scale = 1 / np.sqrt(degrees(component))
    laplacian = np.eye(component.nodes) - scale[:, None] * dense(component) * scale
    assert laplacian_eigenvalues(graph, 6) == pytest.approx(np.linalg.eigvalsh(laplacian)[1:7])


def test_eigenvalues_of_a_long_chain_are_found_although_they_lie_close_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_RESTARTS", 2)
    n = 1000
    chain = adjacency(np.arange(n - 1), np.arange(1, n), n)
    assert largest_eigenvalues(chain, 4) == pytest.approx(2 * np.cos(np.pi * np.arange(1, 5) / (n + 1)), abs=1e-9)
    wanted = 1 - np.cos(np.pi * np.arange(1, 5) / (n - 1))
    assert laplacian_eigenvalues(chain, 4) == pytest.approx(wanted, abs=1e-9)


def test_eigenvalues_of_equal_components_are_found_as_often_as_they_occur() -> None:
    source, target = edge_list(random_graph(200, 600, np.random.default_rng(1)))
    twice = adjacency(np.concatenate([source, source + 200]), np.concatenate([target, target + 200]), 400)
    found = largest_eigenvalues(twice, 6)
    assert found[::2] == pytest.approx(found[1::2])


def test_eigenvalues_do_not_depend_on_what_was_computed_before() -> None:
    graph = random_graph(400, 900, np.random.default_rng(8))
    first = largest_eigenvalues(graph, 5).tobytes()
    largest_eigenvalues(random_graph(500, 900, np.random.default_rng(9)), 5)
    assert largest_eigenvalues(graph, 5).tobytes() == first


def test_communities_of_linked_cliques_are_the_cliques() -> None:
    found = communities(cliques(6, 7), np.random.default_rng(3))
    assert found.tolist() == np.repeat(np.arange(6), 7).tolist()


def test_communities_of_karate_reach_the_known_modularity() -> None:
    networkx = pytest.importorskip("networkx")
    source, target = np.array(networkx.karate_club_graph().edges).T
    graph = adjacency(source, target, 34)
    reached = [modularity(graph, communities(graph, np.random.default_rng(seed))) for seed in range(10)]
    assert max(reached) == pytest.approx(0.4198, abs=5e-5)  # the greatest possible
    assert min(reached) > 0.38


@given(st.integers(0, 10**6), st.integers(1, 20), st.floats(0, 1))
def test_modularity_is_that_of_all_pairs_and_no_community_lowers_it(seed: int, nodes: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(nodes, int(share * (nodes * (nodes - 1) // 2)), rng)
    labels = communities(graph, rng)
    many, links = degrees(graph), max(1, 2 * graph.edges)
    excess = dense(graph) - np.outer(many, many) / links
    assert modularity(graph, labels) == pytest.approx(excess[labels[:, None] == labels].sum() / links, abs=1e-12)
    assert modularity(graph, labels) >= max(0.0, modularity(graph, np.arange(nodes))) - 1e-12
    first = [int(np.flatnonzero(labels == label)[0]) for label in range(int(labels.max()) + 1)]
    assert first == sorted(first)


def test_communities_depend_on_the_seed_alone() -> None:
    graph = random_graph(200, 500, np.random.default_rng(1))
    one, other = (communities(graph, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one, other)


def test_the_adjusted_rand_index_of_known_partitions() -> None:
    first, second = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    assert adjusted_rand(PairCounts.of(first, second)) == pytest.approx(0.24242424)
    assert adjusted_rand(PairCounts.of(first, first)) == 1.0
    assert adjusted_rand(PairCounts.of(np.zeros(6, dtype=np.int64), first)) == 0.0
    rng = np.random.default_rng(2)
    at_random = [adjusted_rand(PairCounts.of(first, rng.permutation(second))) for _ in range(2000)]
    assert np.mean(at_random) == pytest.approx(0.0, abs=0.02)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DataError, match="4 and 5 nodes"):
        structural_loss(measured(PATH), measured(random_graph(5, 2, np.random.default_rng(1))))
    with pytest.raises(DataError, match="same nodes"):
        degree_distance(np.array([1]), np.array([1, 1]))
    for call in (largest_eigenvalues, laplacian_eigenvalues):
        with pytest.raises(ParameterError, match="eigenvalues = 0 is not allowed"):
            call(PATH, 0)
