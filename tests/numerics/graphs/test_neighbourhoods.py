"""Neighbourhood matching: the worked example, plain comparisons of all pairs, and what must hold between the modes."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.graphs.adjacency import Adjacency, adjacency, degrees, edge_list
from microveil.numerics.graphs.neighbourhoods import (
    NeighbourhoodMatches,
    consistent_neighbourhoods,
    equal_neighbourhoods,
    known_neighbours,
)
from microveil.typing import IntArray

# the path 1 - 2 - 3 of Marés (2013), figures 6.5 to 6.8; all profiles are masked alike
PATH = adjacency(np.array([0, 1]), np.array([1, 2]), 3)
POLITICS, TECHNOLOGY, SPORTS, WEATHER, RELIGION, CULTURE = range(6)
WORLD, UNITED_STATES, NEW_YORK_CITY, WASHINGTON = range(4)
PARENTS = np.array([-1, WORLD, UNITED_STATES, UNITED_STATES])
ORIGINAL = {
    "location": np.array([WASHINGTON, UNITED_STATES, NEW_YORK_CITY]),
    "t1": np.array([POLITICS, TECHNOLOGY, TECHNOLOGY]),
    "t2": np.array([SPORTS, SPORTS, POLITICS]),
    "t3": np.array([WEATHER, RELIGION, CULTURE]),
}
MASKED = {
    "location": np.full(3, UNITED_STATES),
    "t1": np.full(3, TECHNOLOGY),
    "t2": np.full(3, POLITICS),
    "t3": np.full(3, SPORTS),
}
TOPICS = ("t1", "t2", "t3")
SCENARIOS = [("t1",), ("t2",), ("t3",), ("location",), TOPICS, ("location", *TOPICS)]


def labels_of(scenario: tuple[str, ...]) -> tuple[IntArray, IntArray]:
    codes = number_rows([np.concatenate([ORIGINAL[name], MASKED[name]]) for name in scenario])[0]
    return codes[:3], codes[3:]


def random_graph(rng: np.random.Generator, nodes: int, edges: int) -> Adjacency:
    return adjacency(rng.integers(0, nodes, edges), rng.integers(0, nodes, edges), nodes)


def two_graphs(seed: int, categories: int) -> tuple[Adjacency, Adjacency, IntArray, IntArray]:
    """A small graph, and the same with a few other edges and labels; many neighbourhoods are alike."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 14))
    source, target = rng.integers(0, nodes, size=(2, int(rng.integers(0, 3 * nodes))))
    kept = rng.random(len(source)) < 0.9
    labels = rng.integers(0, categories, nodes)
    masked_labels = np.where(rng.random(nodes) < 0.8, labels, rng.integers(0, categories, nodes))
    original, masked = adjacency(source, target, nodes), adjacency(source[kept], target[kept], nodes)
    return original, masked, labels, masked_labels


def is_isomorphic(one: Adjacency, v: int, labels: IntArray, other: Adjacency, w: int, masked_labels: IntArray) -> bool:
    """Whether any order of the neighbours of w gives the neighbourhood of v."""
    mine, theirs = one.neighbours(v).tolist(), other.neighbours(w).tolist()
    if len(mine) != len(theirs) or sorted(labels[mine]) != sorted(masked_labels[theirs]):
        return False
    linked = [[b in one.neighbours(a) for b in mine] for a in mine]
    for order in itertools.permutations(theirs):
        if (labels[mine] == masked_labels[list(order)]).all() and linked == [
            [b in other.neighbours(a) for b in order] for a in order
        ]:
            return True
    return False


def assert_pairs(found: NeighbourhoodMatches, pairs: list[list[bool]]) -> None:
    table = np.array(pairs, dtype=np.bool_).reshape(len(found.matched), -1)
    assert found.candidates.tolist() == table.sum(axis=1).tolist()
    assert found.matched.tolist() == table.any(axis=1).tolist()
    assert found.own.tolist() == np.diagonal(table).tolist()
    chosen = sum(table[v, v] / table[v].sum() for v in range(len(table)) if table[v, v])
    assert found.expected == pytest.approx(chosen / len(table))
    assert found.unresolved == 0


