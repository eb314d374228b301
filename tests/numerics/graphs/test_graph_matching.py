"""Attacks on structure: what a few seeds give away, who shares a signature, and what friends tell."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, degrees, edge_list
from microveil.numerics.graphs.graph_matching import degree_signature_candidates, expand_seeds, friends_vote
from microveil.typing import IntArray


def social_graph(seed: int, nodes: int, edges: int) -> Adjacency:
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, nodes + 1) ** 0.5
    source, target = rng.choice(nodes, size=(2, edges), p=chances / chances.sum())
    return adjacency(source, target, nodes)


def renumbered(graph: Adjacency, kept: float, seed: int) -> tuple[Adjacency, IntArray]:
    """The graph with a share of its edges, and the new number of each node."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(graph.nodes)
    source, target = (number[end] for end in edge_list(graph))
    drawn = rng.random(graph.edges) < kept
    return adjacency(source[drawn], target[drawn], graph.nodes), number


def highest(graph: Adjacency, count: int) -> IntArray:
    return np.argsort(-degrees(graph), kind="stable")[:count]


def test_ten_seeds_find_most_nodes_of_a_graph_that_lost_a_tenth_of_its_edges() -> None:
    graph = social_graph(1, 800, 8000)
    published, number = renumbered(graph, 0.9, 2)
    seeds = highest(graph, 10)
    match = expand_seeds(graph, published, seeds, number[seeds])
    found = match >= 0
    assert (match[found] == number[found]).mean() > 0.99
    assert found.mean() > 0.95


