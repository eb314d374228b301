"""Triangles and clustering coefficients, against all triples of nodes and networkx."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.numerics.graphs.adjacency import adjacency, edge_list
from microveil.numerics.graphs.clustering import Clustering
from microveil.numerics.graphs.statistics import random_graph


@given(st.integers(0, 10**6), st.integers(0, 12), st.floats(0, 1))
def test_triangles_are_those_of_all_triples(seed: int, nodes: int, share: float) -> None:
    graph = random_graph(nodes, int(share * (nodes * (nodes - 1) // 2)), np.random.default_rng(seed))
    linked = set(zip(*(end.tolist() for end in edge_list(graph)), strict=True))
    wanted = np.zeros(nodes, dtype=np.int64)
    for triple in combinations(range(nodes), 3):
        if all(pair in linked for pair in combinations(triple, 2)):
            wanted[list(triple)] += 1
    assert Clustering.of(graph).triangles.tolist() == wanted.tolist()


def test_a_triangle_with_a_tail() -> None:
    found = Clustering.of(adjacency(np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3]), 5))
    assert found.local.tolist() == [1.0, 1.0, 1 / 3, 0.0, 0.0]
    assert found.mean == pytest.approx((2 + 1 / 3) / 5)
    assert found.transitivity == 3 / 5


def test_without_pairs_of_neighbours_both_coefficients_are_zero() -> None:
    for nodes in (0, 1, 2):
        found = Clustering.of(random_graph(nodes, int(nodes == 2), np.random.default_rng(1)))
        assert (found.mean, found.transitivity) == (0.0, 0.0)


def test_the_coefficients_are_those_of_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    graph = random_graph(60, 400, np.random.default_rng(4))
    other = networkx.Graph(list(zip(*edge_list(graph), strict=True)))
    found = Clustering.of(graph)
    assert found.mean == pytest.approx(networkx.average_clustering(other))
    assert found.transitivity == pytest.approx(networkx.transitivity(other))
