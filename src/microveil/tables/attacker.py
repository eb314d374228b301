"""What an attacker computes from a table with suppressed cells: the least and the largest value that each could have.

Published cells deviate by nothing, so only suppressed ones are unknowns, and these fall into parts that no equation
connects. Many small linear programs are solved together, because starting the solver takes longer than one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components

from microveil.errors import DataError
from microveil.tables.neighbourhood import Neighbourhood
from microveil.tables.problem import Problem
from microveil.typing import BoolArray, FloatArray, IntArray

Region = Callable[[int, IntArray], IntArray]
_SMALL = 100  # columns of a part that needs no regions
_TOGETHER = 3000  # unknowns in one run of the solver
NEARLY = 1e-6  # a level is reached if all but this share of it is


@dataclass(frozen=True)
class Question:
    """How far a column can deviate, up (1) or down (-1), for one who knows the true values of some columns."""

    column: int
    sign: int
    known: tuple[int, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The table that answers a question: the deviations of the columns that may deviate. The multipliers of the
    equations prove that no other goes farther."""

    columns: IntArray
    deviations: FloatArray
    rows: IntArray
    multipliers: FloatArray
    reached: float


class Surroundings:
    """Finds the columns nearest to a column, as steps through equations go."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._mark = problem, 0
        self._marks = (np.zeros(len(problem), dtype=np.int64), np.zeros(problem.equations.shape[0], dtype=np.int64))

    def of(self, column: int, allowed: BoolArray, most: int) -> IntArray:
        """At most so many of the allowed columns, the column itself first."""
        from microveil.numerics.linear.regions import near

        equations, by_column = self._problem.equations, self._problem.by_column
        self._mark += 1
        return near(
            equations.indptr, equations.indices, by_column.indptr, by_column.indices, allowed, column, most,
            *self._marks, self._mark,
        )  # fmt: skip


class Attacker:
    """Knows the equations, the published cells, and the range of every cell."""

    def __init__(self, problem: Problem, suppressed: BoolArray, strength: FloatArray | None = None) -> None:
        """With a `strength` between 0 and 1 each column deviates by that share of its range at most."""
        self.problem, self.suppressed = problem, suppressed
        self.lower = problem.lower if strength is None else problem.lower * strength
        self.upper = problem.upper if strength is None else problem.upper * strength
        self.part_of, self.parts = _parts(problem, suppressed)
        self._surroundings = Surroundings(problem)
        self._neighbourhood = Neighbourhood(problem)

    def answers(self, questions: Sequence[Question], region: Region | None = None) -> Iterable[list[Answer]]:
        """The answers in lists, as they come, in the order of the questions.

        With a region around each column only that may deviate: such a table is possible, too, but may not be the one
        that goes farthest.
        """
        waiting: list[Question] = []
        regions: list[IntArray] = []
        size = 0
        for question in questions:
            part = self.parts[self.part_of[question.column]]
            here = part if region is None else region(question.column, part)
            if waiting and size + len(here) > _TOGETHER:
                yield self._solve(waiting, regions)
                waiting, regions, size = [], [], 0
            waiting.append(question)
            regions.append(here)
            size += len(here)
        if waiting:
            yield self._solve(waiting, regions)

    def farthest(self, questions: Sequence[Question]) -> FloatArray:
        """How far each question's column can go in its direction."""
        return np.array([answer.reached for answers in self.answers(questions) for answer in answers])

    def near(self, most: int) -> Region:
        """Regions of the columns nearest to one."""
        return lambda column, part: part if len(part) <= most else self._surroundings.of(column, self.suppressed, most)

    def box(self, width: int, *, climbs: bool = False) -> Region:
        """Regions of boxes around a column."""
        level = np.maximum(self.problem.up, self.problem.down)
        return lambda column, part: (
            part
            if len(part) <= _SMALL
            else self._neighbourhood.box(
                column, float(level[column]), self.problem.cost, width, self.suppressed, climbs=climbs
            )
        )

    def _solve(self, questions: Sequence[Question], regions: Sequence[IntArray]) -> list[Answer]:
        matrix, origin, row_starts, starts, columns = blocks(self.problem, regions)
        bounds = np.stack([self.lower[columns], self.upper[columns]], axis=1)
        aim, scales = np.zeros(len(columns)), np.empty(len(columns))
        for number, question in enumerate(questions):
            here = slice(starts[number], starts[number + 1])
            levels = np.maximum(self.problem.up[columns[here]], self.problem.down[columns[here]])
            scales[here] = float(np.median(levels[levels > 0])) if (levels > 0).any() else 1.0
            aim[here][columns[here] == question.column] = -question.sign
            if question.known:
                bounds[here][np.isin(columns[here], question.known)] = 0.0
        # the tolerances of the solver are absolute, so levels should have about the size of one
        found = linprog(
            aim, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=bounds / scales[:, None], method="highs"
        )
        if found.status != 0:
            raise DataError("the solver could not find the range of the suppressed cells; check the sizes of values")
        deviations, multipliers = found.x * scales, found.eqlin.marginals
        made = []
        for number in range(len(questions)):
            here, rows = slice(starts[number], starts[number + 1]), slice(row_starts[number], row_starts[number + 1])
            reached = float(np.abs(aim[here]) @ np.abs(deviations[here]))
            made.append(Answer(columns[here], deviations[here], origin[rows], multipliers[rows], reached))
        return made


def blocks(
    problem: Problem, regions: Sequence[IntArray]
) -> tuple[sp.csc_array, IntArray, IntArray, IntArray, IntArray]:
    """The equations of several regions as one block matrix; which equations its rows are, where those of each region
    start, where its columns start, and the columns."""
    from microveil.numerics.linear.regions import side_by_side

    whole = problem.by_column
    columns = np.concatenate(regions).astype(np.int64)
    starts = np.append(0, np.cumsum([len(region) for region in regions])).astype(np.int64)
    column_starts, rows, values, origin, row_starts = side_by_side(
        whole.indptr, whole.indices, whole.data, whole.shape[0], starts, columns
    )
    matrix = sp.csc_array((values, rows, column_starts), shape=(len(origin), len(columns)))
    return matrix, origin, row_starts, starts, columns


def _parts(problem: Problem, suppressed: BoolArray) -> tuple[IntArray, list[IntArray]]:
    """The part that each suppressed column belongs to (-1 of others), and the columns of every part."""
    part_of = np.full(len(problem), -1, dtype=np.int64)
    columns = np.flatnonzero(suppressed)
    if not len(columns):
        return part_of, []
    among = sp.coo_array(problem.by_column[:, columns])
    rows = problem.equations.shape[0]
    ends = (among.coords[0], rows + among.coords[1])
    size = rows + len(columns)
    graph = sp.coo_array((np.ones(among.nnz), ends), shape=(size, size))
    labels = np.unique(connected_components(graph, directed=False)[1][rows:], return_inverse=True)[1]
    part_of[columns] = labels
    order = np.argsort(labels, kind="stable")
    return part_of, np.split(columns[order].astype(np.int64), np.flatnonzero(np.diff(labels[order])) + 1)
