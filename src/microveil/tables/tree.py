"""The categories of one dimension of a table as a tree: every category has a parent, and the total is the root."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from microveil.errors import DataError, FileError, SchemaError, shortened
from microveil.microdata.files.inputs import read_text
from microveil.microdata.hierarchy import Hierarchy, Intervals
from microveil.typing import IntArray

TOTAL = "Total"
MISSING = "(missing)"
_EVERYTHING = ("*", "total", "all")  # how hierarchies call their root
_INDENTED = re.compile(r"^(@*)(.*)$")


@dataclass(frozen=True)
class Tree:
    """A dimension: the names of its nodes, each after its parent, and the position of each one's parent.

    Node 0 is the total, and has no parent (-1).

    >>> size = Tree.of("size", [("small",), ("large",)])
    >>> size.nodes, size.parents.tolist(), size.depth.tolist()
    (('Total', 'small', 'large'), [-1, 0, 0], [0, 1, 1])
    """

    name: str
    nodes: tuple[str, ...]
    parents: IntArray

    @classmethod
    def of(cls, name: str, paths: Iterable[Sequence[str]], total: str = TOTAL) -> Tree:
        """Of a path for each category, from below the total down to the category; a node that repeats is one node."""
        position, parents, seen = {total: 0}, [-1], {total: -1}
        for path in paths:
            above = 0
            for node in path:
                if node not in position:
                    position[node] = len(parents)
                    seen[node] = above
                    parents.append(above)
                elif position[node] != above and seen[node] != above:
                    raise SchemaError(
                        f"dimension '{shortened(name)}': '{shortened(node)}' stands at two places of its hierarchy; "
                        "give the nodes different names"
                    )
                above = position[node]
        return cls(name, tuple(position), np.array(parents, dtype=np.int64))

    @classmethod
    def of_hierarchy(cls, name: str, hierarchy: Hierarchy | Intervals, total: str = TOTAL) -> Tree:
        """Of a generalisation hierarchy; of intervals the finest level are the categories."""
        if isinstance(hierarchy, Hierarchy):
            paths = [tuple(reversed(path)) for path in hierarchy.paths]
        else:
            inside = [_inside(hierarchy, place) for place in range(len(hierarchy.cuts[0]) + 1)]
            levels = range(len(hierarchy.cuts), 0, -1)
            paths = [tuple(hierarchy.generalise(number, level) for level in levels) for number in inside]
        return cls.of(name, without_root(paths, total), total)

    @cached_property
    def position(self) -> dict[str, int]:
        return {node: i for i, node in enumerate(self.nodes)}

    @cached_property
    def depth(self) -> IntArray:
        """How many steps each node lies below the total."""
        depth = np.zeros(len(self.nodes), dtype=np.int64)
        for node in range(1, len(self.nodes)):  # a parent stands before its children
            depth[node] = depth[self.parents[node]] + 1
        return depth

    @cached_property
    def is_parent(self) -> IntArray:
        """The number of children of each node."""
        return np.bincount(self.parents[1:], minlength=len(self.nodes)).astype(np.int64)

    @cached_property
    def ancestors(self) -> IntArray:
        """For each node (row) its ancestor at each depth (column), itself included; -1 below itself."""
        made = np.full((len(self.nodes), int(self.depth.max(initial=0)) + 1), -1, dtype=np.int64)
        for node in range(len(self.nodes)):
            if node:
                made[node] = made[self.parents[node]]
            made[node, self.depth[node]] = node
        return made

    def codes(self, names: Iterable[str]) -> IntArray:
        """The positions of nodes; a name that is none is refused."""
        listed = list(names)
        found = np.array([self.position.get(name, -1) for name in listed], dtype=np.int64)
        if (found < 0).any():
            lacking = sorted({listed[i] for i in np.flatnonzero(found < 0)})
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise DataError(
                f"the hierarchy of '{shortened(self.name)}' has no place for the category "
                f"'{shortened(lacking[0])}'{more}; add them to it"
            )
        return found

    def with_leaf(self, name: str, parent: int = 0) -> Tree:
        """The tree with one more category below a node, unless it is there."""
        if name in self.position:
            return self
        return Tree(self.name, (*self.nodes, name), np.append(self.parents, parent))


def _inside(hierarchy: Intervals, place: int) -> float:
    """A number inside one interval of the finest level."""
    cuts = hierarchy.cuts[0]
    return cuts[place - 1] if place else cuts[0] - 1.0 if cuts else 0.0


def without_root(paths: Sequence[tuple[str, ...]], total: str) -> list[tuple[str, ...]]:
    """Paths without their first node where that is the total: one for all, by any of the names that it goes by."""
    first = {path[0] for path in paths if path}
    named = len(first) == 1 and next(iter(first)).lower() in (*_EVERYTHING, total.lower())
    return [path[1:] for path in paths] if named else list(paths)


def read_paths(path: str | Path, occurring: Collection[str]) -> list[tuple[str, ...]]:
    """The paths of a hierarchy file, each from the coarsest node down.

    A file has a row for each category with a column for each level, from the finest to the coarsest or the reverse,
    with or without a row of headings; or, ending in .hrc, one node in each line with an @ for each level above it.
    """
    path = Path(path)
    try:
        text = read_text(path)
    except UnicodeDecodeError:
        raise FileError(path, "cannot be read as a hierarchy (it is not UTF-8 text)") from None
    rows = _indented(path, text) if path.name.lower().endswith(".hrc") else _columns(path, text, set(occurring))
    if not rows:
        raise FileError(path, "this hierarchy has no categories")
    return rows


def _columns(path: Path, text: str, occurring: set[str]) -> list[tuple[str, ...]]:
    unquoted = re.sub(r'"[^"]*"', "", text).split("\n", 1)[0]
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=max(",;\t", key=unquoted.count)) if row]
    except csv.Error:
        raise FileError(path, "cannot be read as a hierarchy (it is not a CSV file)") from None
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise FileError(path, f"row {number} has {len(row)} levels where the first has {len(rows[0])}", line=number)
        if not all(cell.strip() for cell in row):
            raise FileError(path, "a category is empty", line=number)
    below = {cell for row in rows[1:] for cell in row}
    if rows and below & occurring and not set(rows[0]) & (below | occurring):
        rows = rows[1:]  # headings name no category
    distinct = [len(set(column)) for column in zip(*rows, strict=True)]
    return [tuple(row) if distinct[0] <= distinct[-1] else tuple(reversed(row)) for row in rows]


def _indented(path: Path, text: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    above: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        marks, node = _INDENTED.match(line.strip()).groups()  # type: ignore[union-attr]
        if not node.strip():
            continue
        if len(marks) > len(above):
            raise FileError(path, "a node lies more than one level below the one before it", line=number)
        above = [*above[: len(marks)], node.strip()]
        rows.append(tuple(above))
    return rows
