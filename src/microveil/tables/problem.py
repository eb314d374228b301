"""What has to be protected, as arrays: the equations, what an attacker takes for granted, and the levels to reach.

Everything is said in deviations from the true values: a table that could be true instead is a vector of deviations that
solves all equations without a right side, so that no rounding of large sums disturbs small cells. Cells that are always
equal, as a total and its only part, are one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from microveil.errors import ParameterError
from microveil.tables.aggregation import NOBODY, Cells
from microveil.tables.rules import Rule
from microveil.tables.structure import Structure
from microveil.typing import BoolArray, FloatArray, IntArray

Matrix = TypeVar("Matrix", sp.csr_array, sp.csc_array)
Cost = Literal["cells", "value", "contributors"]
COSTS: tuple[Cost, ...] = ("cells", "value", "contributors")
_LEAST_COUNT = 1.0  # by which a count must stay uncertain
_BEYOND = 1e3  # times the whole table: where nothing bounds a cell


@dataclass(frozen=True)
class Problem:
    """Columns are cells, those that are always equal together; `column` says which one each cell is."""

    structure: Structure
    equations: sp.csr_array
    column: IntArray
    values: FloatArray
    lower: FloatArray  # how far below its value a cell could be before anything is published, as a negative number
    upper: FloatArray  # how far above
    primary: BoolArray
    down: FloatArray  # how far below its value a primary cell must possibly be
    up: FloatArray
    cost: FloatArray
    insider: IntArray  # whose the cell is, where it has one contributor; -1 elsewhere

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def by_column(self) -> sp.csc_array:
        return _long(sp.csc_array(self.equations))

    @property
    def unbounded(self) -> float:
        """A deviation from here on stands for one without end."""
        return _BEYOND * max(float(np.abs(self.values).max(initial=1.0)), 1.0) / 2

    def spread(self, columns: BoolArray) -> BoolArray:
        """Of columns to cells."""
        return np.asarray(columns[self.column])


def problem_of(
    cells: Cells,
    primary: BoolArray,
    *,
    rules: Sequence[Rule] = (),
    share: float | None = 0.1,
    known: tuple[float, float] | None = None,
    cost: Cost = "cells",
    singletons: bool = True,
) -> Problem:
    """The protection of cells: by a `share` of their values, or, without one, by what the rules ask for.

    `known` is the range in which everyone knows each contribution to lie; otherwise values are at least zero, unless
    there are negative ones.
    """
    if cost not in COSTS:
        raise ParameterError(f"cost must be one of {', '.join(COSTS)}")
    equations, column = _contracted(cells.structure.equations)
    size = int(column.max(initial=-1)) + 1
    values = np.zeros(size)
    values[column] = cells.values
    lower, upper = _range(cells, known)
    level = _levels(cells, rules, share)
    wide_lower, wide_upper = np.full(size, -np.inf), np.full(size, np.inf)
    np.maximum.at(wide_lower, column, lower)
    np.minimum.at(wide_upper, column, upper)
    beyond = _BEYOND * max(float(np.abs(values).max(initial=1.0)), 1.0)
    lower, upper = np.maximum(wide_lower - values, -beyond), np.minimum(wide_upper - values, beyond)
    lower, upper = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
    forbidden = np.zeros(size, dtype=bool)
    forbidden[column[primary]] = True
    needed = np.zeros(size)
    np.maximum.at(needed, column, np.where(primary, level, 0.0))
    insider = np.full(size, NOBODY, dtype=np.int64)
    if singletons:
        alone = cells.single >= 0
        insider[column[alone]] = cells.single[alone]
    return Problem(
        cells.structure, equations, column, values, lower, upper, forbidden, np.minimum(needed, -lower),
        np.minimum(needed, upper), _costs(cells, column, size, cost), insider,
    )  # fmt: skip


def _contracted(equations: sp.csr_array) -> tuple[sp.csr_array, IntArray]:
    """The equations over classes of equal cells, and the class of each cell."""
    size = equations.shape[1]
    pairs = np.flatnonzero(np.diff(equations.indptr) == 2)
    ends = equations.indices[np.stack([equations.indptr[pairs], equations.indptr[pairs] + 1])]
    graph = sp.coo_array((np.ones(len(pairs)), (ends[0], ends[1])), shape=(size, size))
    labels = connected_components(graph, directed=False)[1] if size else np.zeros(0)
    column: IntArray = np.asarray(labels, dtype=np.int64)
    classes = int(column.max(initial=-1)) + 1
    onto = sp.csr_array((np.ones(size), (np.arange(size), column)), shape=(size, classes))
    merged = sp.csr_array(equations @ onto)
    merged.eliminate_zeros()
    merged.sort_indices()
    return _long(sp.csr_array(merged[np.flatnonzero(np.diff(merged.indptr) > 0)])), column


def _long(matrix: Matrix) -> Matrix:
    """With numbers of rows and columns in the type that the kernels take."""
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return matrix


def _range(cells: Cells, known: tuple[float, float] | None) -> tuple[FloatArray, FloatArray]:
    """Between which values everyone knows each cell to lie."""
    if known is not None:
        low, high = known
        if not low < high:
            raise ParameterError("the range in which contributions are known to lie has a lower and an upper end")
        sizes = cells.contributors.astype(np.float64)
        if (cells.values < low * sizes - 1e-9).any() or (cells.values > high * sizes + 1e-9).any():
            raise ParameterError("a cell lies outside the range in which its contributions are said to be known to lie")
        return low * sizes, high * sizes
    least = -np.inf if (cells.values < 0).any() else 0.0
    return np.full(len(cells), least), np.full(len(cells), np.inf)


def _levels(cells: Cells, rules: Sequence[Rule], share: float | None) -> FloatArray:
    """How far a cell must stay uncertain on either side if it is primary."""
    sizes = np.abs(cells.values)
    if share is None:
        asked = [rule.upper_level(cells) for rule in rules]
        level: FloatArray = np.maximum.reduce([*asked, np.zeros(len(cells))])
        level = np.where(level > 0, level, 0.1 * sizes)
    else:
        level = share * sizes
    if cells.is_count:
        return np.maximum(level, _LEAST_COUNT)
    smallest = float(sizes[sizes > 0].min(initial=np.inf))
    of_zero = 0.1 * smallest if np.isfinite(smallest) else 1.0
    return np.asarray(np.where(level > 0, level, of_zero), dtype=np.float64)


def _costs(cells: Cells, column: IntArray, size: int, cost: Cost) -> FloatArray:
    """What suppressing a column costs; never nothing, so that no cell is suppressed without need."""
    sizes = np.abs(cells.values)
    each: FloatArray
    if cost == "cells":  # among suppressions of as many cells the one with the least value
        each = 1.0 + 0.5 * sizes / max(float(sizes.sum()), 1e-300)
    elif cost == "contributors":
        each = cells.contributors.astype(np.float64) + 1.0
    else:
        each = sizes + 1e-6 * max(float(sizes.max(initial=0.0)), 1e-9)
        each = each / float(each.max())
    return np.bincount(column, weights=each, minlength=size).astype(np.float64)