def circles(seed: int, groups: int, size: int) -> Adjacency:
    """Circles of friends, most of whom know each other, with a few links between the circles."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(size, 1)
    ends = [(size * g + first, size * g + second) for g in range(groups)]
    kept = [rng.random(len(first)) < 0.6 for _ in range(groups)]
    between = rng.integers(0, groups * size, (2, groups * size))
    source = np.concatenate([*(a[k] for (a, _), k in zip(ends, kept, strict=True)), between[0]])
    target = np.concatenate([*(b[k] for (_, b), k in zip(ends, kept, strict=True)), between[1]])
    return adjacency(source, target, groups * size)


def test_revisiting_pairs_puts_right_what_the_first_marks_got_wrong_among_friends_of_friends() -> None:
    graph = circles(1, 10, 40)
    published, number = renumbered(graph, 0.8, 2)
    seeds = np.random.default_rng(3).permutation(graph.nodes)[:20]
    right = [
        (expand_seeds(graph, published, seeds, number[seeds], revisits=revisits) == number).mean()
        for revisits in (0, 10)
    ]
    assert right[1] > right[0] + 0.2
    assert right[1] > 0.8


def test_an_unrelated_graph_gives_hardly_any_right_match() -> None:
    graph, number = social_graph(1, 800, 8000), np.random.default_rng(5).permutation(800)
    source, target = edge_list(social_graph(9, 800, 8000))
    unrelated = adjacency(number[source], number[target], 800)
    seeds = highest(graph, 10)
    match = expand_seeds(graph, unrelated, seeds, number[seeds])
    others = np.setdiff1d(np.arange(800), seeds)
    assert (match[others] == number[others]).mean() < 0.02


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 120), st.integers(1, 3), st.floats(0, 2))
def test_no_node_is_matched_twice_and_seeds_stay(
    seed: int, nodes: int, edges: int, least_marks: int, eccentricity: float
) -> None:
    graph = social_graph(seed, nodes, edges)
    published, number = renumbered(graph, 0.9, seed)
    seeds = np.random.default_rng(seed).permutation(nodes)[: nodes // 3]
    match = expand_seeds(graph, published, seeds, number[seeds], least_marks=least_marks, eccentricity=eccentricity)
    assert np.array_equal(match[seeds], number[seeds])
    matched = match[match >= 0]
    assert len(np.unique(matched)) == len(matched)
    partners = {(v, int(x)) for v, x in enumerate(match) if x >= 0}
    for v, x in partners - {(int(s), int(number[s])) for s in seeds}:
        marks = sum(
            (int(w), int(match[w])) in partners and match[w] in published.neighbours(x) for w in graph.neighbours(v)
        )
        assert marks >= least_marks


def test_the_match_does_not_depend_on_the_numbers_of_the_nodes() -> None:
    graph = social_graph(4, 120, 500)
    published, number = renumbered(graph, 0.85, 3)
    again, other = renumbered(published, 1.0, 8)
    seeds = highest(graph, 6)
    one = expand_seeds(graph, published, seeds, number[seeds])
    two = expand_seeds(graph, again, seeds, other[number[seeds]])
    assert np.array_equal(np.where(one >= 0, other[one], -1), two)
    assert (one >= 0).sum() > 60


def test_a_path_beside_its_seed_is_matched_by_degree_and_mirror_images_are_not() -> None:
    """Node 0 is the seed; of its neighbours 1, 2 and 3, the first has a further neighbour, the others look alike."""
    graph = adjacency(np.array([0, 0, 0, 1]), np.array([1, 2, 3, 4]), 5)
    seed = np.array([0])
    assert expand_seeds(graph, graph, seed, seed, least_marks=1).tolist() == [0, 1, -1, -1, 4]
    assert expand_seeds(graph, graph, seed, seed).tolist() == [0, -1, -1, -1, -1]


def test_two_nodes_that_want_the_same_match_equally_do_not_get_it() -> None:
    two_friends = adjacency(np.array([0, 0]), np.array([1, 2]), 3)
    one_friend = adjacency(np.array([0]), np.array([1]), 2)
    seed = np.array([0])
    assert expand_seeds(two_friends, one_friend, seed, seed, least_marks=1).tolist() == [0, -1, -1]


def test_eccentricity_withholds_matches_that_do_not_stand_out() -> None:
    graph = social_graph(6, 500, 4000)
    published, number = renumbered(graph, 0.6, 6)
    seeds = highest(graph, 12)
    plain, strict = (expand_seeds(graph, published, seeds, number[seeds], eccentricity=bound) for bound in (0.0, 3.0))
    right = [(match == number)[match >= 0].mean() for match in (plain, strict)]
    assert (strict >= 0).sum() < (plain >= 0).sum()
    assert right[1] >= right[0]


def test_graphs_of_different_sizes_and_without_seeds_are_treated() -> None:
    small, large = social_graph(1, 20, 60), social_graph(2, 50, 100)
    none = np.empty(0, dtype=np.int64)
    assert (expand_seeds(small, large, none, none) == -1).all()
    assert len(expand_seeds(large, small, np.array([49]), np.array([19]))) == 50


@pytest.mark.parametrize(
    ("seeds", "matches", "told"),
    [([0], [0, 1], "pairs"), ([9], [0], "first graph"), ([0], [-1], "second graph"), ([0, 0], [0, 1], "twice")],
)
def test_seeds_that_are_no_pairs_of_nodes_are_refused(seeds: list[int], matches: list[int], told: str) -> None:
    graph = social_graph(0, 5, 8)
    with pytest.raises(DataError, match=told):
        expand_seeds(graph, graph, np.array(seeds), np.array(matches))


@pytest.mark.parametrize(
    "wrong", [{"least_marks": 0}, {"eccentricity": -1.0}, {"eccentricity": float("nan")}, {"revisits": -1}]
)
def test_bounds_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    graph = social_graph(0, 5, 8)
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        expand_seeds(graph, graph, np.array([0]), np.array([0]), **wrong)  # type: ignore[arg-type]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(0, 60))
def test_signatures_are_those_of_sorted_degrees(seed: int, nodes: int, edges: int) -> None:
    original, masked = social_graph(seed, nodes, edges), social_graph(seed + 1, nodes, edges)

    def signatures(graph: Adjacency) -> list[tuple[int, ...]]:
        return [tuple(sorted(degrees(graph)[graph.neighbours(v)].tolist())) for v in range(graph.nodes)]

    published = Counter(signatures(masked))
    assert degree_signature_candidates(original, masked).tolist() == [published[one] for one in signatures(original)]


def test_friends_vote_with_their_weights_and_frequency_breaks_ties() -> None:
    """Node 0 has friends with the codes 7, 7 and 5; nodes 1 to 3 see only node 0; node 4 has no friend."""
    star = adjacency(np.zeros(3, dtype=np.int64), np.array([1, 2, 3]), 5)
    codes, everyone = np.array([9, 7, 7, 5, 5]), np.ones(5, dtype=np.bool_)
    assert friends_vote(star, codes, everyone).tolist() == [7, 9, 9, 9, 5]
    assert friends_vote(star, codes, everyone, np.array([1.0, 1.0, 1.0, 2.5, 1.0]))[0] == 5
    assert friends_vote(star, codes, everyone, np.array([1.0, 1.0, 0.0, 1.0, 1.0]))[0] == 5  # as frequent, and smaller
    known = np.array([False, True, False, True, True])
    assert friends_vote(star, codes, known).tolist() == [5, 5, 5, 5, 5]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(0, 60))
def test_votes_are_those_of_plain_counting(seed: int, nodes: int, edges: int) -> None:
    graph, rng = social_graph(seed, nodes, edges), np.random.default_rng(seed)
    codes, known = rng.integers(0, 4, nodes), rng.random(nodes) < 0.7
    known[0] = True
    overall = Counter(codes[known].tolist())
    expected = []
    for v in range(nodes):
        votes = Counter(codes[w] for w in graph.neighbours(v) if known[w])
        expected.append(max(overall, key=lambda code: (votes[code], overall[code], -code)))
    assert friends_vote(graph, codes, known).tolist() == expected


def test_votes_without_codes_are_refused() -> None:
    graph, codes = social_graph(0, 4, 6), np.zeros(4, dtype=np.int64)
    with pytest.raises(DataError, match="every node needs a code"):
        friends_vote(graph, codes[:3], np.ones(4, dtype=np.bool_))
    with pytest.raises(DataError, match="no node's code is known"):
        friends_vote(graph, codes, np.zeros(4, dtype=np.bool_))
    with pytest.raises(ParameterError, match="weights"):
        friends_vote(graph, codes, np.ones(4, dtype=np.bool_), np.full(4, -1.0))
