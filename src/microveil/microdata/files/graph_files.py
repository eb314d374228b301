"""Graphs in files: a table of nodes and one of edges side by side in a folder, or both in a GraphML or GML file."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError, FileError
from microveil.microdata.edges import Edges
from microveil.microdata.files.atomic import check_folder_path
from microveil.microdata.files.formats import FORMATS, ending_of
from microveil.microdata.files.optional import need
from microveil.microdata.microdata import Microdata

GRAPH_FORMATS = ("graphml", "gml")
NODES, EDGES = "nodes", "edges"
_ENDINGS = tuple(ending for known in FORMATS for ending in known.endings if known.name not in GRAPH_FORMATS)
_NODE = "node"


def names_a_graph_file(path: Path) -> bool:
    """Whether nodes and edges go into one file of this name."""
    return any(ending_of(path) in known.endings for known in FORMATS if known.name in GRAPH_FORMATS)


def new_nodes_file(folder: Path, original: str | Path | None) -> Path:
    """Where the nodes of a graph are written in its folder: as Parquet if the original was, else as CSV."""
    ending = None if original is None else ending_of(Path(original))
    return folder / f"{NODES}{'.parquet' if ending in ('.parquet', '.pq') else '.csv'}"


def nodes_file(folder: Path) -> Path:
    """The table of nodes in a folder that holds a graph; where there is none, as it would be named."""
    found = [folder / f"{NODES}{ending}" for ending in _ENDINGS if isfile(folder / f"{NODES}{ending}")]
    if len(found) > 1:
        raise FileError(folder, f"holds two tables of nodes, {found[0].name} and {found[1].name}; name one of them")
    return found[0] if found else new_nodes_file(folder, None)


def edges_file(nodes: Path) -> Path:
    """The table of edges beside a table of nodes of a folder that holds a graph."""
    return nodes.with_name(EDGES + ending_of(nodes))


def graph_in(folder: Path) -> tuple[Path, Path]:
    """The two tables of a folder that holds a graph."""
    nodes = nodes_file(folder)
    edges = edges_file(nodes)
    if not (isfile(nodes) and isfile(edges)):
        raise FileError(
            folder, f"this is a folder; name a file, or a folder that holds a graph as {nodes.name} and {edges.name}"
        )
    return nodes, edges


def graph_destination(path: Path, original: str | Path | None) -> Path:
    """Where a graph is written: the file that holds it, or the table of nodes in the folder.

    The name of a table is refused, for a graph is two.
    """
    if names_a_graph_file(path):
        return path
    if ending_of(path) in _ENDINGS:
        raise FileError(
            path,
            "a graph is written to a folder, as nodes.csv and edges.csv, or to a file that ends in .graphml or .gml; "
            "name one of these",
        )
    return new_nodes_file(check_folder_path(path), original)


def edge_table(data: Microdata) -> Microdata:
    """The edges of a graph as a table of two columns, which name the nodes as the nodes' own table does.

    They are in the order of these names, so that it tells nothing of the order they were read in.
    """
    if data.edges is None or data.schema.node is None:
        raise DataError("the nodes have no column that edges can name them by; give one with node=")
    ids = data.arrow(data.schema.node)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[pc.array_sort_indices(ids).to_numpy(zero_copy_only=False)] = np.arange(len(ids))
    source, target = data.edges.source, data.edges.target
    low = np.where(rank[source] < rank[target], source, target)
    high = source + target - low
    order = np.lexsort((rank[high], rank[low]))
    ends = {"source": ids.take(pa.array(low[order])), "target": ids.take(pa.array(high[order]))}
    return Microdata.of(ends, origin=data.origin)


# --- networkx ---------------------------------------------------------------------------------------------------------


def from_networkx(graph: Any, **roles_and_kinds: Any) -> Microdata:
    """A networkx graph as microdata: a record for each node with its attributes, and the links between them.

    Directions and attributes of edges are left out; roles and kinds go to `Microdata.of`.
    """
    nodes, edges = _tables_of(graph)
    return Microdata.of(nodes, graph=edges, **{"node": next(iter(nodes)), **roles_and_kinds})


def to_networkx(data: Microdata) -> Any:
    """A graph as networkx has it: nodes go by their ids, or by their record numbers where they have none, and carry
    the other attributes; missing ones are left out."""
    networkx = need("networkx", Path("graph"), "making a networkx graph")
    if data.edges is None:
        raise DataError("the table has no links between its records, so it is no graph")
    node = data.schema.node
    ids: list[Any] = list(range(len(data))) if node is None else data.arrow(node).to_pylist()
    columns = {name: data.arrow(name).to_pylist() for name in data.names if name != node}
    made = networkx.Graph()
    for i, name in enumerate(ids):
        cells = {attribute: cells[i] for attribute, cells in columns.items()}
        made.add_node(name, **{attribute: cell for attribute, cell in cells.items() if not _is_missing(cell)})
    made.add_edges_from((ids[a], ids[b]) for a, b in zip(data.edges.source, data.edges.target, strict=True))
    return made


def _is_missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _tables_of(graph: Any) -> tuple[dict[str, Any], Edges]:
    """The nodes with their attributes as columns, and the edges by the numbers of the nodes."""
    number: dict[Hashable, int] = {node: i for i, node in enumerate(graph.nodes)}
    carried = [cells for _, cells in graph.nodes(data=True)]
    names = list(dict.fromkeys(name for cells in carried for name in cells))
    own = _NODE
    while own in names:
        own = f"{own}_"
    columns: dict[str, Any] = {own: _column(number)}
    columns |= {str(name): _column(cells.get(name) for cells in carried) for name in names}
    ends = np.array([(number[u], number[v]) for u, v, *_ in graph.edges], dtype=np.int64).reshape(-1, 2)
    unused = dict.fromkeys(str(name) for *_, cells in graph.edges(data=True) for name in cells)
    return columns, Edges.of(ends[:, 0], ends[:, 1], len(number), list(unused))


def _column(cells: Iterable[Any]) -> pa.Array:
    """A column of one type; where cells are of several, all of them as text."""
    listed = list(cells)
    try:
        return pa.array(listed)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if cell is None else str(cell) for cell in listed])


def read_graph_file(path: Path, name: str) -> tuple[dict[str, Any], Edges]:
    """Nodes and edges of a GraphML or GML file."""
    networkx = need("networkx", path, "reading a graph file")
    try:
        graph = networkx.read_graphml(path) if name == "graphml" else _read_gml(networkx, path)
    except MemoryError:
        raise
    except Exception as problem:  # the parsers raise whatever their own parts do
        raise FileError(path, f"cannot be read as a graph ({type(problem).__name__})") from None
    if graph.number_of_nodes() == 0:
        raise FileError(path, "the graph has no nodes")
    return _tables_of(graph)


def _read_gml(networkx: Any, path: Path) -> Any:
    """A GML file by the labels of its nodes, or where some have none or the same by their ids."""
    try:
        return networkx.read_gml(path)
    except networkx.NetworkXError as problem:
        if "label" not in str(problem):
            raise
        return networkx.read_gml(path, label="id")


def write_graph_file(data: Microdata, path: Path, staged: Path, name: str) -> None:
    """Write nodes and edges to one file; the same graph always gives the same bytes."""
    networkx = need("networkx", path, "writing a graph file")
    graph = to_networkx(data)
    if name == "graphml":
        networkx.write_graphml_xml(graph, staged)
    else:
        networkx.write_gml(graph, staged, stringizer=str)
