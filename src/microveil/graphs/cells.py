"""The attributes of nodes before and after masking as codes, and an order of nodes that the file does not decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from microveil.comparison.common_codes import common_codes
from microveil.comparison.drawing import content_of
from microveil.comparison.labels import described
from microveil.comparison.pairs import Pair
from microveil.microdata.ancestry import HierarchyTree
from microveil.microdata.edges import Edges
from microveil.microdata.hierarchy import Hierarchy, node_text
from microveil.microdata.microdata import encoded
from microveil.numerics.core.content_hash import content_uniforms
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.graphs.adjacency import Adjacency
from microveil.numerics.graphs.neighbourhoods import node_colours
from microveil.typing import IntArray

MISSING = "a missing cell is a category like any other"
_ROUNDS = 4  # of looking at neighbours: as far as nodes of social networks are from each other


@dataclass(frozen=True)
class Cells:
    """Both columns of an attribute as codes from 0, equal where the cells are. With a `tree`, codes below the number of
    its labels are its nodes, and a cell and a label that stand for the same place are equal."""

    before: IntArray
    after: IntArray
    tree: HierarchyTree | None = None


def graphs_of(pair: Pair) -> tuple[Adjacency, Adjacency]:
    """The links of both tables, which an attack or loss of graphs has been promised."""
    before, after = _edges(pair)
    return before.graph, after.graph


def cells_of(pair: Pair, name: str) -> Cells:
    """The cells of an attribute as they are compared; every way to be missing is a category of its own."""
    return pair.workings.once(("cells of nodes", name), lambda: _read(pair, name))


def _read(pair: Pair, name: str) -> Cells:
    known = pair.original[name]
    if known.kind == "numeric" and name not in pair.recoded:
        return _numbers(pair, name)
    # reading the cells refuses missing ones where the schema says so
    _ = pair.original.numbers(name) if known.kind == "numeric" else pair.categories(name)
    columns = pair.original.arrow(name), pair.masked.arrow(name)
    tree = tree_of(pair, name)
    if tree is None:
        before, after = common_codes(*columns)
        return Cells(before + 1, after + 1)
    others: dict[str | None, int] = {}
    before, after = (_places(column, tree, others) for column in columns)
    return Cells(before, after, tree)


def tree_of(pair: Pair, name: str) -> HierarchyTree | None:
    """The tree that a categorical attribute has by its hierarchy."""
    known = pair.original[name]
    found = known.hierarchy or described(pair, name).hierarchy
    if not known.is_categorical or not isinstance(found, Hierarchy):
        return None
    return pair.workings.once(("tree", name), lambda: HierarchyTree.of(found))


def labels_of_nodes(columns: Sequence[tuple[IntArray, IntArray]], nodes: int) -> tuple[IntArray, IntArray]:
    """One number for what each node has in all of these columns, before and after masking."""
    if not columns:
        return np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    numbers = number_rows([np.concatenate(sides) for sides in columns])[0]
    return numbers[:nodes], numbers[nodes:]


def order_of_nodes(pair: Pair, attributes: Sequence[str] = ()) -> IntArray:
    """The nodes in an order by what these attributes and the links say of them, whatever their order in the file.

    Draws are made in this order, so that they do not depend on that of the file. Nodes that nothing tells apart within
    a few steps are left as they come, for which of them is drawn makes no difference.
    """
    before, after = graphs_of(pair)
    labels = np.zeros(len(pair), dtype=np.int64)
    if attributes:
        alike = content_uniforms(content_of(pair, attributes), seed=0)
        labels = np.unique(alike, return_inverse=True)[1].reshape(-1).astype(np.int64)
    colours = node_colours(before, labels, _ROUNDS)  # first, so that releases of one graph are attacked alike
    return np.lexsort((node_colours(after, colours, _ROUNDS), colours)).astype(np.int64)


def in_order(pair: Pair, order: IntArray) -> tuple[Adjacency, Adjacency]:
    """The links of both tables with the nodes numbered in this order."""
    before, after = _edges(pair)
    return before.take(order).graph, after.take(order).graph


def _edges(pair: Pair) -> tuple[Edges, Edges]:
    assert pair.original.edges is not None
    assert pair.masked.edges is not None
    return pair.original.edges, pair.masked.edges


def classed_numbers(pair: Pair, name: str, classes: int) -> tuple[IntArray, IntArray]:
    """The codes of a numeric attribute: as it is where masking left most numbers alone, else by which of so many equal
    parts of the true ones they lie in."""
    before, after = (side.values for side in pair.numbers(name))
    cells = _numbers(pair, name)
    both = ~(np.isnan(before) | np.isnan(after))
    if 2 * (before[both] == after[both]).sum() >= both.sum():
        return cells.before, cells.after
    cuts = np.quantile(before[~np.isnan(before)], np.arange(1, classes) / classes)
    last = int(max(cells.before.max(initial=0), cells.after.max(initial=0)))
    found = [
        np.where(np.isnan(values), classes + last - codes, np.searchsorted(cuts, values, side="right"))
        for values, codes in ((before, cells.before), (after, cells.after))
    ]
    return found[0], found[1]


def _numbers(pair: Pair, name: str) -> Cells:
    sides = pair.numbers(name)
    values = np.concatenate([side.values for side in sides])
    states = np.concatenate([side.state for side in sides]).astype(np.int64)
    present = states == 0
    distinct, which = np.unique(values[present], return_inverse=True)
    codes = len(distinct) + states
    codes[present] = which.reshape(-1)
    return Cells(codes[: len(pair)], codes[len(pair) :])


def _places(column: pa.Array, tree: HierarchyTree, others: dict[str | None, int]) -> IntArray:
    """The nodes of a tree that cells stand for; texts that are none, and empty cells, have numbers after them."""
    held, indices = encoded(column)
    texts: list[str | None] = [*map(node_text, held), None]
    codes = []
    for text in texts:
        node = -1 if text is None else tree.code(text)
        codes.append(node if node >= 0 else len(tree.labels) + others.setdefault(text, len(others)))
    return np.array(codes, dtype=np.int64)[indices]
