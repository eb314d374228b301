"""The audit of suppressed tables: what an attacker can compute of every primary cell, and whether that is little enough.

For small parts of a table the interval of every primary cell is computed exactly. For large ones a proof is enough: a
table that an attacker cannot exclude and in which the cell differs by its level. One such table proves many cells at
once; only cells for which none was found that way are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from microveil.progress import Progress, silent
from microveil.tables.attacker import NEARLY, Attacker, Part, Question
from microveil.tables.problem import Problem
from microveil.tables.relations import Relation, Solutions
from microveil.typing import BoolArray, FloatArray, IntArray

_EXACTLY = 3_000_000  # unknowns of all programs of a part, up to which every interval is computed
_ROUNDS = 12
_TOGETHER = 3000


@dataclass(frozen=True)
class Audit:
    """What was found out about a suppression; arrays have an entry for each column of the problem.

    `low` and `high` are how far the attacker's interval reaches from the true value; where it is not `exact`, it reaches
    at least so far.
    """

    problem: Problem
    suppressed: BoolArray
    low: FloatArray
    high: FloatArray
    exact: BoolArray
    determined: IntArray  # suppressed columns that the published ones determine
    found_out: tuple[tuple[int, int], ...]  # a contributor, and a primary column that its own value gives away
    relations: tuple[Relation, ...]

    @cached_property
    def short(self) -> BoolArray:
        """Primary columns whose interval does not reach their levels."""
        problem = self.problem
        enough = (self.high >= problem.up * (1 - NEARLY)) & (-self.low >= problem.down * (1 - NEARLY))
        wide = self.high - self.low > 0
        return np.asarray(problem.primary & ~(enough & wide & self.suppressed))

    @property
    def passed(self) -> bool:
        """Whether every primary cell is protected against outsiders and, where they count, single contributors."""
        return not self.short.any() and not self.found_out


def audit(
    problem: Problem, suppressed: BoolArray, *, intervals: bool = True, progress: Progress = silent
) -> Audit:
    """Attack a suppression. Without `intervals` exactly those levels are proved that must be reached."""
    attacker = Attacker(problem, suppressed)
    low, high, exact = np.zeros(len(problem)), np.zeros(len(problem)), np.zeros(len(problem), dtype=bool)
    primary = np.flatnonzero(problem.primary & suppressed)
    by_part: dict[int, list[int]] = {}
    for column in primary.tolist():
        by_part.setdefault(int(attacker.part_of[column]), []).append(column)
    done = 0
    for part, columns in by_part.items():
        progress(done / max(len(primary), 1), "auditing the suppressed cells")
        done += len(columns)
        some = np.array(columns, dtype=np.int64)
        if intervals and 2 * len(some) * len(attacker.parts[part].columns) <= _EXACTLY:
            exact[some] = True
            for sign, ends in ((1, high), (-1, low)):
                ends[some] = sign * attacker.farthest([Question(int(c), sign) for c in some])
        else:
            prove(attacker, attacker.parts[part], some, low, high)
    solutions = Solutions.of(problem, suppressed)
    high = np.where(high >= problem.unbounded, np.inf, high)
    low = np.where(-low >= problem.unbounded, -np.inf, low)
    progress(1.0, "auditing the suppressed cells")
    return Audit(
        problem, suppressed, low, high, exact, solutions.determined, tuple(solutions.found_out(problem)),
        tuple(solutions.relations(problem.primary)),
    )  # fmt: skip


def prove(attacker: Attacker, part: Part, columns: IntArray, low: FloatArray, high: FloatArray) -> None:
    """Widen `low` and `high` of these columns of a part until their levels are reached, or as far as they go."""
    problem = attacker.problem
    for sign in (1, -1):
        for _ in range(_ROUNDS):
            open_ends = _open(problem, columns, low, high, sign)
            if len(open_ends) < 2:
                break
            before = len(open_ends)
            _widen(part, attacker.lift(part, open_ends, np.full(len(open_ends), sign)), low, high)
            if len(_open(problem, columns, low, high, sign)) > 0.9 * before:
                break
        open_ends = _open(problem, columns, low, high, sign)
        step = max(1, _TOGETHER // len(part.columns))
        while len(open_ends):  # one by one, but every table that is found may prove more
            asked, open_ends = open_ends[:step], open_ends[step:]
            for deviations in attacker.deviations([Question(int(c), sign) for c in asked]):
                _widen(part, deviations, low, high)
            open_ends = _open(problem, open_ends, low, high, sign)


def _open(problem: Problem, columns: IntArray, low: FloatArray, high: FloatArray, sign: int) -> IntArray:
    """The columns whose level in this direction is not reached."""
    reached, level = (high, problem.up) if sign > 0 else (-low, problem.down)
    return columns[reached[columns] < level[columns] * (1 - NEARLY)]


def _widen(part: Part, deviations: FloatArray, low: FloatArray, high: FloatArray) -> None:
    np.maximum.at(high, part.columns, deviations)
    np.minimum.at(low, part.columns, deviations)
