"""Attribute adjacency matrices and the losses that compare them, on the example of Marés (2013), Fig. 6.5 to 6.8."""

from __future__ import annotations

from collections import Counter
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, degrees, edge_list
from microveil.numerics.graphs.mixing import (
    Rows,
    aamil,
    assortativity,
    cdil,
    degree_weighted_cdil,
    mixing_counts,
    numeric_assortativity,
)
from microveil.numerics.graphs.statistics import random_graph

PATH = adjacency(np.array([0, 1]), np.array([1, 2]), 3)
PROFILES = {
    "location": ["Washington DC", "United States", "New York City"],
    "t1": ["Politics", "Technology", "Technology"],
    "t2": ["Sports", "Sports", "Politics"],
    "t3": ["Weather", "Religion", "Culture"],
}
MASKED = {"location": "United States", "t1": "Technology", "t2": "Politics", "t3": "Sports"}


def coded(attribute: str) -> tuple[np.ndarray, np.ndarray]:
    names = sorted({*PROFILES[attribute], MASKED[attribute]})
    return (
        np.array([names.index(value) for value in PROFILES[attribute]]),
        np.full(3, names.index(MASKED[attribute])),
    )


@pytest.mark.spec("06:SG-14")
@pytest.mark.parametrize(
    ("rows", "wanted", "mean"),
    [("masked_masked", [1.0, 0.5, 1.0, 1.0], 0.875), ("orig_masked", [0.5, 0.25, 0.75, 1.0], 0.625)],
)
def test_aamil_of_the_example_in_both_readings(rows: Rows, wanted: list[float], mean: float) -> None:
    found = [aamil(PATH, *coded(attribute), rows=rows) for attribute in PROFILES]
    assert found == wanted
    assert np.mean(found) == mean


@pytest.mark.spec("06:SG-15")
def test_cdil_of_the_example() -> None:
    found = [cdil(*coded(attribute)) for attribute in PROFILES]
    assert found == pytest.approx([2 / 3, 1 / 3, 2 / 3, 1.0])
    assert np.mean(found) == pytest.approx(2 / 3)


@pytest.mark.spec("06:SG-14")
def test_the_printed_matrices() -> None:
    order = ["United States", "Washington DC", "New York City"]
    original = np.array([order.index(value) for value in PROFILES["location"]])
    masked = np.zeros(3, dtype=np.int64)
    printed = {
        "original": (original, original, [[0, 1, 1], [1, 0, 0], [1, 0, 0]]),
        "masked, as printed": (original, masked, [[2, 0, 0], [1, 0, 0], [1, 0, 0]]),
        "masked, by the formula": (masked, masked, [[4, 0, 0], [0, 0, 0], [0, 0, 0]]),
    }
    for name, (row, column, wanted) in printed.items():
        counts = mixing_counts(PATH, row, column)
        matrix = np.zeros((3, 3), dtype=np.int64)
        matrix[counts.row, counts.column] = counts.links
        assert matrix.tolist() == wanted, name


