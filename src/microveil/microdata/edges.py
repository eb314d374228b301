"""The links between the records of a table, which make it a graph whose nodes are the records."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError, SchemaError
from microveil.microdata.frames import Frame, arrow_column, open_frame
from microveil.typing import IntArray

if TYPE_CHECKING:
    from microveil.numerics.graphs.adjacency import Adjacency

# the two columns of a table of edges, and the column of a table of nodes that the edges name, where none is declared
_ENDS = (("source", "target"), ("from", "to"), ("node1", "node2"), ("u", "v"))
_NODES = ("node", "node_id", "id", "user", "user_id")


@dataclass(frozen=True, eq=False)
class Edges:
    """An undirected simple graph over the records of a table. Immutable.

    `source` and `target` are record numbers from 0, source < target, ascending. `loops` and `repeated` are how many
    self-loops and repeated edges were left out when it was made, where the second direction of a link counts as
    repeated; `unused` are the columns of the table of edges beside the two ends.

    >>> links = Edges.of([0, 1, 2, 2], [1, 0, 2, 1], 3)
    >>> links, links.loops, links.repeated, links.degrees.tolist()
    (Edges(3 nodes, 2 edges), 1, 1, [1, 2, 1])
    """

    source: IntArray
    target: IntArray
    nodes: int
    loops: int = 0
    repeated: int = 0
    unused: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: npt.ArrayLike, target: npt.ArrayLike, nodes: int, unused: Sequence[str] = ()) -> Edges:
        """From the record numbers of the two ends of each edge, in any order."""
        from microveil.numerics.graphs.adjacency import clean_edges

        clean = clean_edges(np.asarray(source), np.asarray(target), nodes)
        return cls(_kept(clean.source), _kept(clean.target), nodes, clean.loops, clean.repeated, tuple(unused))

    @classmethod
    def of_graph(cls, graph: Adjacency) -> Edges:
        """The edges of a graph that is there as compressed sparse rows."""
        from microveil.numerics.graphs.adjacency import edge_list

        source, target = edge_list(graph)
        return cls(_kept(source), _kept(target), graph.nodes)

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        return f"Edges({self.nodes:,} nodes, {len(self):,} edges)"

    def __eq__(self, other: object) -> bool:
        """Whether both have the same edges between as many nodes."""
        return (
            isinstance(other, Edges)
            and self.nodes == other.nodes
            and np.array_equal(self.source, other.source)
            and np.array_equal(self.target, other.target)
        )

    def __hash__(self) -> int:
        return hash((self.nodes, len(self)))

    @cached_property
    def graph(self) -> Adjacency:
        """The same as compressed sparse rows."""
        from microveil.numerics.graphs.adjacency import adjacency

        return adjacency(self.source, self.target, self.nodes)

    @cached_property
    def degrees(self) -> IntArray:
        """How many neighbours each node has."""
        return _kept(np.bincount(np.concatenate([self.source, self.target]), minlength=self.nodes).astype(np.int64))

    def between(self, records: int) -> Edges:
        """The same where it is about so many records; otherwise refused."""
        if self.nodes != records:
            raise DataError(f"the edges are of {self.nodes:,} nodes, and the table has {records:,} records")
        return self

    def take(self, rows: IntArray) -> Edges:
        """The edges among some of the records, each named once, which are numbered in this order.

        >>> Edges.of([0, 1], [1, 2], 3).take(np.array([2, 1])).source.tolist()
        [0]
        """
        number = np.full(self.nodes, -1, dtype=np.int64)
        number[rows] = np.arange(len(rows))
        if len(np.unique(rows)) < len(rows):
            raise DataError("a node cannot be taken twice")
        source, target = number[self.source], number[self.target]
        inside = (source >= 0) & (target >= 0)
        return Edges.of(source[inside], target[inside], len(rows))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out when the table of edges was read."""
        told = []
        if self.loops:
            told.append(f"{self.loops:,} self-loop{'s' if self.loops > 1 else ''} left out")
        if self.repeated:
            edges = "1 edge repeats another" if self.repeated == 1 else f"{self.repeated:,} edges repeat others"
            told.append(f"{edges}, maybe in the other direction, and count once: links have no direction")
        if self.unused:
            told.append(f"columns of the edges that are not used and not released: {', '.join(self.unused)}")
        return tuple(told)

    def digest(self) -> str:
        """A SHA-256 over the edges, the same for every order and direction in which they are given."""
        seal = hashlib.sha256(f"{self.nodes}:{len(self)}".encode())
        for ends in (self.source, self.target):
            seal.update(np.ascontiguousarray(ends, dtype="<i8").tobytes())
        return seal.hexdigest()


