"""Methods that change links: what each keeps and guarantees, also together with profiles in one plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import DataError, ParameterError
from microveil.numerics.graphs.adjacency import adjacency
from microveil.numerics.graphs.automorphism import automorphic_graph

SMALL = mv.datasets.social_network(60, seed=2)


def random_graph(nodes: int, edges: int, seed: int) -> mv.Microdata:
    rng = np.random.default_rng(seed)
    links = mv.graphs.Edges.of(rng.integers(0, nodes, edges), rng.integers(0, nodes, edges), nodes)
    return replace(mv.Microdata.of({"x": np.arange(nodes)}), edges=links)


def edges_of(release: mv.Release) -> mv.graphs.Edges:
    assert release.data.edges is not None
    return release.data.edges


@given(st.integers(6, 40), st.integers(0, 90), st.integers(2, 4), st.booleans(), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_after_k_degree_every_degree_is_shared_by_k_nodes(
    nodes: int, edges: int, k: int, add_only: bool, seed: int
) -> None:
    data = random_graph(nodes, edges, seed)
    release = mv.KDegree(k=k, add_only=add_only).mask(data, seed=1)
    assert min(Counter(edges_of(release).degrees.tolist()).values()) >= k
    if add_only:
        before, after = (
            set(zip(e.source.tolist(), e.target.tolist(), strict=True)) for e in (data.edges, edges_of(release))
        )
        assert before <= after


@given(st.integers(4, 24), st.integers(0, 60), st.integers(2, 4), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_after_k_automorphism_every_neighbourhood_is_that_of_k_nodes(nodes: int, edges: int, k: int, seed: int) -> None:
    data = random_graph(nodes, edges, seed)
    graph = edges_of(mv.KAutomorphism(k=k).mask(data, seed=1)).graph
    alike = np.zeros(nodes, dtype=np.int64)
    found = mv.graphs.equal_neighbourhoods(graph, graph, alike, alike)
    assert found.candidates.min() >= k
    if nodes % k == 0:  # else some nodes lose their links
        assert abs(graph.edges - len(data.edges)) <= k


def test_an_automorphism_moves_every_node_of_a_row_to_the_next() -> None:
    rng = np.random.default_rng(3)
    graph = adjacency(rng.integers(0, 40, 90), rng.integers(0, 40, 90), 40)
    made = automorphic_graph(graph, 4, rng)
    links = set(map(tuple, np.column_stack(mv.graphs.edge_list(made.graph)).tolist()))
    # a shift by one within the rows, in the order of some positions, maps links to links; so all have one degree
    for row in range(made.rows.max() + 1):
        members = np.flatnonzero(made.rows == row)
        assert len({len(made.graph.neighbours(int(node))) for node in members}) == 1
    kept = links & set(map(tuple, np.column_stack(mv.graphs.edge_list(graph)).tolist()))
    assert len(kept) == graph.edges - made.removed
    assert len(links) == len(kept) + made.added


def test_nodes_beyond_a_multiple_of_k_lose_their_links_together() -> None:
    ring = np.arange(7)
    made = automorphic_graph(adjacency(ring, (ring + 1) % 7, 7), 3, np.random.default_rng(1))
    assert made.isolated == 4
    assert (np.diff(made.graph.indptr)[made.rows < 0] == 0).all()


@pytest.mark.parametrize(("k", "words"), [(1, "k = 1"), (8, "7 nodes")])
def test_an_automorphism_that_cannot_be_is_refused(k: int, words: str) -> None:
    with pytest.raises((ParameterError, DataError), match=words):
        automorphic_graph(adjacency(np.arange(6), np.arange(1, 7), 7), k, np.random.default_rng(1))


@pytest.mark.parametrize("share", [0.0, 0.3, 2.0])
def test_swapping_keeps_every_degree(share: float) -> None:
    release = mv.EdgeSwapping(share=share).mask(SMALL, seed=1)
    assert edges_of(release).degrees.tolist() == SMALL.edges.degrees.tolist()
    assert (edges_of(release) == SMALL.edges) == (share == 0)


def test_a_star_allows_no_swap_which_the_release_says() -> None:
    star = mv.Microdata.of({"id": [1, 2, 3, 4]}, graph={"source": [1, 1, 1], "target": [2, 3, 4]})
    notes = mv.EdgeSwapping(share=1).mask(star, seed=1).provenance.notes
    assert "3 exchanges of ends could not be made, for the graph allows no more" in notes


def test_replacement_changes_as_many_links_as_it_says() -> None:
    release = mv.EdgeReplacement(share=0.25).mask(SMALL, seed=1)
    before, after = (
        set(zip(e.source.tolist(), e.target.tolist(), strict=True)) for e in (SMALL.edges, edges_of(release))
    )
    count = round(0.25 * len(before))
    assert len(after) == len(before)
    assert count - len(before - after) <= count // 4  # a deleted one may be drawn again
    assert f"{count} links added and {count} links removed" in release.provenance.notes


@pytest.mark.parametrize("mixing", [None, ("vote",), ("vote", "topic1")])
def test_a_synthetic_graph_has_the_degrees_and_the_mixing(mixing: tuple[str, ...] | None) -> None:
    data = mv.datasets.social_network(300, seed=5, gaps=False)
    release = mv.SyntheticGraph(mixing=mixing).mask(data, seed=1)
    missing = len(data.edges) - len(edges_of(release))
    assert np.abs(edges_of(release).degrees - data.edges.degrees).sum() == 2 * missing
    names = ("home",) if mixing is None else mixing
    assert f"links drawn anew between the classes of {', '.join(names)}" in release.provenance.notes
    codes = np.zeros(len(data), dtype=np.int64)
    for name in names:
        column = data.categories(name)
        codes = codes * len(column.domain) + column.codes
    if mixing == ("vote",):
        assert mv.graphs.aamil(data.edges.graph, codes, codes, edges_of(release).graph) < 0.02


@pytest.mark.parametrize("name", ["age", "id"])
def test_classes_of_other_attributes_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=f"'{name}', which is no categorical attribute"):
        mv.SyntheticGraph(mixing=(name,)).mask(SMALL, seed=1)


def test_without_categories_all_nodes_are_one_class() -> None:
    release = mv.SyntheticGraph().mask(random_graph(20, 30, 1), seed=1)
    assert edges_of(release).degrees.tolist() == random_graph(20, 30, 1).edges.degrees.tolist()


@pytest.mark.spec("06:SG-23", "06:FW-02")
def test_profiles_and_links_are_protected_in_one_plan(tmp_path: Any) -> None:
    plan = mv.Plan((mv.Step("graph-profiles", {"k": 3}), mv.Step("k-degree", {"k": 4})), seed=5)
    release = mv.protect(SMALL, plan)
    assert release.guarantees.k >= 3
    assert min(Counter(edges_of(release).degrees.tolist()).values()) >= 4
    assert [step.attributes for step in release.provenance.steps] == [SMALL.schema.keys, ()]
    again = mv.protect(SMALL, mv.Plan.from_plain(release.plan.to_plain()))
    assert again.data.digest() == release.data.digest()
    saved = release.save(tmp_path / "safe")
    back = mv.read_release(saved.table.parent, SMALL)
    assert back.data.digest() == release.data.digest()


def test_attributes_and_partitions_of_earlier_steps_stay() -> None:
    first = mv.GraphProfiles(k=3).mask(SMALL, seed=5)
    second = mv.KDegree(k=3).mask(first)
    assert second.partitions == first.partitions
    assert all(second.data.same_cells(first.data, name) for name in SMALL.schema.keys)
