"""k-degree anonymity: optimal sequences against all partitions, and graphs that keep what is promised."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.numerics.graphs import degree_anonymity
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, clean_edges, degrees, edge_list
from microveil.numerics.graphs.degree_anonymity import (
    LARGEST,
    MEDIAN,
    SMALLEST,
    DegreeAnonymity,
    anonymised_degrees,
    degree_anonymous_graph,
    degree_anonymous_supergraph,
    is_graphical,
)
from microveil.typing import IntArray


def random_graph(seed: int, nodes: int, edges: int) -> Adjacency:
    """Few nodes have most of the edges, as in a social graph."""
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, nodes + 1)
    source, target = rng.choice(nodes, size=(2, edges), p=chances / chances.sum())
    return adjacency(source, target, nodes)


def edges_of(graph: Adjacency) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in zip(*edge_list(graph), strict=True)}


def splits(n: int, k: int) -> Iterator[list[int]]:
    """All ways to cut n in a row into parts of at least k."""
    yield [n]
    for first in range(k, n - k + 1):
        for rest in splits(n - first, k):
            yield [first, *rest]


def least_cost(given: IntArray, k: int, fall_cost: float) -> float:
    falling, best = -np.sort(-given), np.inf
    for sizes in splits(len(given), k):
        total = 0.0
        for part in np.split(falling, np.cumsum(sizes)[:-1]):
            total += min(cost_of(part, np.full(len(part), degree), fall_cost) for degree in part)
        best = min(best, total)
    return best


def cost_of(given: IntArray, anonymised: IntArray, fall_cost: float) -> float:
    rises, falls = np.maximum(anonymised - given, 0).sum(), np.maximum(given - anonymised, 0).sum()
    return float(rises + (fall_cost * falls if falls else 0))


def fewest_sharing(values: IntArray) -> int:
    return int(np.bincount(values)[values].min())


def assert_anonymous(before: Adjacency, found: DegreeAnonymity, k: int) -> None:
    assert found.graph.nodes == before.nodes
    assert fewest_sharing(degrees(found.graph)) >= k
    source, target = edge_list(found.graph)
    clean = clean_edges(source, target, before.nodes)
    assert (clean.loops, clean.repeated) == (0, 0)
    assert np.array_equal(adjacency(source, target, before.nodes).indices, found.graph.indices)
    assert found.added == len(edges_of(found.graph) - edges_of(before))
    assert found.removed == len(edges_of(before) - edges_of(found.graph))
    assert found.changes == found.added + found.removed


def test_the_last_group_takes_the_node_that_is_left_over() -> None:
    assert anonymised_degrees(np.array([5, 5, 3, 3, 2, 2, 1]), 2).tolist() == [5, 5, 3, 3, 2, 2, 2]


def test_the_three_forms_of_one_group() -> None:
    one = np.array([9, 2, 4, 3, 3])
    assert anonymised_degrees(one, 5, LARGEST).tolist() == [9] * 5
    assert anonymised_degrees(one, 5, MEDIAN).tolist() == [3] * 5
    assert anonymised_degrees(one, 5, SMALLEST).tolist() == [2] * 5


@settings(max_examples=80)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=11), st.integers(1, 4), st.sampled_from([LARGEST, 3.0, 1.0, 0.0])
)
def test_no_partition_into_groups_of_at_least_k_costs_less(given: list[int], k: int, fall_cost: float) -> None:
    sequence = np.array(given)
    k = min(k, len(given))
    found = anonymised_degrees(sequence, k, fall_cost)
    assert fewest_sharing(found) >= k
    assert cost_of(sequence, found, fall_cost) == pytest.approx(least_cost(sequence, k, fall_cost))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(1, 8))
def test_degrees_that_may_fall_change_less_in_sum(given: list[int], k: int) -> None:
    sequence = np.array(given)
    k = min(k, len(given))
    largest, median = anonymised_degrees(sequence, k), anonymised_degrees(sequence, k, MEDIAN)
    assert (largest >= sequence).all()
    assert (anonymised_degrees(sequence, k, SMALLEST) <= sequence).all()
    assert np.abs(median - sequence).sum() <= np.abs(largest - sequence).sum()


def test_every_sequence_of_a_graph_on_five_nodes_is_graphical_and_no_other() -> None:
    pairs = list(itertools.combinations(range(5), 2))
    realised = set()
    for chosen in itertools.product([False, True], repeat=len(pairs)):
        ends = [node for pair, take in zip(pairs, chosen, strict=True) if take for node in pair]
        realised.add(tuple(sorted(np.bincount(np.array(ends, dtype=np.int64), minlength=5).tolist())))
    for sequence in itertools.combinations_with_replacement(range(6), 5):
        assert is_graphical(np.array(sequence)) == (sequence in realised)
    assert not is_graphical(np.array([-1, 1]))
    assert is_graphical(np.empty(0, dtype=np.int64))


@given(
    st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 90), st.integers(1, 6), st.sampled_from([LARGEST, MEDIAN])
)
def test_the_degrees_that_are_wanted_have_an_even_sum(
    seed: int, nodes: int, edges: int, k: int, fall_cost: float
) -> None:
    given, k = degrees(random_graph(seed, nodes, edges)), min(k, nodes)
    wanted = degree_anonymity._wanted_degrees(given, seed % 5, k, fall_cost, np.random.default_rng(seed))
    assert wanted.sum() % 2 == 0
    assert fewest_sharing(wanted) >= k
    assert 0 <= wanted.min() <= wanted.max() < nodes
    if fall_cost == LARGEST:
        assert (wanted >= given).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 150), st.integers(1, 8))
def test_every_degree_is_shared_by_at_least_k_nodes_and_ours_changes_no_more_edges(
    seed: int, nodes: int, edges: int, k: int
) -> None:
    graph, k = random_graph(seed, nodes, edges), min(k, nodes)
    printed = degree_anonymous_supergraph(graph, k, np.random.default_rng(seed))
    ours = degree_anonymous_graph(graph, k, np.random.default_rng(seed))
    assert_anonymous(graph, printed, k)
    assert_anonymous(graph, ours, k)
    assert printed.removed == 0
    assert edges_of(graph) <= edges_of(printed.graph)
    assert ours.changes <= printed.changes


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0.5, 1), st.integers(1, 12))
def test_dense_graphs_are_treated_too(seed: int, nodes: int, share: float, k: int) -> None:
    k, pairs = min(k, nodes), np.triu_indices(nodes, 1)
    kept = np.random.default_rng(seed).random(len(pairs[0])) < share
    graph = adjacency(pairs[0][kept], pairs[1][kept], nodes)
    for anonymise in (degree_anonymous_supergraph, degree_anonymous_graph):
        assert_anonymous(graph, anonymise(graph, k, np.random.default_rng(seed)), k)


def test_ours_changes_much_fewer_edges_of_a_social_graph() -> None:
    graph = random_graph(3, 600, 3000)
    ratios = []
    for k in (2, 5, 10, 20):
        printed = degree_anonymous_supergraph(graph, k, np.random.default_rng(k))
        ours = degree_anonymous_graph(graph, k, np.random.default_rng(k))
        assert_anonymous(graph, ours, k)
        ratios.append(ours.changes / printed.changes)
    assert max(ratios) <= 1
    assert ratios[-1] < 0.6


def test_a_graph_that_is_anonymous_already_is_not_changed() -> None:
    ring = adjacency(np.arange(9), (np.arange(9) + 1) % 9, 9)
    complete = adjacency(*np.triu_indices(7, 1), 7)
    empty = adjacency(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 4)
    for graph in (ring, complete, empty):
        for anonymise in (degree_anonymous_supergraph, degree_anonymous_graph):
            found = anonymise(graph, graph.nodes, np.random.default_rng(0))
            assert np.array_equal(found.graph.indices, graph.indices)
            assert (found.added, found.removed, found.rounds) == (0, 0, 0)


def test_k_of_one_changes_nothing() -> None:
    graph = random_graph(2, 50, 120)
    assert degree_anonymous_graph(graph, 1, np.random.default_rng(0)).changes == 0


def test_a_star_needs_noise_where_edges_are_only_added() -> None:
    """A second node with the degree of the centre must be linked to all leaves, whose degrees therefore rise too."""
    star = adjacency(np.zeros(9, dtype=np.int64), np.arange(1, 10), 10)
    printed = degree_anonymous_supergraph(star, 2, np.random.default_rng(1))
    assert_anonymous(star, printed, 2)
    assert printed.rounds > 0
    assert printed.added == 8
    ours = degree_anonymous_graph(star, 2, np.random.default_rng(1))
    assert_anonymous(star, ours, 2)
    assert ours.changes <= 8


def test_all_nodes_of_a_path_can_share_a_degree_only_by_an_even_sum() -> None:
    """Three nodes with degrees 1, 2, 1: the median 1 for all has an odd sum, 2 for all is the triangle."""
    path = adjacency(np.array([0, 1]), np.array([1, 2]), 3)
    for anonymise in (degree_anonymous_supergraph, degree_anonymous_graph):
        found = anonymise(path, 3, np.random.default_rng(0))
        assert edges_of(found.graph) == {(0, 1), (0, 2), (1, 2)}


def test_the_same_generator_gives_the_same_graph() -> None:
    graph = random_graph(5, 200, 800)
    for anonymise in (degree_anonymous_supergraph, degree_anonymous_graph):
        one, again, other = (anonymise(graph, 6, np.random.default_rng(seed)).graph.indices for seed in (4, 4, 5))
        assert np.array_equal(one, again)
        assert not np.array_equal(one, other)


def test_fewer_nodes_than_k_are_refused() -> None:
    graph = random_graph(0, 4, 4)
    for anonymise in (degree_anonymous_supergraph, degree_anonymous_graph):
        with pytest.raises(DataError, match="has 4 nodes, but k = 5 needs at least 5"):
            anonymise(graph, 5, np.random.default_rng(0))
        with pytest.raises(ParameterError, match="k = 0"):
            anonymise(graph, 0, np.random.default_rng(0))
    with pytest.raises(DataError, match="has 0 nodes"):
        anonymised_degrees(np.empty(0, dtype=np.int64), 1)


@pytest.mark.parametrize("fall_cost", [-1.0, float("nan")])
def test_a_cost_below_zero_is_refused(fall_cost: float) -> None:
    with pytest.raises(ParameterError, match="fall_cost"):
        anonymised_degrees(np.array([1, 2]), 1, fall_cost)