@pytest.mark.spec("06:SG-18", "06:SG-19")
@pytest.mark.parametrize("induced", [True, False])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_only_the_third_neighbourhood_of_the_example_reappears_with_its_first_topic(
    scenario: tuple[str, ...], induced: bool
) -> None:
    found = equal_neighbourhoods(PATH, PATH, *labels_of(scenario), induced=induced)
    assert found.matched.tolist() == [False, False, scenario == ("t1",)]
    assert found.risk == pytest.approx(1 / 3 if scenario == ("t1",) else 0)
    assert found.expected == pytest.approx(1 / 6 if scenario == ("t1",) else 0)
    assert found.own_risk == found.risk


@pytest.mark.spec("06:SG-18", "06:SG-19")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_without_the_root_two_neighbourhoods_of_the_example_reappear(scenario: tuple[str, ...]) -> None:
    found = equal_neighbourhoods(PATH, PATH, *labels_of(scenario), include_root=False)
    assert found.risk == pytest.approx(2 / 3 if scenario in [("t1",), ("location",)] else 0)


@pytest.mark.spec("06:SG-18", "06:SG-19")
@pytest.mark.parametrize(
    ("scenario", "risk"), [(("location",), 1), (("t1",), 1 / 3), (TOPICS, 0), (("location", *TOPICS), 0)]
)
def test_an_intruder_who_accepts_generalised_locations_finds_all_of_the_example(
    scenario: tuple[str, ...], risk: float
) -> None:
    topics = tuple(name for name in scenario if name != "location")
    labels = labels_of(topics) if topics else (np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))
    located = "location" in scenario
    true, published = (known["location"] if located else np.zeros(3, dtype=np.int64) for known in (ORIGINAL, MASKED))
    found = consistent_neighbourhoods(PATH, PATH, labels[0], labels[1], true, published, PARENTS)
    assert found.risk == pytest.approx(risk)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
def test_stars_are_those_of_a_comparison_of_all_pairs(seed: int, categories: int, include_root: bool) -> None:
    original, masked, labels, masked_labels = two_graphs(seed, categories)
    found = equal_neighbourhoods(original, masked, labels, masked_labels, induced=False, include_root=include_root)

    def star(graph: Adjacency, codes: IntArray, v: int) -> tuple[int, list[int]]:
        return int(codes[v]) if include_root else 0, sorted(codes[graph.neighbours(v)].tolist())

    nodes = range(original.nodes)
    assert_pairs(found, [[star(original, labels, v) == star(masked, masked_labels, w) for w in nodes] for v in nodes])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
def test_induced_neighbourhoods_are_those_of_a_comparison_of_all_pairs(
    seed: int, categories: int, include_root: bool
) -> None:
    original, masked, labels, masked_labels = two_graphs(seed, categories)
    assume(max(degrees(original).max(), degrees(masked).max()) <= 6)  # a plain comparison tries all orders
    found = equal_neighbourhoods(original, masked, labels, masked_labels, include_root=include_root)
    pairs = [
        [
            (labels[v] == masked_labels[w] or not include_root)
            and is_isomorphic(original, v, labels, masked, w, masked_labels)
            for w in range(original.nodes)
        ]
        for v in range(original.nodes)
    ]
    assert_pairs(found, pairs)


def wheel(rings: list[int], nodes: int) -> Adjacency:
    """Node 0 linked to all others, which form rings of these sizes."""
    source, target, at = [0] * sum(rings), list(range(1, sum(rings) + 1)), 1
    for size in rings:
        source += [at + i for i in range(size)]
        target += [at + (i + 1) % size for i in range(size)]
        at += size
    return adjacency(np.array(source), np.array(target), nodes)


def renumbered(graph: Adjacency, number: IntArray) -> Adjacency:
    source, target = edge_list(graph)
    return adjacency(number[source], number[target], graph.nodes)


def test_a_ring_of_six_and_two_triangles_are_told_apart_although_all_degrees_and_colours_agree() -> None:
    ring, triangles = wheel([6], 7), wheel([3, 3], 7)
    labels = np.zeros(7, dtype=np.int64)
    assert not equal_neighbourhoods(ring, triangles, labels, labels).matched[0]
    assert equal_neighbourhoods(ring, triangles, labels, labels, induced=False).matched[0]
    turned = renumbered(ring, np.array([3, 5, 1, 0, 6, 2, 4]))
    found = equal_neighbourhoods(ring, turned, labels, labels)
    assert (found.matched[0], found.candidates[0], found.unresolved) == (True, 1, 0)


