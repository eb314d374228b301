"""More suppressed cells where levels are not reached, fewer where they are not needed.

A cell whose interval is too narrow gets a table of deviations that takes it to its level, at the least cost of cells to
suppress besides; what deviates there is suppressed (the linear relaxation of the heuristic by Fischetti and Salazar
(2001)). A table of deviations that was found once stays possible when more is suppressed, so nothing is proved twice.
Then every secondary cell is offered for publication once more: a proof that does not use it still holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from microveil.progress import Part, Progress, silent
from microveil.tables.attacker import NEARLY, Answer, Attacker, blocks
from microveil.tables.audit import prove
from microveil.tables.neighbourhood import Neighbourhood
from microveil.tables.problem import Problem
from microveil.tables.relations import Solutions
from microveil.typing import BoolArray, FloatArray, IntArray

_WHOLE = 2000  # columns of a table up to which further ones are sought everywhere
# the widths of boxes around a cell in which they are sought in a larger one before all of it, and whether they climb
_BOXES = ((4, False), (8, False), (16, False), (8, True), (16, True), (32, True))
_ROUNDS = 20
_TRIMMED = 1000  # suppressed columns of a part up to which each is offered once more
_ZERO = 1e-7
_FARTHEST = 1e6  # levels that another column deviates by at most
_NEXT_TO_NOTHING = 1e-6  # what a column costs that is suppressed already


@dataclass(frozen=True)
class Demand:
    """A column that must be able to deviate by a level, also for one who knows some columns."""

    column: int
    sign: int
    level: float
    known: tuple[int, ...] = ()


def demands_of(problem: Problem) -> list[Demand]:
    """What primary columns need, the largest levels first: what serves them often serves smaller ones."""
    ends = ((1, problem.up), (-1, problem.down))
    columns = np.flatnonzero(problem.primary).tolist()
    made = [Demand(c, sign, float(level[c])) for c in columns for sign, level in ends if level[c] > 0]
    return sorted(made, key=lambda demand: -demand.level)


def reinforced(problem: Problem, suppressed: BoolArray, progress: Progress = silent) -> BoolArray:
    """The suppression with as many further columns as the levels and single contributors need.

    What no suppression can protect, because everyone knows too much beforehand, stays as it is; the audit says so.
    """
    suppressed = suppressed.copy()
    low, high = np.zeros(len(problem)), np.zeros(len(problem))
    columns = np.flatnonzero(problem.primary)
    prove(Attacker(problem, suppressed), columns, low, high, thorough=False, progress=Part(progress, 0.0, 0.4))
    search = _Search(problem)
    demands = demands_of(problem)
    for number, demand in enumerate(demands):
        reached = high[demand.column] if demand.sign > 0 else -low[demand.column]
        if reached < demand.level * (1 - NEARLY):
            found = search.cheapest(suppressed, demand)
            if found is not None:
                suppressed[found.columns] = True
                np.maximum.at(high, found.columns, found.deviations)
                np.minimum.at(low, found.columns, found.deviations)
        if number % 50 == 0:
            Part(progress, 0.4, 0.8)(number / len(demands), "widening intervals that are too narrow")
    for number in range(_ROUNDS):
        Part(progress, 0.8, 1.0)(number / _ROUNDS, "protecting against single contributors")
        if not _hide_from_insiders(problem, suppressed, search):
            break
    progress(1.0, "protecting against single contributors")
    return suppressed


def _hide_from_insiders(problem: Problem, suppressed: BoolArray, search: _Search) -> bool:
    """Suppress what keeps contributors from finding each other out; whether anything was added."""
    before = int(suppressed.sum())
    own = _own_columns(problem)
    for who, column in Solutions.of(problem, suppressed).found_out(problem):
        up = problem.up[column] >= problem.down[column]
        demand = Demand(column, 1 if up else -1, float(max(problem.up[column], problem.down[column])), own[who])
        found = search.cheapest(suppressed, demand)
        if found is not None:
            suppressed[found.columns] = True
    return int(suppressed.sum()) > before


def _own_columns(problem: Problem) -> dict[int, tuple[int, ...]]:
    """The columns that are a contributor's own, by its number."""
    own: dict[int, tuple[int, ...]] = {}
    for column in np.flatnonzero(problem.insider >= 0).tolist():
        who = int(problem.insider[column])
        own[who] = (*own.get(who, ()), column)
    return own


