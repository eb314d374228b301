"""More suppressed cells where levels are not reached, fewer where they are not needed.

A cell whose interval is too narrow gets a table of deviations that takes it to its level, at the least cost of cells to
suppress besides; what deviates there is suppressed (the linear relaxation of the heuristics by Fischetti and Salazar
(2001)). Then every secondary cell is offered for publication once more: a proof that does not use it still holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from microveil.progress import Part as Stretch
from microveil.progress import Progress, silent
from microveil.tables.attacker import NEARLY, Attacker, Question
from microveil.tables.audit import Audit, audit
from microveil.tables.problem import Problem
from microveil.tables.relations import Solutions
from microveil.typing import BoolArray, FloatArray

_ONE_BY_ONE = 5000  # columns up to which each cell gets deviations of its own
_ROUNDS = 20
_TRIMMED = 4000  # suppressed columns of a part times proofs that use one of them, as long as trimming is quick
_ZERO = 1e-7


@dataclass(frozen=True)
class Demand:
    """A column that must be able to deviate by a level, also for one who knows some columns."""

    column: int
    sign: int
    level: float
    known: tuple[int, ...] = ()


def reinforced(problem: Problem, suppressed: BoolArray, progress: Progress = silent) -> BoolArray:
    """The suppression with as many further columns as the levels and single contributors need.

    What no suppression can protect, because everyone knows too much beforehand, stays as it is; the audit says so.
    """
    hopeless: set[tuple[int, int, tuple[int, ...]]] = set()
    for number in range(_ROUNDS):
        progress(number / _ROUNDS, "widening intervals that are too narrow")
        found = audit(problem, suppressed, intervals=False)
        demands = [d for d in open_demands(problem, found) if (d.column, d.sign, d.known) not in hopeless]
        if not demands:
            break
        suppressed = suppressed.copy()
        if len(problem) > _ONE_BY_ONE and len(demands) > 1:
            if not _together(problem, suppressed, demands):
                _one_by_one(problem, suppressed, demands[:50], hopeless)
        else:
            _one_by_one(problem, suppressed, demands, hopeless)
    progress(1.0, "widening intervals that are too narrow")
    return suppressed


def open_demands(problem: Problem, found: Audit) -> list[Demand]:
    """What an audit found lacking, the largest levels first: they protect smaller ones on the way."""
    demands = []
    for column in np.flatnonzero(found.short).tolist():
        for sign, reached, level in ((1, found.high, problem.up), (-1, -found.low, problem.down)):
            if level[column] > 0 and reached[column] < level[column] * (1 - NEARLY):
                demands.append(Demand(column, sign, float(level[column])))
    demands.sort(key=lambda demand: -demand.level)
    for who, column in found.found_out:
        own = tuple(np.flatnonzero((problem.insider == who) & found.suppressed).tolist())
        level = max(problem.up[column], problem.down[column])
        demands.append(Demand(column, 1 if problem.up[column] > 0 else -1, float(level), own))
    return demands


def _one_by_one(
    problem: Problem, suppressed: BoolArray, demands: Sequence[Demand], hopeless: set[tuple[int, int, tuple[int, ...]]]
) -> None:
    for demand in demands:
        deviations = cheapest_deviations(problem, suppressed, demand)
        if deviations is None:
            hopeless.add((demand.column, demand.sign, demand.known))
        else:
            suppressed |= np.abs(deviations) > _ZERO * demand.level


def cheapest_deviations(problem: Problem, suppressed: BoolArray, demand: Demand) -> FloatArray | None:
    """Deviations that take a column to its level, through columns that cost the least; none if there are none."""
    size, scale = len(problem), demand.level
    up, down = problem.upper / scale, -problem.lower / scale
    fixed = np.zeros(size, dtype=bool)
    fixed[list(demand.known)] = True
    up, down = np.where(fixed, 0.0, np.minimum(up, 1e6)), np.where(fixed, 0.0, np.minimum(down, 1e6))
    bounds = np.stack([np.zeros(2 * size), np.append(up, down)], axis=1)
    forward, back = (demand.column, size + demand.column) if demand.sign > 0 else (size + demand.column, demand.column)
    bounds[forward], bounds[back] = 1.0, 0.0
    if (demand.sign > 0 and up[demand.column] < 1) or (demand.sign < 0 and down[demand.column] < 1):
        return None
    cost = np.where(suppressed, 1e-6 * float(problem.cost.mean()), problem.cost)
    equations = sp.hstack([problem.equations, -problem.equations], format="csr")
    found = linprog(
        np.tile(cost, 2), A_eq=equations, b_eq=np.zeros(equations.shape[0]), bounds=bounds, method="highs"
    )
    return (found.x[:size] - found.x[size:]) * scale if found.status == 0 else None


def _together(problem: Problem, suppressed: BoolArray, demands: Sequence[Demand]) -> bool:
    """Deviations that serve many demands at once, in both directions; whether any columns were added."""
    size, columns = len(problem), np.unique([demand.column for demand in demands if not demand.known])
    if not len(columns):
        return False
    levels = np.maximum(problem.up, problem.down)[columns]
    scale = float(np.median(levels))
    both = np.minimum(problem.upper, -problem.lower) / scale  # what may go both ways
    signs = np.where(np.arange(len(columns)) % 2, 1.0, -1.0)
    many = len(columns)
    bounds = np.stack([np.zeros(2 * size + many), np.concatenate([both, both, np.ones(many)])], axis=1)
    cost = np.where(suppressed, 1e-6 * float(problem.cost.mean()), problem.cost)
    reward = 10.0 * float(problem.cost.max()) * float(np.maximum(levels / scale, 1).max())
    reached = sp.csr_array(
        (np.concatenate([-signs, signs, levels / scale]), (np.tile(np.arange(many), 3), np.concatenate([columns, size + columns, 2 * size + np.arange(many)]))),
        shape=(many, 2 * size + many),
    )  # fmt: skip
    equations = sp.hstack(
        [problem.equations, -problem.equations, sp.csr_array((problem.equations.shape[0], many))], format="csr"
    )
    found = linprog(
        np.concatenate([cost, cost, np.full(many, -reward)]), A_ub=reached, b_ub=np.zeros(many), A_eq=equations,
        b_eq=np.zeros(equations.shape[0]), bounds=bounds, method="highs",
    )  # fmt: skip
    if found.status != 0:
        return False
    deviations = np.abs(found.x[:size] - found.x[size : 2 * size])
    before = int(suppressed.sum())
    suppressed |= deviations > _ZERO
    return int(suppressed.sum()) > before


def trimmed(problem: Problem, suppressed: BoolArray, progress: Progress = silent) -> BoolArray:
    """The suppression without secondary columns that it does not need, the most expensive tried first."""
    if not suppressed.any():
        return suppressed
    attacker = Attacker(problem, suppressed)
    if max(len(part.columns) for part in attacker.parts) > _TRIMMED // 4:
        return suppressed
    questions = _questions(problem, suppressed)
    proofs = _proofs(attacker, questions)
    if any(proof is None for proof in proofs):
        return suppressed  # not protected anyway: the audit tells what is wrong
    kept = [proof for proof in proofs if proof is not None]
    insiders = len(set(Solutions.of(problem, suppressed).found_out(problem)))
    secondary = np.flatnonzero(suppressed & ~problem.primary)
    for number, column in enumerate(secondary[np.argsort(-problem.cost[secondary], kind="stable")].tolist()):
        Stretch(progress, 0.0, 1.0)(number / len(secondary), "publishing cells that need not be suppressed")
        without = suppressed.copy()
        without[column] = False
        using = [i for i, proof in enumerate(kept) if abs(proof[column]) > _ZERO * questions[i].level]
        again = _proofs(Attacker(problem, without), [questions[i] for i in using]) if using else []
        if any(proof is None for proof in again):
            continue
        if len(set(Solutions.of(problem, without).found_out(problem))) > insiders:
            continue
        suppressed = without
        for i, proof in zip(using, again, strict=True):
            assert proof is not None
            kept[i] = proof
    progress(1.0, "publishing cells that need not be suppressed")
    return suppressed


def _questions(problem: Problem, suppressed: BoolArray) -> list[Demand]:
    columns = np.flatnonzero(problem.primary & suppressed).tolist()
    ends = ((1, problem.up), (-1, problem.down))
    return [Demand(c, sign, float(level[c])) for c in columns for sign, level in ends if level[c] > 0]


def _proofs(attacker: Attacker, demands: Sequence[Demand]) -> list[FloatArray | None]:
    """For each demand the deviations of all columns in a table that meets it; none where there is none."""
    asked = [Question(d.column, d.sign, d.known) for d in demands]
    made: list[FloatArray | None] = []
    for demand, deviations in zip(demands, attacker.deviations(asked), strict=True):
        part = attacker.parts[attacker.part_of[demand.column]]
        whole = np.zeros(len(attacker.problem))
        whole[part.columns] = deviations
        enough = abs(whole[demand.column]) >= demand.level * (1 - NEARLY)
        made.append(whole if enough else None)
    return made
