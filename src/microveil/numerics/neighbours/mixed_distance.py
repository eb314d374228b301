"""Distances between records over attributes of any kind, in the two forms that searches and groupings need.

`Terms` say what each attribute adds to the distance of two records of a `Table`: squared and absolute differences,
distances of categories, steps; with a state for each missing cell. The distances of one record to many are taken column
by column (`distances_from`), so that the compiler can use vector units.

`Axes` are for groupings, which need sums that do not depend on rounding: on every axis two equal values have distance
0; other values have distance 1 where the axis has no order (size 0), else `(offset + |difference|) / size`, divided
only once. The distance of two rows is the sum over the axes, or the sum of squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from microveil.numerics.core.compiled import kernel
from microveil.numerics.core.ordering import positions_in
from microveil.numerics.counting.distinct_rows import number_values
from microveil.typing import BoolArray, FloatArray, IntArray

MEAN, MEDIAN, MODE = 0, 1, 2
_GRID = 2.0**40  # sums that differ only by rounding are equal on it
StateArray = npt.NDArray[np.uint8]
SQUARED, ABSOLUTE, CATEGORY, STEP = 0, 1, 2, 3
Source = tuple[FloatArray, StateArray]  # the cells of one record, and their states
Settings = tuple[IntArray, FloatArray, FloatArray, BoolArray | FloatArray, FloatArray, BoolArray]


class Table(NamedTuple):
    """Columns by attribute: `cells[j, i]` and `states[j, i]` of record i; 0 is the state of a present cell."""

    cells: FloatArray
    states: StateArray

    def of(self, chosen: list[int] | IntArray) -> Table:
        """Some of the attributes."""
        return Table(self.cells[chosen], self.states[chosen])

    def at(self, records: IntArray | slice) -> Table:
        """Some of the records, in one piece: kernels are then compiled for one layout."""
        return Table(self.cells[:, records], self.states[:, records]).contiguous()

    def contiguous(self) -> Table:
        """The same with each column in one piece, which kernels read fastest."""
        return Table(np.ascontiguousarray(self.cells), np.ascontiguousarray(self.states))


@dataclass(frozen=True)
class Terms:
    """How each attribute adds to a distance.

    Its form: SQUARED and ABSOLUTE differences, CATEGORY (`start + slope * difference` unless equal), or STEP (`slope`
    if the difference exceeds `start`). For missing cells, whether they match anything (`wildcard`: left out and the
    rest scaled up by the `weight` of what is left, or in a STEP, always `penalty`), else `penalty` when only one is
    missing. Sums may be whole numbers that are indices into a `table` of distances.
    """

    form: IntArray
    start: FloatArray
    slope: FloatArray
    wildcard: BoolArray
    penalty: FloatArray
    weight: FloatArray | None = None
    table: FloatArray | None = None

    def of(self, chosen: list[int]) -> Terms:
        """The terms of some of the attributes."""
        return Terms(
            self.form[chosen],
            self.start[chosen],
            self.slope[chosen],
            self.wildcard[chosen],
            self.penalty[chosen],
            None if self.weight is None else self.weight[chosen],
            self.table,
        )

    @property
    def lookup(self) -> FloatArray:
        return np.empty(0) if self.table is None else self.table

    @property
    def is_squared(self) -> bool:
        return bool((self.form == SQUARED).any())

    def between(self, one: Table, other: Table) -> Settings:
        """What the kernels need; the weight a wildcard leaves out is in units of one attribute."""
        weight = np.ones(len(self.form)) if self.weight is None else self.weight
        left_out = np.where(self.wildcard, weight * len(weight) / max(float(weight.sum()), 1e-300), 0.0)
        incomplete = np.asarray(one.states.any(axis=1) | other.states.any(axis=1))
        return self.form, self.start, self.slope, left_out, self.penalty, incomplete


@kernel
def distances_from(
    source: Source, targets: Table, begin: int, settings: Settings, sums: FloatArray, in_common: FloatArray
) -> None:
    """Distances of one record to the targets from `begin` on, as many as there are sums.

    Whole contiguous columns at a time, so that the compiler can use vector units.
    """
    cells, states = source
    target_cells, target_states = targets
    form, start, slope, wildcard, penalty, incomplete = settings
    d, size = target_cells.shape[0], sums.shape[0]
    end = begin + size
    sums[:] = 0.0
    any_wildcard = False
    for j in range(d):
        column, cell = target_cells[j, begin:end], cells[j]
        if incomplete[j]:
            column_states, state = target_states[j, begin:end], states[j]
            if wildcard[j] and form[j] != STEP:
                if not any_wildcard:
                    any_wildcard = True
                    in_common[:] = d
                for i in range(size):
                    if state == 0 and column_states[i] == 0:
                        sums[i] += term(cell, column[i], form[j], start[j], slope[j])
                    else:
                        in_common[i] -= wildcard[j]
            elif state == 0:
                add_where_present(sums, cell, column, column_states, form[j], start[j], slope[j], penalty[j])
            else:
                for i in range(size):
                    sums[i] += penalty[j] if wildcard[j] or column_states[i] != state else 0.0
        elif form[j] == SQUARED:
            for i in range(size):
                difference = cell - column[i]
                sums[i] += difference * difference
        elif form[j] == ABSOLUTE:
            for i in range(size):
                sums[i] += abs(cell - column[i])
        elif form[j] == STEP:
            limit, step = start[j], slope[j]
            for i in range(size):
                sums[i] += step if abs(cell - column[i]) > limit else 0.0
        else:
            base, step = start[j], slope[j]
            for i in range(size):
                difference = abs(cell - column[i])
                sums[i] += base + step * difference if difference > 0.0 else 0.0
    if any_wildcard:
        for i in range(size):
            if in_common[i] != d:
                sums[i] = sums[i] * (d / in_common[i]) if in_common[i] > 1e-9 else np.inf


@kernel
def add_where_present(
    sums: FloatArray,
    cell: float,
    column: FloatArray,
    states: StateArray,
    form: int,
    start: float,
    slope: float,
    penalty: float,
) -> None:
    """Add what a present cell and those of a column add, and the penalty where one of these is missing."""
    if form == CATEGORY:
        for i in range(len(sums)):
            difference = abs(cell - column[i])
            added = start + slope * difference if difference > 0.0 else 0.0
            sums[i] += added if states[i] == 0 else penalty
    elif form == STEP:
        for i in range(len(sums)):
            added = slope if abs(cell - column[i]) > start else 0.0
            sums[i] += added if states[i] == 0 else penalty
    else:
        for i in range(len(sums)):
            difference = abs(cell - column[i])
            added = difference * difference if form == SQUARED else difference
            sums[i] += added if states[i] == 0 else penalty


@kernel
def term(one: float, other: float, form: int, start: float, slope: float) -> float:
    """What two present cells add to a distance."""
    difference = abs(one - other)
    if form == SQUARED:
        return difference * difference
    if form == ABSOLUTE:
        return difference
    if form == STEP:
        return slope if difference > start else 0.0
    return start + slope * difference if difference > 0.0 else 0.0


class Axes(NamedTuple):
    """How distances are taken on each column, and what stands in the middle of some values there.

    `exact`: distances that differ only by the rounding of computed numbers are equal.
    """

    offset: FloatArray
    size: FloatArray
    centre: IntArray
    squared: bool = False
    exact: bool = True


@dataclass(frozen=True)
class Distinct:
    """The distinct rows of a matrix in the order of their first appearance, and which of them each row is."""

    points: FloatArray
    of_row: IntArray

    @classmethod
    def of(cls, matrix: FloatArray) -> Distinct:
        rows, first = number_values(matrix.T)
        order = np.argsort(first)
        return cls(np.ascontiguousarray(matrix[first[order]], dtype=np.float64), positions_in(order)[rows])

    @property
    def counts(self) -> IntArray:
        return np.bincount(self.of_row, minlength=len(self.points)).astype(np.int64)


@kernel
def distance(one: FloatArray, other: FloatArray, axes: Axes) -> float:
    """The distance of two rows."""
    total = 0.0
    for j in range(len(one)):
        if one[j] != other[j]:
            term = (axes.offset[j] + abs(one[j] - other[j])) / axes.size[j] if axes.size[j] > 0.0 else 1.0
            total += term * term if axes.squared else term
    return np.rint(total * _GRID) / _GRID if axes.exact else total


@kernel
def distance_below(one: FloatArray, other: FloatArray, axes: Axes, limit: float) -> float:
    """The distance of two rows if it is below a limit; of others only that it is infinite, which takes less time."""
    total, enough = 0.0, limit + 2.0 / _GRID
    for j in range(len(one)):
        if one[j] != other[j]:
            term = (axes.offset[j] + abs(one[j] - other[j])) / axes.size[j] if axes.size[j] > 0.0 else 1.0
            total += term * term if axes.squared else term
            if total >= enough:
                return np.inf
    total = np.rint(total * _GRID) / _GRID if axes.exact else total
    return total if total < limit else np.inf


@kernel
def distances(points: FloatArray, point: FloatArray, axes: Axes) -> FloatArray:
    """The distance of each row to one point.

    >>> axes = Axes(np.array([0.0, 1.0]), np.array([0.0, 4.0]), np.array([MODE, MEDIAN]))
    >>> distances(np.array([[0.0, 3.0], [2.0, 1.0]]), np.array([2.0, 3.0]), axes).tolist()
    [1.0, 0.75]
    """
    made = np.empty(len(points))
    for i in range(len(points)):
        made[i] = distance(points[i], point, axes)
    return made