def edges_of(table: Any, ids: pa.Array, node: str) -> Edges:
    """The edges in a table with a row for each, whose ends are named as the nodes are in the column `node`.

    The ends are the columns source and target, or from and to, else the first two.

    >>> edges_of({"from": ["b", "c"], "to": ["a", "b"]}, pa.array(["a", "b", "c"]), "name").source.tolist()
    [0, 1]
    """
    if isinstance(table, Edges):
        return table.between(len(ids))
    _check_ids(ids, node)
    frame = open_frame(table)
    ends = _ends(frame)
    source, target = (_positions(arrow_column(frame, end), ids, end, node) for end in ends)
    return Edges.of(source, target, len(ids), [name for name in frame.columns if name not in ends])


def node_column(frame: Frame) -> str:
    """The column of a table of nodes that the edges name, where none is declared: node or id, else the first one."""
    by_name = {name.lower(): name for name in reversed(frame.columns)}
    named = next((by_name[name] for name in _NODES if name in by_name), None)
    if named is None and not frame.columns:
        raise SchemaError("the table of nodes has no columns")
    return named or frame.columns[0]


def _ends(frame: Frame) -> tuple[str, str]:
    by_name = {name.lower(): name for name in reversed(frame.columns)}
    for one, other in _ENDS:
        if one in by_name and other in by_name:
            return by_name[one], by_name[other]
    if len(frame.columns) < 2:
        raise DataError("a table of edges needs two columns, one for each end, such as source and target")
    return frame.columns[0], frame.columns[1]


def _check_ids(ids: pa.Array, node: str) -> None:
    if ids.null_count:
        first = int(np.flatnonzero(ids.is_null().to_numpy(zero_copy_only=False))[0]) + 1
        raise DataError(f"the node column '{node}' is empty in {ids.null_count:,} records (the first is {first:,})")
    distinct = pc.count_distinct(ids).as_py()
    if distinct < len(ids):
        raise DataError(
            f"the node column '{node}' has {len(ids):,} records and only {distinct:,} different nodes; every node has "
            "one record, and another column is named as the node with --node or node="
        )


def _positions(ends: pa.Array, ids: pa.Array, end: str, node: str) -> IntArray:
    """The record of each end."""
    whole = all(pa.types.is_integer(column.type) for column in (ends, ids))
    ends, ids = (column.cast(pa.int64()) if whole else _as_text(column) for column in (ends, ids))
    found = pc.index_in(ends, value_set=ids)
    unknown = found.is_null().to_numpy(zero_copy_only=False)
    if unknown.any():
        what = "lead to nodes" if unknown.sum() > 1 else "leads to a node"
        edges = f"{int(unknown.sum()):,} edge{'s' if unknown.sum() > 1 else ''}"
        raise DataError(
            f"{edges} {what} that the table of nodes does not have (the first is edge {int(unknown.argmax()) + 1:,}, "
            f"by its column '{end}' and the node column '{node}'); add these nodes or leave the edges out"
        )
    return np.asarray(found.to_numpy(zero_copy_only=False)).astype(np.int64)


def _as_text(column: pa.Array) -> pa.Array:
    """Names of nodes as text, in which the whole numbers 7 and 7.0 are the same."""
    if pa.types.is_floating(column.type):
        whole = pc.equal(pc.floor(column), column)
        if pc.all(whole.fill_null(True)).as_py():
            column = column.cast(pa.int64())
    return column.cast(pa.large_string())


def _kept(array: IntArray) -> IntArray:
    array = np.ascontiguousarray(array, dtype=np.int64)
    array.flags.writeable = False
    return array