def test_what_exceeds_the_bound_counts_as_matched_and_is_reported() -> None:
    ring, triangles = wheel([30], 31), wheel([15, 15], 31)
    labels = np.zeros(31, dtype=np.int64)
    bounded = equal_neighbourhoods(ring, triangles, labels, labels, effort=10)
    assert bounded.matched[0]
    assert bounded.unresolved == 1
    complete = equal_neighbourhoods(ring, triangles, labels, labels)
    assert not complete.matched[0]
    assert complete.unresolved == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 4), st.booleans())
def test_known_neighbours_are_those_of_a_comparison_of_all_pairs(
    seed: int, categories: int, known: int, include_root: bool
) -> None:
    """Where all neighbours are known the draw does not matter; else what is known comes from the labels themselves."""
    original, masked, labels, masked_labels = two_graphs(seed, categories)
    everything = 100
    found = known_neighbours(
        original, masked, labels, masked_labels, everything, np.random.default_rng(seed), include_root=include_root
    )

    def fits(v: int, w: int) -> bool:
        mine, theirs = Counter(labels[original.neighbours(v)]), Counter(masked_labels[masked.neighbours(w)])
        return bool(labels[v] == masked_labels[w] or not include_root) and mine <= theirs

    nodes = range(original.nodes)
    assert_pairs(found, [[fits(v, w) for w in nodes] for v in nodes])
    fewer = known_neighbours(
        original, masked, labels, masked_labels, known, np.random.default_rng(seed), include_root=include_root
    )
    assert (fewer.candidates >= found.candidates).all()
    assert (fewer.own >= found.own).all()
    nothing = known_neighbours(original, masked, labels, masked_labels, 0, np.random.default_rng(seed))
    assert nothing.candidates.tolist() == [int((masked_labels == label).sum()) for label in labels]


def test_the_neighbours_that_an_intruder_knows_are_drawn_uniformly() -> None:
    """A centre with the labels 1, 2, 3 around it; in the masked graph one node has only the label 1 beside it."""
    star = adjacency(np.zeros(3, dtype=np.int64), np.array([1, 2, 3]), 4)
    labels, masked_labels = np.array([0, 1, 2, 3]), np.array([0, 1, 7, 8])
    rng = np.random.default_rng(0)
    hits = [known_neighbours(star, star, labels, masked_labels, 1, rng).own[0] for _ in range(600)]
    assert sum(hits) == pytest.approx(200, abs=45)


def deepest_first(originals: list[int], masked: list[int], parents: IntArray) -> bool:
    """Give each masked location, deepest first, any unused original below it."""

    def path(place: int) -> list[int]:
        return [place] if parents[place] < 0 else [place, *path(int(parents[place]))]

    left = list(originals)
    for place in sorted(masked, key=lambda place: -len(path(place))):
        below = [one for one in left if place in path(one)]
        if not below:
            return False
        left.remove(below[0])
    return not left


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 2), st.booleans())
def test_consistent_neighbourhoods_are_those_of_matching_deepest_first(
    seed: int, categories: int, include_root: bool
) -> None:
    original, masked, labels, masked_labels = two_graphs(seed, categories)
    rng = np.random.default_rng(seed)
    parents = np.array([-1, 0, 0, 1, 1, 2, 3])
    locations = rng.integers(0, len(parents), original.nodes)
    masked_locations = np.where(rng.random(original.nodes) < 0.5, locations, np.maximum(parents[locations], 0))
    found = consistent_neighbourhoods(
        original, masked, labels, masked_labels, locations, masked_locations, parents, include_root=include_root
    )

    def fits(v: int, w: int) -> bool:
        mine, theirs = original.neighbours(v), masked.neighbours(w)
        if include_root and not (
            labels[v] == masked_labels[w] and deepest_first([locations[v]], [masked_locations[w]], parents)
        ):
            return False
        return sorted(labels[mine]) == sorted(masked_labels[theirs]) and all(
            deepest_first(
                locations[mine[labels[mine] == label]].tolist(),
                masked_locations[theirs[masked_labels[theirs] == label]].tolist(),
                parents,
            )
            for label in set(labels[mine].tolist())
        )

    nodes = range(original.nodes)
    assert_pairs(found, [[fits(v, w) for w in nodes] for v in nodes])
    whole = number_rows(
        [np.concatenate([labels, masked_labels]), np.concatenate([locations, masked_locations])],
    )[0]
    equal = equal_neighbourhoods(
        original, masked, whole[: original.nodes], whole[original.nodes :], include_root=include_root
    )
    assert (found.candidates >= equal.candidates).all()


