"""The cells of a table, or of linked tables together, and the additive equations between them.

A cell is a node in each dimension; a dimension that a table does not have stands at its total. So the cells that linked
tables have in common are the same cells, and one system of equations holds for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import scipy.sparse as sp

from microveil.errors import DataError, ParameterError, shortened
from microveil.tables.tree import Tree
from microveil.typing import BoolArray, FloatArray, IntArray

MOST_CELLS = 20_000_000
_LARGEST_KEY = 2**62
_ADDITIVE = 1e-6  # what sums may differ by, as a share of what is added


@dataclass(frozen=True)
class Structure:
    """Cells as rows of `codes`, a node for each dimension."""

    trees: tuple[Tree, ...]
    codes: IntArray

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def keys(self) -> IntArray:
        """One number for each cell."""
        return cell_keys(self.trees, self.codes)

    def find(self, codes: IntArray) -> IntArray:
        """The positions of cells with these codes; -1 where there is none."""
        order = self._order
        wanted = cell_keys(self.trees, codes)
        if not len(order):
            return np.full(len(wanted), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, wanted, sorter=order), len(order) - 1)
        return np.where(self.keys[order[at]] == wanted, order[at], -1)

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self.keys, kind="stable").astype(np.int64)

    def parent(self, dimension: int) -> IntArray:
        """The cell above each cell along a dimension; -1 of a cell that stands at the total or has none there."""
        above = self.codes.copy()
        above[:, dimension] = self.trees[dimension].parents[self.codes[:, dimension]]
        inside = above[:, dimension] >= 0
        found = np.full(len(self), -1, dtype=np.int64)
        found[inside] = self.find(above[inside])
        return found

    @cached_property
    def equations(self) -> sp.csr_array:
        """A row for each equation: 1 for each child, -1 for their parent. Absent cells are zeros everyone knows."""
        rows, columns, signs = [], [], []
        begun = 0
        for dimension in range(len(self.trees)):
            above = self.parent(dimension)
            children = np.flatnonzero(above >= 0)
            parents, row = np.unique(above[children], return_inverse=True)
            rows += [begun + row, begun + np.arange(len(parents))]
            columns += [children, parents]
            signs += [np.ones(len(children)), -np.ones(len(parents))]
            begun += len(parents)
        coordinates = (np.concatenate(rows), np.concatenate(columns))
        return sp.csr_array((np.concatenate(signs), coordinates), shape=(begun, len(self)))

    @cached_property
    def is_inner(self) -> BoolArray:
        """Whether a cell has no cells below it."""
        inner = np.ones(len(self), dtype=bool)
        for dimension in range(len(self.trees)):
            above = self.parent(dimension)
            inner[above[above >= 0]] = False
        return inner

    def name(self, cell: int) -> str:
        """A cell as an error or a page calls it."""
        parts = (
            f"{t.name} {shortened(t.nodes[code])}" for t, code in zip(self.trees, self.codes[cell], strict=True) if code
        )
        return ", ".join(parts) or "the grand total"

    def check_additive(self, values: FloatArray) -> None:
        """Refuse sums that do not add up, with the first cell that does not."""
        off = np.abs(self.equations @ values)
        allowed = _ADDITIVE * np.maximum(abs(self.equations) @ np.abs(values), 1e-9)
        wrong = np.flatnonzero(off > allowed)
        if wrong.size:
            start, end = self.equations.indptr[wrong[0] : wrong[0] + 2]
            parent = self.equations.indices[start:end][self.equations.data[start:end] < 0][0]
            more = f"; nor do {wrong.size - 1:,} more" if wrong.size > 1 else ""
            raise DataError(
                f"the total of {self.name(int(parent))} is not the sum of the cells below it{more}; correct the table, "
                "or leave out all totals to have them computed"
            )


def cell_keys(trees: Sequence[Tree], codes: IntArray) -> IntArray:
    """Codes of cells as one number each."""
    sizes = [len(tree.nodes) for tree in trees]
    if reduce(lambda product, size: product * size, sizes, 1) > _LARGEST_KEY:
        raise ParameterError("these dimensions have too many categories together for one table")
    keys = np.zeros(len(codes), dtype=np.int64)
    for column, size in enumerate(sizes):
        keys = keys * size + codes[:, column]
    return keys


def with_ancestors(trees: Sequence[Tree], codes: IntArray) -> IntArray:
    """The cells with all cells above them, each once, in the order of the trees."""
    found = np.asarray(codes, dtype=np.int64)
    for dimension, tree in enumerate(trees):
        parts = []
        for depth in range(tree.ancestors.shape[1]):
            above = tree.ancestors[found[:, dimension], depth]
            part = found[above >= 0].copy()
            part[:, dimension] = above[above >= 0]
            parts.append(part)
        together = np.concatenate(parts)
        _, first = np.unique(cell_keys(trees, together), return_index=True)
        found = together[first]
        if len(found) > MOST_CELLS:
            raise ParameterError(f"the table would have more than {MOST_CELLS:,} cells; leave out a dimension")
    return found


def everything(trees: Sequence[Tree], used: Sequence[int]) -> IntArray:
    """Every combination of the nodes of the dimensions that are used, whether or not it occurs."""
    sizes = [len(trees[d].nodes) if d in used else 1 for d in range(len(trees))]
    if reduce(lambda product, size: product * size, sizes, 1) > MOST_CELLS:
        raise ParameterError(f"the table would have more than {MOST_CELLS:,} cells; leave out a dimension")
    grid = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1).astype(np.int64)
