"""Graphs in files: folders with nodes and edges, GraphML and GML, and networkx."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import microveil as mv
from microveil.errors import FileError, MicroveilError, OutputExistsError

NETWORK = mv.datasets.social_network(40, seed=3)


def links(data: mv.Microdata) -> set[frozenset[object]]:
    """The links by what they link, in the words of the nodes' other attributes where ids are new ones."""
    assert data.edges is not None
    ids = data.arrow(data.schema.node).to_pylist()
    return {frozenset((str(ids[a]), str(ids[b]))) for a, b in zip(data.edges.source, data.edges.target, strict=True)}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_graph_is_written_to_a_folder_and_read_back(tmp_path: Path, ending: str) -> None:
    mv.write(NETWORK, tmp_path / "csv")
    assert sorted(file.name for file in (tmp_path / "csv").iterdir()) == ["edges.csv", "nodes.csv"]
    back = mv.read(tmp_path / "csv", schema=NETWORK.schema)
    assert back.edges == NETWORK.edges
    assert back.digest() == NETWORK.digest()
    if ending == "parquet":
        table = mv.Microdata.of(NETWORK.frame, NETWORK.schema)
        mv.write(table, tmp_path / "people.parquet")
        again = mv.read(tmp_path / "people.parquet", graph=tmp_path / "csv" / "edges.csv")
        mv.write(again, tmp_path / "folder")
        assert sorted(file.name for file in (tmp_path / "folder").iterdir()) == ["edges.parquet", "nodes.parquet"]
        assert mv.read(tmp_path / "folder").edges == NETWORK.edges


def test_edges_are_written_in_the_order_of_their_names_and_tell_no_other(tmp_path: Path) -> None:
    mv.write(NETWORK, tmp_path / "one")
    mv.write(NETWORK.take(np.arange(39, -1, -1)), tmp_path / "two")
    assert (tmp_path / "one" / "edges.csv").read_bytes() == (tmp_path / "two" / "edges.csv").read_bytes()


@pytest.mark.parametrize("ending", ["graphml", "gml"])
def test_graph_files_hold_nodes_and_edges(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"network.{ending}"
    mv.write(NETWORK, path)
    back = mv.read(path, keys=["home", "age"])
    assert links(back) == links(NETWORK)
    assert back.schema.node == "node"
    assert sorted(map(str, back.arrow("vote").to_pylist())) == sorted(NETWORK.arrow("vote").to_pylist())
    first = path.read_bytes()
    mv.write(NETWORK, path, force=True)
    assert path.read_bytes() == first


def test_a_networkx_graph_comes_and_goes_with_its_attributes() -> None:
    graph = nx.DiGraph()
    graph.add_node("a", age=30, job="cook")
    graph.add_node("b", age=40)
    graph.add_edges_from([("a", "b"), ("b", "a"), ("b", "b")], weight=2)
    data = mv.graphs.from_networkx(graph, keys=["age"])
    assert data.native.to_pydict() == {"node": ["a", "b"], "age": [30, 40], "job": ["cook", None]}
    assert data.edges is not None
    assert (len(data.edges), data.edges.loops, data.edges.repeated, data.edges.unused) == (1, 1, 1, ("weight",))
    back = mv.graphs.to_networkx(data)
    assert dict(back.nodes(data=True)) == {"a": {"age": 30, "job": "cook"}, "b": {"age": 40}}
    assert set(map(frozenset, back.edges)) == {frozenset("ab")}


def test_cells_of_several_types_become_text() -> None:
    graph = nx.Graph()
    graph.add_node(1, x="a")
    graph.add_node("2", x=3)
    assert mv.graphs.from_networkx(graph).native.to_pydict() == {"node": ["1", "2"], "x": ["a", "3"]}


def test_a_column_called_node_is_not_overwritten() -> None:
    graph = nx.Graph()
    graph.add_node(1, node="x")
    assert mv.graphs.from_networkx(graph).schema.node == "node_"


def test_a_release_of_a_graph_is_saved_and_read_back(tmp_path: Path) -> None:
    release = mv.GraphProfiles(k=4).mask(NETWORK, seed=2**90)
    saved = release.save(tmp_path / "safe")
    assert (saved.table, saved.edges) == (tmp_path / "safe" / "nodes.csv", tmp_path / "safe" / "edges.csv")
    back = mv.read_release(tmp_path / "safe", NETWORK)
    assert back.data.digest() == release.data.digest()
    assert back.partitions == release.partitions
    manifest = json.loads(saved.manifest.read_text())
    assert manifest["output"]["edges"] == len(NETWORK.edges)
    with pytest.raises(OutputExistsError):
        release.save(tmp_path / "safe")
    release.save(tmp_path / "safe", force=True)


def test_a_release_of_a_graph_goes_into_one_file_too(tmp_path: Path) -> None:
    release = mv.GraphProfiles(k=4).mask(NETWORK, seed=2**90)
    saved = release.save(tmp_path / "safe.graphml")
    assert saved.edges is None
    back = mv.read_release(tmp_path / "safe.graphml", NETWORK)
    assert links(back.data) == links(release.data)


def test_edges_that_were_changed_since_are_refused(tmp_path: Path) -> None:
    saved = mv.GraphProfiles(k=4).mask(NETWORK, seed=1).save(tmp_path / "safe")
    assert saved.edges is not None
    saved.edges.write_text(saved.edges.read_text() + "1,2\n")
    with pytest.raises(FileError, match="is not the file its manifest was written for"):
        mv.read_release(tmp_path / "safe", NETWORK)


@pytest.mark.parametrize("name", ["safe.csv", "safe.parquet"])
def test_a_graph_is_no_table(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="written to a folder"):
        mv.write(NETWORK, tmp_path / name)
    with pytest.raises(FileError, match="written to a folder"):
        mv.KDegree(k=2).mask(NETWORK, seed=1).save(tmp_path / name)


def test_a_table_is_no_graph(tmp_path: Path) -> None:
    table = mv.Microdata.of({"a": [1, 2]})
    with pytest.raises(MicroveilError, match="no graph"):
        mv.write(table, tmp_path / "safe.graphml")
    with pytest.raises(MicroveilError, match="no graph"):
        mv.graphs.to_networkx(table)


def test_a_folder_without_a_graph_or_with_two_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="name a file, or a folder that holds a graph"):
        mv.read(tmp_path)
    for ending in ("csv", "parquet"):
        (tmp_path / f"nodes.{ending}").write_text("id\n1\n")
    with pytest.raises(FileError, match="two tables of nodes"):
        mv.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.graphml", "<graphml", "cannot be read as a graph"),
        ("a.gml", "graph [ node [ id", "cannot be read as a graph"),
        ("a.graphml", '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph/></graphml>', "no nodes"),
        ("a.gml", "", "empty"),
    ],
)
def test_damaged_graph_files_are_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=words):
        mv.read(tmp_path / name)


def test_nodes_without_a_column_for_them_cannot_be_written(tmp_path: Path) -> None:
    data = mv.Microdata.of({"x": [1, 2]}, graph=mv.graphs.Edges.of([0], [1], 2))
    with pytest.raises(MicroveilError, match="no column that edges can name them by"):
        mv.write(data, tmp_path / "folder")
