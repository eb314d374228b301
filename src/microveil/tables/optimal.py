"""Optimal secondary suppression by cutting planes, after Fischetti and Salazar (2001).

The master program chooses columns at the least cost. For its choice an attacker's linear program is solved for every
level; where one is not reached, its dual says which columns could have helped, and at least so much of them must be
chosen from now on. Cuts are first taken from the linear relaxation of the master, where they are cheap. At any time the
cost of the master is a lower bound, and the best suppression that passed the audit an upper one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from microveil.progress import Progress, Rising, silent
from microveil.tables.attacker import NEARLY, Answer, Attacker, Question
from microveil.tables.audit import audit
from microveil.tables.problem import Problem
from microveil.tables.reinforcement import Demand, demands_of, reinforced, trimmed
from microveil.tables.relations import Solutions
from microveil.typing import BoolArray, FloatArray

_TINY = 1e-7
_FOR_RELAXATION = 0.5  # of the time at most
_STALLED = 4  # rounds of the relaxation that gain nothing before whole numbers are asked for


@dataclass(frozen=True)
class Optimum:
    """The best suppression found, and what is known of the best there is, both as the cost of secondary columns."""

    suppressed: BoolArray
    cost: float
    bound: float

    @property
    def proved(self) -> bool:
        return self.gap <= 1e-4

    @property
    def gap(self) -> float:
        """How much cheaper a suppression could still be, as a share of the cost."""
        return max(self.cost - self.bound, 0.0) / self.cost if self.cost > 0 else 0.0


@dataclass
class _Cuts:
    """Inequalities `coefficients @ chosen >= 1`, each once."""

    problem: Problem
    rows: list[FloatArray] = field(default_factory=list)
    lowest: list[float] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)

    def add(self, coefficients: FloatArray, least: float = 1.0) -> bool:
        mark = np.append(np.round(coefficients, 6), least).tobytes()
        if mark in self._seen:
            return False
        self._seen.add(mark)
        self.rows.append(coefficients)
        self.lowest.append(least)
        return True

    def add_level(self, coefficients: FloatArray, level: float) -> bool:
        """Of what the columns contribute to a level; primary ones do so anyway."""
        share = np.where(coefficients > 1e-9 * level, coefficients / level, 0.0)
        rest = 1.0 - float(share[self.problem.primary].sum())
        if rest <= 1e-6:
            return False
        return self.add(np.where(self.problem.primary, 0.0, np.minimum(share / rest, 1.0)))

    @property
    def matrix(self) -> sp.csr_array:
        return sp.csr_array(np.array(self.rows).reshape(len(self.rows), len(self.problem)))


def optimal_suppression(
    problem: Problem, start: BoolArray, *, time_limit: float = 300.0, progress: Progress = silent
) -> Optimum:
    """The cheapest suppression that reaches all levels, from one that does; the best found when the time is over."""
    began, report = time.monotonic(), Rising(progress)
    cost = np.where(problem.primary, 0.0, problem.cost)
    best, best_cost, bound = start, float(cost[start].sum()), 0.0
    demands = demands_of(problem)
    cuts = _Cuts(problem)

    def left(share: float = 1.0) -> float:
        return share * time_limit - (time.monotonic() - began)

    def tell() -> None:
        share = min(1.0, (time.monotonic() - began) / max(time_limit, 1e-9))
        report(min(0.99, share), f"optimal suppression: at most {best_cost:,.6g}, at least {bound:,.6g}")

    chosen, stalled = problem.primary.astype(np.float64), 0
    while left(_FOR_RELAXATION) > 0 and stalled < _STALLED:
        tell()
        if not _separate(problem, chosen, demands, cuts):
            break
        relaxed = linprog(
            cost, A_ub=-cuts.matrix, b_ub=-np.array(cuts.lowest),
            bounds=np.stack([problem.primary.astype(float), np.ones(len(problem))], axis=1), method="highs",
        )  # fmt: skip
        if relaxed.status != 0:
            return Optimum(best, best_cost, bound)  # some level cannot be reached: the audit of the start tells which
        stalled = stalled + 1 if relaxed.fun <= bound + 1e-3 * abs(bound) else 0
        bound = max(bound, float(relaxed.fun))
        chosen = np.where(relaxed.x < _TINY, 0.0, relaxed.x)
    while left() > 0 and best_cost - bound > 1e-4 * best_cost:
        tell()
        found = milp(
            cost, constraints=LinearConstraint(cuts.matrix, lb=np.array(cuts.lowest) - 1e-7) if cuts.rows else None,
            integrality=np.ones(len(problem)), bounds=Bounds(problem.primary.astype(float), 1.0),
            options={"time_limit": max(left(), 0.1)},
        )  # fmt: skip
        if found.mip_dual_bound is not None:
            bound = max(bound, float(found.mip_dual_bound))
        if found.x is None:
            break
        suppressed = np.round(found.x) > 0.5
        clean = not _separate(problem, suppressed.astype(float), demands, cuts)
        if not clean and left() > 0.2 * time_limit:
            suppressed = trimmed(problem, reinforced(problem, suppressed))
        if float(cost[suppressed].sum()) < best_cost - 1e-9 and audit(problem, suppressed, intervals=False).passed:
            best, best_cost = suppressed, float(cost[suppressed].sum())
        if clean:
            break
    report(1.0, "optimal suppression")
    return Optimum(best, best_cost, min(bound, best_cost))


def _separate(problem: Problem, chosen: FloatArray, demands: Sequence[Demand], cuts: _Cuts) -> bool:
    """Add the inequalities that a choice violates; whether there were any."""
    added = _lonely(problem, chosen, cuts)
    attacker = Attacker(problem, chosen > 0, chosen)
    lists = attacker.answers([Question(d.column, d.sign) for d in demands])
    for demand, answer in zip(demands, itertools.chain.from_iterable(lists), strict=True):
        if answer.reached < demand.level * (1 - NEARLY):
            added |= cuts.add_level(_reach(problem, answer, demand), demand.level)
    if (chosen % 1 == 0).all():
        added |= _insiders(problem, chosen > 0, cuts)
    return added


def _reach(problem: Problem, answer: Answer, demand: Demand) -> FloatArray:
    """How much each column, if it is suppressed, lets the demand's column deviate at most, by these multipliers."""
    weights = np.zeros(problem.equations.shape[0])
    weights[answer.rows] = answer.multipliers
    reduced = -(problem.equations.T @ weights)
    reduced[demand.column] -= demand.sign
    reduced[np.abs(reduced) < 1e-9] = 0.0
    return np.asarray(np.where(reduced > 0, reduced * -problem.lower, -reduced * problem.upper), dtype=np.float64)