class _Search:
    """Looks for deviations through columns that cost the least, near a column first."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._neighbourhood = Neighbourhood(problem)
        self._next_to_nothing = _NEXT_TO_NOTHING * float(problem.cost.mean()) if len(problem) else 0.0

    def cheapest(self, suppressed: BoolArray, demand: Demand) -> Answer | None:
        """Deviations that take a column to its level; none if there are none in the whole table."""
        price = np.where(suppressed, self._next_to_nothing, self.problem.cost)
        if len(self.problem) > _WHOLE:
            for width, climbs in _BOXES:
                box = self._neighbourhood.box(demand.column, demand.level, price, width, climbs=climbs)
                found = self.within(box, price, demand)
                if found is not None:
                    return found
        return self.within(np.arange(len(self.problem)), price, demand)

    def sparse(self, attacker: Attacker, demand: Demand) -> Answer | None:
        """Deviations of suppressed columns that take one to its level, through the fewest secondary ones."""
        price = np.where(self.problem.primary, self._next_to_nothing, self.problem.cost)
        return self.within(attacker.parts[attacker.part_of[demand.column]], price, demand)

    def within(self, columns: IntArray, price: FloatArray, demand: Demand) -> Answer | None:
        """The cheapest deviations of these columns that take one of them to its level; none if there are none."""
        problem, scale = self.problem, demand.level
        fixed = np.isin(columns, demand.known)
        up = np.where(fixed, 0.0, np.minimum(problem.upper[columns] / scale, _FARTHEST))
        down = np.where(fixed, 0.0, np.minimum(-problem.lower[columns] / scale, _FARTHEST))
        here = int(np.flatnonzero(columns == demand.column)[0])
        if (up if demand.sign > 0 else down)[here] < 1 - NEARLY:
            return None
        up[here], down[here] = (1.0, 0.0) if demand.sign > 0 else (0.0, 1.0)
        least = np.zeros(2 * len(columns))
        least[here if demand.sign > 0 else len(columns) + here] = 1.0 - NEARLY
        equations, origin = blocks(problem, [columns])[:2]
        found = linprog(
            np.tile(price[columns], 2), A_eq=sp.hstack([equations, -equations], format="csc"),
            b_eq=np.zeros(len(origin)), bounds=np.stack([least, np.append(up, down)], axis=1), method="highs",
        )  # fmt: skip
        if found.status != 0:
            return None
        deviations = found.x[: len(columns)] - found.x[len(columns) :]
        moved = np.abs(deviations) > _ZERO
        return Answer(columns[moved], deviations[moved] * scale, origin, np.zeros(0), demand.level)


def trimmed(problem: Problem, suppressed: BoolArray, progress: Progress = silent) -> BoolArray:
    """The suppression without secondary columns that it does not need, the most expensive tried first."""
    attacker = Attacker(problem, suppressed)
    if max((len(part) for part in attacker.parts), default=0) > _TRIMMED:
        return suppressed
    search, demands = _Search(problem), demands_of(problem)
    # what is not reached anyway asks for nothing: the audit tells what is wrong
    proofs = {i: proof for i, d in enumerate(demands) if (proof := search.sparse(attacker, d)) is not None}
    insiders = len(set(Solutions.of(problem, suppressed).found_out(problem)))
    secondary = np.flatnonzero(suppressed & ~problem.primary)
    for number, column in enumerate(secondary[np.argsort(-problem.cost[secondary], kind="stable")].tolist()):
        progress(number / len(secondary), "publishing cells that need not be suppressed")
        without = suppressed.copy()
        without[column] = False
        using = [i for i, proof in proofs.items() if column in proof.columns]
        again = _again(search, Attacker(problem, without), {i: demands[i] for i in using})
        if again is None or len(set(Solutions.of(problem, without).found_out(problem))) > insiders:
            continue
        suppressed = without
        proofs |= again
    progress(1.0, "publishing cells that need not be suppressed")
    return suppressed


def _again(search: _Search, attacker: Attacker, demands: Mapping[int, Demand]) -> dict[int, Answer] | None:
    """New proofs for demands; none if one of them cannot be met."""
    made = {}
    for number, demand in demands.items():
        proof = search.sparse(attacker, demand)
        if proof is None:
            return None
        made[number] = proof
    return made
