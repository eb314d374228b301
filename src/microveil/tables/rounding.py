"""Controlled rounding: every cell becomes a multiple of a base next to its value, and all totals still add up.

The nearest such table is found by integer programming (Cox (1987); Salazar-González (2005)). In more than two
dimensions, or with hierarchies, there may be none; then cells may go to the multiple after the next, and the result
says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from microveil.errors import DataError, ParameterError
from microveil.tables.problem import Problem
from microveil.typing import FloatArray

_WIDEST = 3
_MULTIPLE = 1e-9


@dataclass(frozen=True)
class Rounded:
    """The rounded values of the columns; `steps` is how many multiples from its value a cell may be: 1 is adjacent."""

    values: FloatArray
    base: float
    steps: int


def controlled_rounding(problem: Problem, base: float, *, time_limit: float = 300.0) -> Rounded:
    """The table of multiples of `base` that adds up and lies nearest to the true one; multiples stay as they are."""
    if not (np.isfinite(base) and base > 0):
        raise ParameterError("the base of rounding must be a positive number")
    multiples = problem.values / base
    if np.abs(multiples).max(initial=0.0) > 2.0**40:
        raise ParameterError("the base of rounding is too small for values of this size")
    whole = np.abs(multiples - np.round(multiples)) < _MULTIPLE * np.maximum(np.abs(multiples), 1)
    below = np.where(whole, np.round(multiples), np.floor(multiples))
    for steps in range(1, _WIDEST + 1):
        reach = steps - 1
        least = np.where(whole & (steps == 1), 0, -reach)
        most = np.where(whole, reach, steps)
        if not (problem.values < 0).any():
            least = np.maximum(least, -below)
            most, least = np.where(problem.values == 0, 0, most), np.where(problem.values == 0, 0, least)
        found = _nearest(problem, multiples - below, below, least, most, time_limit)
        if found is not None:
            return Rounded((below + found) * base, base, steps)
    raise DataError(f"no table of multiples of {base:g} near this one adds up; choose a larger base or suppression")


def _nearest(
    problem: Problem, rest: FloatArray, below: FloatArray, least: FloatArray, most: FloatArray, time_limit: float
) -> FloatArray | None:
    """Steps up from the multiples below: whole numbers and, beside them, the distances that are to be small."""
    size = len(problem)
    one = sp.eye_array(size, format="csr")
    constraints = [
        LinearConstraint(
            sp.hstack([problem.equations, sp.csr_array(problem.equations.shape)], format="csr"),
            -(problem.equations @ below), -(problem.equations @ below),
        ),
        LinearConstraint(sp.hstack([one, -one], format="csr"), -np.inf, rest),
        LinearConstraint(sp.hstack([-one, -one], format="csr"), -np.inf, -rest),
    ]  # fmt: skip
    found = milp(
        np.append(np.zeros(size), np.ones(size)), constraints=constraints,
        integrality=np.append(np.ones(size), np.zeros(size)),
        bounds=Bounds(np.append(least, np.zeros(size)), np.append(most, np.full(size, np.inf))),
        options={"time_limit": time_limit, "mip_rel_gap": 0.01},
    )  # fmt: skip
    return None if found.x is None else np.round(found.x[:size])
