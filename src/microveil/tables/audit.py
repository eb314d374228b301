"""The audit of suppressed tables: what an attacker can compute of every primary cell, and whether that is too much.

For small parts of a table the interval of every primary cell is computed exactly. For large ones a proof is enough: a
table that an attacker cannot exclude and in which the cell differs by its level. One such table proves many cells at
once; only cells for which none was found that way are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from microveil.progress import Part, Progress, Rising, silent
from microveil.tables.attacker import NEARLY, Attacker, Question, Region
from microveil.tables.problem import Problem
from microveil.tables.relations import Relation, Solutions
from microveil.typing import BoolArray, FloatArray, IntArray

_ALL_EXACTLY = 200_000  # unknowns up to which intervals of secondary cells are computed, too
_EXACTLY = 3_000_000  # unknowns of all programs of a part, up to which every interval is computed
# regions in which a proof is sought before the whole part: boxes, the nearest columns, boxes that climb, more columns
_BOXES, _NEAR, _CLIMBING, _FARTHER = (6, 12), 200, (8, 16), (1000, 4000)
_BATCH = 3000


@dataclass(frozen=True)
class Audit:
    """What was found out about a suppression; arrays have an entry for each column of the problem.

    `low` and `high` are how far the attacker's interval reaches from the true value; where it is not `exact`, it
    reaches at least so far.
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


def audit(problem: Problem, suppressed: BoolArray, *, intervals: bool = True, progress: Progress = silent) -> Audit:
    """Attack a suppression. Without `intervals` exactly those levels are proved that must be reached."""
    progress = Rising(progress)
    attacker = Attacker(problem, suppressed)
    low, high, exact = np.zeros(len(problem)), np.zeros(len(problem)), np.zeros(len(problem), dtype=bool)
    primary = np.flatnonzero(problem.primary & suppressed)
    of_part = np.array([len(part) for part in attacker.parts], dtype=np.int64)
    asked = np.flatnonzero(suppressed) if of_part @ of_part <= _ALL_EXACTLY else primary
    effort = 2 * np.bincount(attacker.part_of[asked], minlength=len(of_part)) * of_part
    in_full = asked[effort[attacker.part_of[asked]] <= _EXACTLY] if intervals else asked[:0]
    exact[in_full] = True
    for sign, ends, part in ((1, high, Part(progress, 0.0, 0.3)), (-1, low, Part(progress, 0.3, 0.6))):
        _measure(attacker, in_full, sign, ends, part)
    prove(attacker, primary[~exact[primary]], low, high, progress=Part(progress, 0.6, 1.0))
    solutions = Solutions.of(problem, suppressed)
    high = np.where(high >= problem.unbounded, np.inf, high)
    low = np.where(-low >= problem.unbounded, -np.inf, low)
    progress(1.0, "auditing the suppressed cells")
    return Audit(
        problem, suppressed, low, high, exact, solutions.determined, tuple(solutions.found_out(problem)),
        tuple(solutions.relations(problem.primary)),
    )  # fmt: skip


def _measure(attacker: Attacker, columns: IntArray, sign: int, ends: FloatArray, progress: Progress) -> None:
    """How far each of these columns can go."""
    done = 0
    for answers in attacker.answers([Question(int(column), sign) for column in columns]):
        for answer in answers:
            ends[columns[done]] = sign * answer.reached
            done += 1
        progress(done / len(columns), "auditing the suppressed cells")


def prove(
    attacker: Attacker,
    columns: IntArray,
    low: FloatArray,
    high: FloatArray,
    *,
    thorough: bool = True,
    progress: Progress = silent,
) -> None:
    """Widen `low` and `high` of these columns until their levels are reached, or as far as they go.

    Tables are sought in which only columns around the one in question deviate, in wider and wider regions for those
    that need it; only a `thorough` search ends with all.
    """
    problem = attacker.problem
    regions: list[tuple[int, Region | None]] = [
        *((width**2, attacker.box(width)) for width in _BOXES),
        (_NEAR, attacker.near(_NEAR)),
    ]
    if thorough:
        regions += [(width**2, attacker.box(width, climbs=True)) for width in _CLIMBING]
        regions += [*((size, attacker.near(size)) for size in _FARTHER), (len(problem), None)]
    for number, (size, region) in enumerate(regions):
        for sign in (1, -1):
            open_ends = _open(problem, columns, low, high, sign)
            total, batch = len(open_ends), 4 * max(1, _BATCH // size)
            while len(open_ends):
                asked, open_ends = open_ends[:batch], open_ends[batch:]
                for answers in attacker.answers([Question(int(c), sign) for c in asked], region):
                    for answer in answers:
                        np.maximum.at(high, answer.columns, answer.deviations)
                        np.minimum.at(low, answer.columns, answer.deviations)
                open_ends = _open(problem, open_ends, low, high, sign)
                done = (1 - len(open_ends) / total + (sign < 0)) / 2
                progress((number + done) / len(regions), "auditing the suppressed cells")


def _open(problem: Problem, columns: IntArray, low: FloatArray, high: FloatArray, sign: int) -> IntArray:
    """The columns whose level in this direction is not reached."""
    reached, level = (high, problem.up) if sign > 0 else (-low, problem.down)
    return columns[reached[columns] < level[columns] * (1 - NEARLY)]
