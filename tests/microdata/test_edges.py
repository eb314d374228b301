"""Links between the records of a table: what is read, what is left out and said, what is refused, and what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microveil as mv
from microveil.errors import DataError, MicroveilError, SchemaError
from microveil.microdata.edges import Edges

NODES = {"name": ["ann", "bob", "cid", "dot"], "age": [20, 30, 40, 50]}
LINKS = {"source": ["bob", "cid", "ann"], "target": ["ann", "bob", "bob"]}


def test_ends_are_named_as_the_nodes_are() -> None:
    data = mv.Microdata.of(NODES, graph=LINKS, node="name")
    assert data.edges is not None
    assert data.edges.source.tolist() == [0, 1]
    assert data.edges.target.tolist() == [1, 2]
    assert data.edges.degrees.tolist() == [1, 2, 1, 0]
    assert data.schema.node == "name"


@pytest.mark.parametrize("make", [dict, pa.table, pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("names", [("from", "to"), ("SOURCE", "Target"), ("x", "y")])
def test_edges_come_in_any_frame_and_by_any_usual_names(make: Any, names: tuple[str, str]) -> None:
    table = make(dict(zip(names, LINKS.values(), strict=True)))
    assert mv.Microdata.of(NODES, graph=table, node="name").edges == mv.Microdata.of(NODES, graph=LINKS).edges


@pytest.mark.parametrize(
    ("columns", "node"),
    [(("x", "id"), "id"), (("Node", "id"), "Node"), (("x", "y"), "x"), (("user", "x"), "user")],
)
def test_a_node_that_is_not_named_is_found_by_its_name(columns: tuple[str, str], node: str) -> None:
    data = mv.Microdata.of({name: [1, 2, 3] for name in columns}, graph={"a": [1], "b": [3]})
    assert data.schema.node == node


@pytest.mark.parametrize(
    ("nodes", "links"),
    [
        ([1, 2, 3], ["1", "3"]),
        (["1", "2", "3"], [1.0, 3.0]),
        ([1.0, 2.0, 3.0], [1, 3]),
        (pa.array([1, 2, 3], pa.uint8()), [1, 3]),
    ],
)
def test_numbers_and_digits_name_the_same_node(nodes: Any, links: Any) -> None:
    edges = mv.Microdata.of({"id": nodes}, graph={"u": links[:1], "v": links[1:]}).edges
    assert edges is not None
    assert (edges.source.tolist(), edges.target.tolist()) == ([0], [2])


def test_loops_repetitions_and_directions_are_left_out_and_said() -> None:
    links = {"u": ["ann", "ann", "bob", "cid"], "v": ["bob", "bob", "ann", "cid"], "since": [1, 2, 3, 4], "w": [1] * 4}
    edges = mv.Microdata.of(NODES, graph=links).edges
    assert edges is not None
    assert (len(edges), edges.loops, edges.repeated, edges.unused) == (1, 1, 2, ("since", "w"))
    assert edges.notes == (
        "1 self-loop left out",
        "2 edges repeat others, maybe in the other direction, and count once: links have no direction",
        "columns of the edges that are not used and not released: since, w",
    )


@pytest.mark.parametrize(
    ("nodes", "links", "words"),
    [
        (NODES, {"u": ["ann", "eve"], "v": ["bob", "bob"]}, r"1 edge leads to a node .* \(the first is edge 2"),
        (NODES, {"u": ["eve", None], "v": ["bob", "bob"]}, r"2 edges lead to nodes .* \(the first is edge 1"),
        (NODES, {"u": ["ann"]}, "needs two columns"),
        ({"id": [1, 1, 2]}, {"u": [1], "v": [2]}, "only 2 different nodes"),
        ({"id": [1, None, 2]}, {"u": [1], "v": [2]}, r"empty in 1 records \(the first is 2\)"),
        (NODES, Edges.of([0], [1], 9), "9 nodes, and the table has 4 records"),
        (NODES, "edges.csv", "must be a pandas"),
    ],
)
def test_what_makes_no_graph_is_refused_in_a_sentence(nodes: Any, links: Any, words: str) -> None:
    with pytest.raises(MicroveilError, match=words) as refusal:
        mv.Microdata.of(nodes, graph=links)
    assert "\n" not in str(refusal.value)


def test_a_node_with_another_role_is_refused() -> None:
    with pytest.raises(SchemaError, match="cannot be the identifier too"):
        mv.Microdata.of(NODES, identifiers=["name"], graph=LINKS)
    with pytest.raises(SchemaError, match="only one attribute can be the node"):
        mv.Schema([mv.Attribute(name=name, kind="nominal", roles=("node",)) for name in "ab"])


def test_series_have_no_links() -> None:
    with pytest.raises(SchemaError, match="cannot have links"):
        mv.Microdata.of({"a": [1, 2], "b": [3, 4]}, series="wide", graph={"u": [1], "v": [2]})


def test_links_stay_with_their_records() -> None:
    data = mv.Microdata.of(NODES, graph=LINKS)
    taken = data.take(np.array([3, 2, 1]))
    assert taken.edges is not None
    assert (taken.edges.source.tolist(), taken.edges.target.tolist()) == ([1], [2])
    for other in (data.select(["age", "name"]), data.with_schema(data.schema), data.without(["age"])):
        assert other.edges == data.edges
    with pytest.raises(DataError, match="taken twice"):
        data.take(np.array([0, 0]))


def test_links_are_part_of_the_digest() -> None:
    one = mv.Microdata.of(NODES, graph=LINKS)
    other = mv.Microdata.of(NODES, graph={"u": ["ann"], "v": ["dot"]})
    mirrored = mv.Microdata.of(NODES, graph={"v": LINKS["source"][::-1], "u": LINKS["target"][::-1]})
    assert one.digest() == mirrored.digest()
    assert len({one.digest(), other.digest(), mv.Microdata.of(NODES).digest()}) == 3


def test_a_release_has_other_numbers_for_its_nodes_and_keeps_their_links() -> None:
    data = mv.datasets.social_network(50, seed=1)
    release = mv.Noise().mask(data, ["age"], seed=2**99)
    ids = release.data.arrow("id").to_pylist()
    assert sorted(ids) == list(range(1, 51))
    assert ids != data.arrow("id").to_pylist()
    assert release.data.edges == data.edges
    assert any("nodes renumbered" in note for note in release.provenance.notes)
    with pytest.raises(SchemaError, match="the number of the node"):
        mv.PRAM().mask(data, ["id"])


def test_a_sample_has_the_links_among_its_nodes_and_shuffled_nodes_keep_theirs() -> None:
    data = mv.datasets.social_network(80, seed=1)
    sample = mv.Sampling(share=0.5).mask(data, ["age"], seed=3)
    assert sample.rows is not None
    assert sample.data.edges == data.edges.take(sample.rows)
    shuffled = mv.Noise().mask(data, ["age"], seed=3).shuffled()
    assert shuffled.data.edges == data.edges.take(shuffled.rows)


def test_a_description_counts_links() -> None:
    found = mv.describe(mv.Microdata.of(NODES, graph=LINKS))
    assert found.heading == (
        "4 nodes, 2 attributes, 2 edges; 1.00 edges a node on average, 2 at most, 1 node without any"
    )
    assert found.to_plain()["edges"] == 2


@pytest.mark.parametrize(("persons", "friends"), [(1, 5.0), (2, 5.0), (30, 0.0), (500, 12.0)])
def test_a_fictional_network_has_any_size(persons: int, friends: float) -> None:
    network = mv.datasets.social_network(persons, friends=friends, seed=7)
    assert network.edges is not None
    assert (len(network), network.edges.nodes) == (persons, persons)
    assert len(network.edges) <= persons * (friends + 4) / 2
    assert network.digest() == mv.datasets.social_network(persons, friends=friends, seed=7).digest()


def test_friends_of_the_fictional_network_are_alike() -> None:
    network = mv.datasets.social_network(800, seed=7, gaps=False)
    for name in ("home", "topic1", "vote"):
        codes = network.categories(name).codes
        assert mv.graphs.assortativity(network.edges.graph, codes) > 0.05
