"""Path lengths, against a plain matrix of distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, edge_list, induced, largest_component
from microveil.numerics.graphs.paths import distances_from, path_lengths
from microveil.numerics.graphs.statistics import random_graph
from microveil.typing import FloatArray


def all_distances(graph: Adjacency) -> FloatArray:
    """By Floyd and Warshall; infinite where there is no path."""
    matrix = np.full((graph.nodes, graph.nodes), np.inf)
    np.fill_diagonal(matrix, 0)
    source, target = edge_list(graph)
    matrix[source, target] = matrix[target, source] = 1
    for v in range(graph.nodes):
        matrix = np.minimum(matrix, matrix[:, [v]] + matrix[[v], :])
    return matrix


def path_of(nodes: int) -> Adjacency:
    return adjacency(np.arange(nodes - 1), np.arange(1, nodes), nodes)


@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0, 0.5))
def test_distances_from_a_node_are_those_of_the_matrix(seed: int, nodes: int, share: float) -> None:
    graph = random_graph(nodes, int(share * nodes * (nodes - 1) / 2), np.random.default_rng(seed))
    matrix = all_distances(graph)
    for v in range(nodes):
        assert distances_from(graph, v).tolist() == np.where(np.isfinite(matrix[v]), matrix[v], -1).tolist()


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 150), st.floats(0.5, 3))
def test_lengths_are_those_of_all_pairs_of_the_largest_component(seed: int, nodes: int, density: float) -> None:
    graph = random_graph(nodes, min(int(density * nodes), nodes * (nodes - 1) // 2), np.random.default_rng(seed))
    matrix = all_distances(induced(graph, largest_component(graph)))
    lengths = matrix[np.triu_indices(len(matrix), 1)]
    found = path_lengths(graph, np.random.default_rng(1))
    assert found.counts[1:].tolist() == (2 * np.bincount(lengths.astype(int))[1:]).tolist()
    assert found.sums.tolist() == matrix.sum(axis=1).tolist()
    assert found.mean == pytest.approx(lengths.mean())
    assert found.median == np.median(lengths)
    assert found.diameter == lengths.max()
    assert (found.is_estimate, found.standard_error) == (False, 0.0)


@pytest.mark.spec("06:SG-20")
def test_a_path_of_ten_nodes() -> None:
    found = path_lengths(path_of(10), np.random.default_rng(1))
    assert found.counts.tolist() == [0, *range(18, 0, -2)]
    assert found.mean == pytest.approx(11 / 3)
    assert (found.median, found.diameter) == (3.0, 9)
    # 90 % of 90 ordered pairs are 81; 78 have a length of at most 6 and 84 one of at most 7
    assert found.effective_diameter == pytest.approx(6.5)
    assert found.distribution.sum() == pytest.approx(1.0)


def test_the_median_lies_halfway_between_two_lengths_in_the_middle() -> None:
    assert path_lengths(path_of(4), np.random.default_rng(1)).median == 1.5  # 1, 1, 1, 2, 2, 3


def test_a_long_path_is_followed_to_its_end() -> None:
    found = path_lengths(path_of(700), np.random.default_rng(1))
    assert found.diameter == 699
    assert found.mean == pytest.approx(701 / 3)


def test_sampled_sources_estimate_the_lengths_and_say_so() -> None:
    graph = random_graph(600, 1800, np.random.default_rng(5))
    exact = path_lengths(graph, np.random.default_rng(1))
    estimate = path_lengths(graph, np.random.default_rng(1), exact_up_to=100, sources=150)
    assert (estimate.is_estimate, estimate.sources, estimate.nodes) == (True, 150, exact.nodes)
    assert 0 < estimate.standard_error < 0.1
    assert abs(estimate.mean - exact.mean) < 4 * estimate.standard_error
    assert estimate.diameter <= exact.diameter
    assert path_lengths(graph, np.random.default_rng(1), exact_up_to=0, sources=1).standard_error == float("inf")


def test_the_standard_error_is_that_of_repeated_samples() -> None:
    graph = random_graph(300, 500, np.random.default_rng(2))
    found = [path_lengths(graph, np.random.default_rng(s), exact_up_to=0, sources=60) for s in range(200)]
    spread = np.std([estimate.mean for estimate in found])
    assert np.mean([estimate.standard_error for estimate in found]) == pytest.approx(spread, rel=0.2)


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(500, 1000, np.random.default_rng(3))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MICROVEIL_THREADS", threads)
        lengths = path_lengths(graph, np.random.default_rng(9), exact_up_to=10, sources=200)
        found.append((lengths.counts.tobytes(), lengths.sums.tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_a_graph_without_edges_has_no_paths(nodes: int) -> None:
    found = path_lengths(random_graph(nodes, 0, np.random.default_rng(1)), np.random.default_rng(1))
    assert (found.mean, found.median, found.diameter, found.effective_diameter) == (0.0, 0.0, 0, 0.0)
    assert not found.is_estimate


def test_wrong_sources_are_refused() -> None:
    with pytest.raises(ParameterError, match="source = 3 is not allowed"):
        distances_from(path_of(3), 3)
    with pytest.raises(ParameterError, match="sources = 0 is not allowed"):
        path_lengths(path_of(3), np.random.default_rng(1), sources=0)