def _lonely(problem: Problem, chosen: FloatArray, cuts: _Cuts) -> bool:
    """A secondary column alone in an equation is determined there, so it would be of no use."""
    sums = abs(problem.equations) @ chosen
    added = False
    indptr, indices = problem.equations.indptr, problem.equations.indices
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    alone = np.flatnonzero((2 * chosen[indices] > sums[row] + 1e-6) & ~problem.primary[indices])
    for entry in alone.tolist():
        others = np.zeros(len(problem))
        others[indices[indptr[row[entry]] : indptr[row[entry] + 1]]] = 1.0
        others[indices[entry]] = -1.0
        if not problem.primary[indices[indptr[row[entry]] : indptr[row[entry] + 1]]].any():
            added |= cuts.add(others, 0.0)
    return added


def _insiders(problem: Problem, suppressed: BoolArray, cuts: _Cuts) -> bool:
    """Where a contributor's own value gives a primary column away, something else must be suppressed."""
    added = False
    for who, column in Solutions.of(problem, suppressed).found_out(problem):
        own = tuple(np.flatnonzero((problem.insider == who) & suppressed).tolist())
        attacker = Attacker(problem, suppressed)
        sign = 1 if problem.up[column] > 0 else -1
        question = Question(column, sign, own)
        [[answer]] = attacker.answers([question])
        helps = _reach(problem, answer, Demand(column, sign, 1.0)) > 1e-9
        helps[list(own)] = False
        if not (helps & suppressed).any() and helps.any():
            added |= cuts.add(np.where(helps, 1.0, 0.0))
    return added
