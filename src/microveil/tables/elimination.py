"""Secondary suppression by Gaussian elimination, in the spirit of Langsrud (2024).

Cells are offered for publication, the most valuable first. One is published unless a primary cell could then be
computed from what is published, that is unless the primary cell's unit vector would enter the space that the equations
and the published cells span. So the suppression protects against exact disclosure by construction. Levels of protection
and single contributors come afterwards (`reinforcement`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from microveil.tables.problem import Problem
from microveil.typing import BoolArray, IntArray

_WHOLE = 3000  # columns up to which all cells are offered
_CHEAPEST = 4  # cells of each equation that remain candidates for suppression in a larger table


def eliminate(problem: Problem) -> BoolArray:
    """The columns to suppress, primary ones included."""
    candidates = np.ones(len(problem), dtype=bool)
    per_equation = _CHEAPEST
    while True:
        if len(problem) > _WHOLE:
            candidates = _candidates(problem, per_equation)
        suppressed, exposed = _eliminated(problem, candidates)
        if not exposed or candidates.all():
            return suppressed
        per_equation *= 2


def _eliminated(problem: Problem, candidates: BoolArray) -> tuple[BoolArray, bool]:
    """The elimination among candidates, all others being published; and whether a primary column was determined from
    the beginning."""
    from microveil.numerics.linear.modular_elimination import KEPT, eliminated

    among = np.flatnonzero(candidates)
    order = among[np.lexsort((-problem.cost[among], problem.primary[among]))]
    equations = sp.csr_array(problem.by_column[:, order])
    equations = sp.csr_array(equations[np.flatnonzero(np.diff(equations.indptr) > 0)])
    equations.sort_indices()
    primary = problem.primary[order]
    outcome, pivot, starts, _, _ = eliminated(
        equations.indptr.astype(np.int64), equations.indices.astype(np.int64), equations.data.astype(np.int64),
        len(order), primary, np.ones(len(order), dtype=bool),
    )  # fmt: skip
    alone = pivot[(pivot >= 0) & (np.diff(starts) == 1)]
    suppressed = problem.primary.copy()
    suppressed[order[outcome == KEPT]] = True
    return suppressed, bool(primary[alone].any())


def _candidates(problem: Problem, per_equation: int) -> BoolArray:
    """Primary columns, and of every equation that has a candidate its cheapest others, until nothing is added."""
    candidates = problem.primary.copy()
    cheap, pattern = _cheapest(problem, per_equation), abs(problem.equations)
    while True:
        touched: IntArray = np.flatnonzero(pattern @ candidates)
        added = np.asarray(cheap[touched].sum(axis=0)).ravel() > 0
        if not (added & ~candidates).any():
            return candidates
        candidates = candidates | added


def _cheapest(problem: Problem, per_equation: int) -> sp.csr_array:
    """The cheapest columns of each equation that are not primary, as a matrix of ones."""
    equations = problem.equations
    sizes = np.diff(equations.indptr)
    row = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((problem.cost[equations.indices], problem.primary[equations.indices], row))
    rank = np.arange(len(order)) - equations.indptr[:-1][row]
    chosen = rank < per_equation
    chosen &= ~problem.primary[equations.indices[order]]
    return sp.csr_array((np.ones(int(chosen.sum())), (row[chosen], equations.indices[order][chosen])), equations.shape)
