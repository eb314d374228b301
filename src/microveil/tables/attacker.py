"""What an attacker computes from a table with suppressed cells: the least and the largest value that each could have.

Published cells deviate by nothing, so only suppressed ones are unknowns, and these fall into parts that no equation
connects. Linear programs over one part are solved together, a copy of the part for each, because starting the solver
takes longer than a small program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components

from microveil.errors import DataError
from microveil.tables.problem import Problem
from microveil.typing import BoolArray, FloatArray, IntArray

_TOGETHER = 3000  # unknowns in one run of the solver
NEARLY = 1e-6  # a level is reached if all but this share of it is


@dataclass(frozen=True)
class Question:
    """How far a column can deviate, up (1) or down (-1), for one who knows the true values of some columns."""

    column: int
    sign: int
    known: tuple[int, ...] = ()


@dataclass(frozen=True)
class Part:
    """Suppressed columns that equations connect, with the equations between them."""

    columns: IntArray
    equations: sp.csr_array
    rows: IntArray

    @cached_property
    def place(self) -> dict[int, int]:
        return {int(column): i for i, column in enumerate(self.columns)}


class Attacker:
    """Knows the equations, the published cells, and the range of every cell."""

    def __init__(self, problem: Problem, suppressed: BoolArray, strength: FloatArray | None = None) -> None:
        """With a `strength` between 0 and 1 each column deviates by that share of its range at most."""
        self.problem, self.suppressed = problem, suppressed
        self.lower = problem.lower if strength is None else problem.lower * strength
        self.upper = problem.upper if strength is None else problem.upper * strength
        self.part_of = np.full(len(problem), -1, dtype=np.int64)
        self.parts: list[Part] = []
        columns = np.flatnonzero(suppressed)
        if not len(columns):
            return
        among = sp.csr_array(problem.by_column[:, columns])
        touched = np.flatnonzero(np.diff(among.indptr) > 0)
        among = sp.csr_array(among[touched])
        labels = _parts(among)
        self.part_of[columns] = labels
        of_row = labels[among.indices[among.indptr[:-1]]] if len(touched) else np.zeros(0, dtype=np.int64)
        column_order, row_order = np.argsort(labels, kind="stable"), np.argsort(of_row, kind="stable")
        count = int(labels.max()) + 1
        column_ends = np.searchsorted(labels[column_order], np.arange(count + 1))
        row_ends = np.searchsorted(of_row[row_order], np.arange(count + 1))
        for part in range(count):
            here = column_order[column_ends[part] : column_ends[part + 1]]
            rows = row_order[row_ends[part] : row_ends[part + 1]]
            inside = sp.csr_array(sp.csc_array(among[rows])[:, here])
            self.parts.append(Part(columns[here], inside, touched[rows]))

    def deviations(self, questions: Sequence[Question]) -> list[FloatArray]:
        """For each question the deviations of all columns of the part in the table that answers it."""
        return [deviations for deviations, _ in self.answers(questions)]

    def answers(self, questions: Sequence[Question]) -> list[tuple[FloatArray, FloatArray]]:
        """For each question those deviations, and the multipliers of the part's equations that prove them extreme."""
        answers: list[tuple[FloatArray, FloatArray] | None] = [None] * len(questions)
        waiting: dict[int, list[int]] = {}
        for number, question in enumerate(questions):
            waiting.setdefault(int(self.part_of[question.column]), []).append(number)
        for part, numbers in waiting.items():
            step = max(1, _TOGETHER // len(self.parts[part].columns))
            for begin in range(0, len(numbers), step):
                some = numbers[begin : begin + step]
                found = self._solve(self.parts[part], [questions[number] for number in some])
                for number, answer in zip(some, found, strict=True):
                    answers[number] = answer
        return [answer for answer in answers if answer is not None]

    def farthest(self, questions: Sequence[Question]) -> FloatArray:
        """How far each question's column can go in its direction."""
        found = self.deviations(questions)
        at = (self.parts[self.part_of[q.column]].place[q.column] for q in questions)
        return np.array([abs(y[i]) for y, i in zip(found, at, strict=True)])

    def scale(self, part: Part) -> float:
        """A size for numbers in the solver, whose tolerances are absolute."""
        levels = np.maximum(self.problem.up, self.problem.down)[part.columns]
        return float(np.median(levels[levels > 0])) if (levels > 0).any() else 1.0

    def _solve(self, part: Part, questions: Sequence[Question]) -> list[tuple[FloatArray, FloatArray]]:
        size, copies = len(part.columns), len(questions)
        scale = self.scale(part)
        bounds = np.tile(np.stack([self.lower[part.columns], self.upper[part.columns]], axis=1), (copies, 1, 1))
        aim = np.zeros((copies, size))
        for copy, question in enumerate(questions):
            aim[copy, part.place[question.column]] = -question.sign
            for known in question.known:
                if known in part.place:
                    bounds[copy, part.place[known]] = 0.0
        equations = sp.block_diag([part.equations] * copies, format="csr")
        found = linprog(
            aim.ravel(), A_eq=equations, b_eq=np.zeros(equations.shape[0]), bounds=bounds.reshape(-1, 2) / scale,
            method="highs",
        )  # fmt: skip
        if found.status != 0:
            raise DataError("the solver could not find the range of the suppressed cells; check the sizes of the values")
        multipliers = found.eqlin.marginals.reshape(copies, part.equations.shape[0])
        return list(zip(found.x.reshape(copies, size) * scale, multipliers, strict=True))

    def lift(self, part: Part, wanted: IntArray, signs: IntArray, known: Sequence[int] = ()) -> FloatArray:
        """Deviations of a part that take as many of these columns as possible to their levels, all at once."""
        problem, size, scale = self.problem, len(part.columns), self.scale(part)
        bounds = np.stack([self.lower[part.columns], self.upper[part.columns]], axis=1) / scale
        bounds[[part.place[k] for k in known if k in part.place]] = 0.0
        levels = np.where(signs > 0, problem.up[wanted], problem.down[wanted]) / scale
        at = np.array([part.place[int(column)] for column in wanted])
        many = len(wanted)
        demand = sp.csr_array(
            (np.concatenate([-signs.astype(float), levels]), (np.tile(np.arange(many), 2), np.append(at, size + np.arange(many)))),
            shape=(many, size + many),
        )  # fmt: skip
        equations = sp.hstack([part.equations, sp.csr_array((part.equations.shape[0], many))], format="csr")
        found = linprog(
            np.append(np.zeros(size), -np.ones(many)), A_ub=demand, b_ub=np.zeros(many), A_eq=equations,
            b_eq=np.zeros(equations.shape[0]), bounds=np.concatenate([bounds, np.tile([0.0, 1.0], (many, 1))]),
            method="highs",
        )  # fmt: skip
        return found.x[:size] * scale if found.status == 0 else np.zeros(size)


def _parts(among: sp.csr_array) -> IntArray:
    """Which columns equations connect, as labels."""
    rows, columns = among.shape
    coordinates = sp.coo_array(among)
    ends = (coordinates.coords[0], rows + coordinates.coords[1])
    graph = sp.coo_array((np.ones(coordinates.nnz), ends), shape=(rows + columns, rows + columns))
    labels = connected_components(graph, directed=False)[1][rows:]
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