@pytest.mark.spec("06:SG-18", "06:SG-19")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_more_knowledge_never_matches_more(seed: int) -> None:
    original, masked, labels, masked_labels = two_graphs(seed, 3)
    rng = np.random.default_rng(seed)
    other, masked_other = rng.integers(0, 2, size=(2, original.nodes))
    pair = number_rows([np.concatenate([labels, masked_labels]), np.concatenate([other, masked_other])])[0]
    both = pair[: original.nodes], pair[original.nodes :]
    for induced, include_root in itertools.product([False, True], repeat=2):
        few = equal_neighbourhoods(original, masked, labels, masked_labels, induced=induced, include_root=include_root)
        many = equal_neighbourhoods(original, masked, *both, induced=induced, include_root=include_root)
        assert (few.own <= few.matched).all()
        assert few.expected <= few.own_risk <= few.risk
        assert (many.matched <= few.matched).all()
        assert (many.candidates <= few.candidates).all()
    rooted, rootless = (
        equal_neighbourhoods(original, masked, labels, masked_labels, include_root=root) for root in (True, False)
    )
    stars = equal_neighbourhoods(original, masked, labels, masked_labels, induced=False)
    assert (rooted.candidates <= rootless.candidates).all()
    assert (rooted.candidates <= stars.candidates).all()


def test_a_graph_matches_itself_however_its_nodes_are_numbered() -> None:
    rng = np.random.default_rng(8)
    graph = random_graph(rng, 80, 500)
    labels = rng.integers(0, 2, 80)
    number = rng.permutation(80)
    turned = renumbered(graph, number)
    turned_labels = np.empty_like(labels)
    turned_labels[number] = labels
    plain = equal_neighbourhoods(graph, graph, labels, labels)
    assert plain.own.all()
    assert np.array_equal(equal_neighbourhoods(graph, turned, labels, turned_labels).candidates, plain.candidates)


def test_graphs_without_nodes_and_without_edges_are_treated() -> None:
    nothing, lonely = (adjacency(np.empty(0, np.int64), np.empty(0, np.int64), nodes) for nodes in (0, 3))
    none = np.empty(0, dtype=np.int64)
    for found in (
        equal_neighbourhoods(nothing, nothing, none, none),
        known_neighbours(nothing, nothing, none, none, 2, np.random.default_rng(0)),
        consistent_neighbourhoods(nothing, nothing, none, none, none, none, PARENTS),
    ):
        assert (found.risk, found.own_risk, found.expected) == (0, 0, 0)
    labels = np.array([4, 4, -1])
    for found in (
        equal_neighbourhoods(lonely, lonely, labels, labels),
        known_neighbours(lonely, lonely, labels, labels, 2, np.random.default_rng(0)),
    ):
        assert found.candidates.tolist() == [2, 2, 1]


def test_unequal_graphs_and_wrong_labels_are_refused() -> None:
    other = adjacency(np.array([0]), np.array([1]), 4)
    labels = np.zeros(3, dtype=np.int64)
    with pytest.raises(DataError, match="3 nodes and the masked one 4"):
        equal_neighbourhoods(PATH, other, labels, labels)
    with pytest.raises(DataError, match="one label"):
        equal_neighbourhoods(PATH, PATH, labels, labels[:2])
    with pytest.raises(ParameterError, match="known = -1"):
        known_neighbours(PATH, PATH, labels, labels, -1, np.random.default_rng(0))
    for parents, told in [
        (np.array([-1, 5]), "parent"),
        (np.array([1, 0]), "cycle"),
        (np.array([-1]), "location that does not exist"),
    ]:
        with pytest.raises(DataError, match=told):
            consistent_neighbourhoods(PATH, PATH, labels, labels, labels + 1, labels, parents)