def drawn(seed: int, nodes: int, share: float, categories: int) -> tuple[Adjacency, Adjacency, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    edges = int(share * (nodes * (nodes - 1) // 2))
    original, masked = rng.integers(0, categories, size=(2, nodes))
    return random_graph(nodes, edges, rng), random_graph(nodes, edges, rng), original, masked


cases = (st.integers(0, 10**6), st.integers(1, 15), st.floats(0, 1), st.sampled_from([1, 2, 4, 10**9]))


@given(*cases)
def test_aamil_is_that_of_links_counted_one_by_one(seed: int, nodes: int, share: float, categories: int) -> None:
    graph, other, original, masked = drawn(seed, nodes, share, categories)

    def counted(edges: Adjacency, row: np.ndarray, column: np.ndarray) -> Counter[tuple[int, int]]:
        both = [*zip(*edge_list(edges), strict=True), *zip(*edge_list(edges)[::-1], strict=True)]
        return Counter((int(row[a]), int(column[b])) for a, b in both)

    before = counted(graph, original, original)
    for edges in (graph, other):
        for rows, after in (
            ("masked_masked", counted(edges, masked, masked)),
            ("orig_masked", counted(edges, original, masked)),
        ):
            difference = sum(abs(before[cell] - after[cell]) for cell in {*before, *after})
            wanted = difference / (4 * graph.edges) if graph.edges else 0.0
            assert aamil(graph, original, masked, edges, rows) == pytest.approx(wanted)


@pytest.mark.spec("06:SG-14")
@given(*cases)
def test_aamil_is_at_least_the_distance_of_the_degree_weighted_histograms(
    seed: int, nodes: int, share: float, categories: int
) -> None:
    graph, other, original, masked = drawn(seed, nodes, share, categories)
    for edges in (graph, other):
        least = degree_weighted_cdil(graph, original, masked, edges)
        assert aamil(graph, original, masked, edges) >= least
        assert aamil(graph, original, masked, edges, "orig_masked") >= least


@given(*cases)
def test_the_same_values_lose_nothing(seed: int, nodes: int, share: float, categories: int) -> None:
    graph, _, original, masked = drawn(seed, nodes, share, categories)
    assert aamil(graph, original, original) == aamil(graph, original, original, rows="orig_masked") == 0.0
    assert cdil(original, original) == 0.0
    assert 0.0 <= cdil(original, masked) == cdil(masked, original) <= 1.0


def test_the_degree_weighted_histogram_counts_a_node_once_for_each_link() -> None:
    # the middle node has half of the four links
    assert degree_weighted_cdil(PATH, np.array([0, 1, 0]), np.array([0, 0, 0])) == 0.5


def test_without_edges_nothing_is_lost() -> None:
    graph = random_graph(3, 0, np.random.default_rng(1))
    codes = np.array([0, 1, 2])
    assert aamil(graph, codes, np.zeros(3, dtype=np.int64)) == 0.0
    assert aamil(graph, codes, codes, PATH) == 0.0
    assert cdil(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)) == 0.0
    assert isnan(assortativity(graph, codes))
    assert isnan(numeric_assortativity(graph, codes.astype(np.float64)))


def test_links_within_categories_are_assortative_and_links_between_two_are_not() -> None:
    pairs = adjacency(np.array([0, 2]), np.array([1, 3]), 4)
    assert assortativity(pairs, np.array([0, 0, 1, 1])) == 1.0
    assert assortativity(pairs, np.array([0, 1, 0, 1])) == -1.0
    assert isnan(assortativity(pairs, np.zeros(4, dtype=np.int64)))
    assert numeric_assortativity(pairs, np.array([1.0, 1.0, 5.0, 5.0])) == pytest.approx(1.0)
    assert numeric_assortativity(pairs, np.array([1.0, 5.0, 1.0, 5.0])) == pytest.approx(-1.0)
    assert isnan(numeric_assortativity(pairs, np.ones(4)))


def test_assortativity_is_that_of_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    graph = random_graph(40, 100, np.random.default_rng(3))
    codes = np.random.default_rng(4).integers(0, 3, size=40)
    other = networkx.Graph(list(zip(*edge_list(graph), strict=True)))
    networkx.set_node_attributes(other, dict(enumerate(codes.tolist())), "code")
    wanted = networkx.attribute_assortativity_coefficient(other, "code")
    assert assortativity(graph, codes) == pytest.approx(wanted)
    by_degree = networkx.degree_assortativity_coefficient(other)
    assert numeric_assortativity(graph, degrees(graph).astype(np.float64)) == pytest.approx(by_degree)


def test_codes_that_do_not_fit_are_refused() -> None:
    codes = np.array([0, 1, 2])
    with pytest.raises(DataError, match="codes for 2 nodes, but the graph has 3"):
        aamil(PATH, codes[:2], codes)
    with pytest.raises(DataError, match="whole numbers from 0 on"):
        aamil(PATH, codes, codes - 1)
    with pytest.raises(DataError, match="whole numbers from 0 on"):
        mixing_counts(PATH, codes, codes / 2)
    with pytest.raises(DataError, match="codes for 2 nodes"):
        cdil(codes, codes[:2])
    with pytest.raises(DataError, match="values for 2 nodes"):
        numeric_assortativity(PATH, np.ones(2))
    with pytest.raises(DataError, match="3 and 4 nodes"):
        aamil(PATH, codes, codes, random_graph(4, 1, np.random.default_rng(1)))
    with pytest.raises(ParameterError, match="rows = 'both' is not allowed"):
        aamil(PATH, codes, codes, rows="both")  # type: ignore[arg-type]
