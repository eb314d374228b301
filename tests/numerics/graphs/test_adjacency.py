"""Graphs as sparse rows, against sets of pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import DataError, MicroveilError, ParameterError
from microveil.numerics.graphs.adjacency import (
    adjacency,
    clean_edges,
    connected_components,
    degrees,
    edge_list,
    induced,
    largest_component,
)

Edges = list[tuple[int, int]]
NODES = 9
edges_of_few_nodes = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30)


def ends(edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


@given(edges_of_few_nodes)
def test_the_rows_hold_every_edge_of_the_set_twice_in_ascending_order(edges: Edges) -> None:
    wanted = sorted({(min(e), max(e)) for e in edges if e[0] != e[1]})
    graph = adjacency(*ends(edges), NODES)
    assert list(zip(*(end.tolist() for end in edge_list(graph)), strict=True)) == wanted
    for v in range(NODES):
        assert graph.neighbours(v).tolist() == sorted({a + b - v for a, b in wanted if v in (a, b)})
    assert degrees(graph).tolist() == [sum(v in e for e in wanted) for v in range(NODES)]
    assert (graph.nodes, graph.edges) == (NODES, len(wanted))


@given(edges_of_few_nodes)
def test_what_is_dropped_is_counted(edges: Edges) -> None:
    clean = clean_edges(*ends(edges), NODES)
    assert clean.loops == sum(a == b for a, b in edges)
    assert clean.loops + clean.repeated + len(clean.source) == len(edges)
    assert (clean.source < clean.target).all()


def test_the_two_directions_of_a_link_are_one_edge() -> None:
    clean = clean_edges(np.array([0, 1, 1, 2]), np.array([1, 0, 1, 1]), 3)
    assert (clean.source.tolist(), clean.target.tolist()) == ([0, 1], [1, 2])
    assert (clean.loops, clean.repeated) == (1, 1)


@given(edges_of_few_nodes)
def test_edges_once_or_in_both_directions_make_the_same_graph(edges: Edges) -> None:
    source, target = ends(edges)
    once = adjacency(source, target, NODES)
    both = adjacency(np.concatenate([source, target]), np.concatenate([target, source]), NODES)
    assert all(np.array_equal(a, b) for a, b in zip(once, both, strict=True))


@given(edges_of_few_nodes, st.permutations(range(NODES)), st.integers(0, NODES))
def test_an_induced_graph_has_the_edges_among_its_nodes_renumbered(edges: Edges, order: list[int], size: int) -> None:
    graph = adjacency(*ends(edges), NODES)
    nodes = order[:size]
    found = induced(graph, np.array(nodes, dtype=np.int64))
    linked = {(nodes[a], nodes[b]) for a in range(size) for b in found.neighbours(a)}
    assert found.nodes == size
    assert linked == {(a, int(b)) for a in nodes for b in graph.neighbours(a) if b in nodes}
    assert all((np.diff(found.neighbours(a)) > 0).all() for a in range(size))


@given(edges_of_few_nodes)
def test_components_are_numbered_by_their_first_nodes(edges: Edges) -> None:
    labels = list(range(NODES))
    for _ in range(NODES):
        for a, b in edges:
            labels[a] = labels[b] = min(labels[a], labels[b])
    firsts = sorted(set(labels))
    graph = adjacency(*ends(edges), NODES)
    assert connected_components(graph).tolist() == [firsts.index(label) for label in labels]
    sizes = [labels.count(first) for first in firsts]
    largest = firsts[sizes.index(max(sizes))]
    assert largest_component(graph).tolist() == [v for v in range(NODES) if labels[v] == largest]


@pytest.mark.parametrize("nodes", [0, 3])
def test_a_graph_without_edges(nodes: int) -> None:
    none = np.array([])
    graph = adjacency(none, none, nodes)
    assert (graph.nodes, graph.edges) == (nodes, 0)
    assert connected_components(graph).tolist() == list(range(nodes))
    assert largest_component(graph).tolist() == list(range(min(1, nodes)))
    assert degrees(graph).tolist() == [0] * nodes


def test_narrow_and_unsigned_numbers_of_nodes_are_read_as_they_are() -> None:
    source, target = np.array([200, 250], dtype=np.uint8), np.array([255, 200], dtype=np.uint64)
    assert edge_list(adjacency(source, target, 256))[1].tolist() == [250, 255]


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: adjacency(np.array([0]), np.array([3]), 3), DataError, "does not exist; the graph has 3 nodes"),
        (lambda: adjacency(np.array([-1]), np.array([0]), 3), DataError, "does not exist"),
        (lambda: adjacency(np.array([0]), np.array([0]), 0), DataError, "no nodes"),
        (lambda: adjacency(np.array([0, 1]), np.array([1]), 3), DataError, "equal length"),
        (lambda: adjacency(np.zeros((1, 2), dtype=int), np.zeros((1, 2), dtype=int), 3), DataError, "two columns"),
        (lambda: adjacency(np.array([0.5]), np.array([1.0]), 3), DataError, "whole numbers"),
        (lambda: adjacency(np.array([], dtype=int), np.array([], dtype=int), -1), ParameterError, "nodes = -1"),
        (lambda: induced(adjacency(np.array([0]), np.array([1]), 2), np.array([2])), ParameterError, "does not exist"),
        (lambda: induced(adjacency(np.array([0]), np.array([1]), 2), np.array([1, 1])), ParameterError, "twice"),
    ],
)
def test_what_is_no_graph_is_refused_in_a_sentence(
    call: Callable[[], object], error: type[MicroveilError], told: str
) -> None:
    with pytest.raises(error, match=told):
        call()
