"""Attributes of any kind as numbers that can be put in order, as regions are cut and spans are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microveil.errors import DataError
from microveil.microdata import Attribute, Hierarchy, Microdata
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Axis:
    """An attribute as numbers that can be put in order: `values` with NaN where missing.

    `span` is the width of all values that could be. Categories are their positions in the list `names`: that of the
    domain, or of the leaves of a `tree` from left to right; `heights` are then the levels of the tree at which a leaf
    and the one before have their first common ancestor.
    """

    attribute: Attribute
    values: FloatArray
    span: float
    names: tuple[object, ...] = ()
    tree: Hierarchy | None = None
    heights: IntArray | None = None

    @property
    def is_ordered(self) -> bool:
        return self.attribute.kind in ("numeric", "ordinal")


def axis_of(data: Microdata, name: str) -> Axis:
    """Numbers as they are, ordered categories by their domain, others by their hierarchy or else by their domain."""
    attribute = data[name]
    missing = data.missing_states(name) > 0
    if attribute.kind == "numeric":
        values = data.numbers(name).values
        low, high = attribute.range or (np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf))
        return Axis(attribute, values, float(high - low))
    column = data.categories(name)
    names = tuple(c for c in column.domain if c is not None)
    codes = np.where(missing, -1, column.codes)
    tree = attribute.hierarchy if isinstance(attribute.hierarchy, Hierarchy) and attribute.kind != "ordinal" else None
    heights = None
    if tree is not None:
        used = np.unique(codes[codes >= 0])
        leaves, heights = _leaves(tree, [names[code] for code in used], name)
        index = np.full(len(names) + 1, -1, dtype=np.int64)
        index[used[leaves]] = np.arange(len(used))
        codes, names = index[codes], tuple(names[code] for code in used[leaves])
    return Axis(attribute, np.where(codes < 0, np.nan, codes), float(len(names)), names, tree, heights)


def _leaves(tree: Hierarchy, categories: Sequence[object], name: str) -> tuple[IntArray, IntArray]:
    """The categories in the order of the tree's leaves, and the level at which each meets the one before."""
    levels = [tree.positions(categories, level) for level in range(tree.levels)]
    if any(nodes.min(initial=0) < 0 for nodes in levels):
        raise DataError(f"attribute '{name}' has categories that its hierarchy lacks; add them to the hierarchy")
    order = np.lexsort(levels)  # the coarsest level decides first
    heights = np.full(len(order), tree.levels, dtype=np.int64)
    for level in range(tree.levels - 1, -1, -1):
        nodes = levels[level][order]
        heights[1:][nodes[1:] == nodes[:-1]] = level
    return order.astype(np.int64), heights
