"""Linear reconstruction: many noisy sums over random sets, and a linear program that fits all values to them."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import Formula
from microveil.queries.red_team.addressing import Addresses
from microveil.queries.red_team.base import QueryAttack, needs_register
from microveil.queries.red_team.intruder import Intruder, OutOfQuestionsError
from microveil.queries.red_team.readings import Claim
from microveil.typing import BoolArray, FloatArray

_EXACT = 1.5  # questions for each person that are enough where answers are exact
_REFUSALS = 25  # one after the other, after which it gives up


@parameterised
class LinearReconstruction(QueryAttack):
    """Asks for the sums over random halves of some people and finds the values, within their limits, of which the sums
    differ least from the answers: the least sum of absolute differences, by linear programming.

    With noise well below the square root of the number of people, a few questions for each are enough to find nearly
    all values. Refused questions are left out. `records` people around the targets are reconstructed with as many
    questions as `oversampling` times their number.
    """

    name: ClassVar[str] = "linear-reconstruction"
    family: ClassVar[str] = "linear system"
    summary: ClassVar[str] = "fits all values to noisy sums over random sets, by linear programming"
    source: ClassVar[str] = "Dinur and Nissim (2003); Cohen and Nissim (2020b)"

    records: int = parameter(default=30, ge=2, le=10_000, help="people whose values are reconstructed")
    oversampling: float = parameter(default=33.0, gt=0, le=1000, help="questions for each of them")
    solver: Literal["linear program", "least squares"] = parameter(
        default="linear program", help="how values are fitted to the answers"
    )

    def why_not(self, intruder: Intruder) -> str | None:
        return needs_register(intruder)

    def attempt(self, intruder: Intruder) -> list[Claim]:
        people, sets, sums = self.asked(intruder)
        if not len(sums):
            return []
        limits = intruder.facts.fields[intruder.secret.attribute].range if intruder.secret.place is None else (0.0, 1.0)
        values = fitted(sets, sums, limits, self.solver)
        # exact answers that determine everything leave no freedom
        certain = intruder.is_certain and bool(np.linalg.matrix_rank(sets.astype(float)) == len(people))
        wanted = set(intruder.knowledge.targets)
        claims = zip(people, values.tolist(), strict=True)
        return [Claim(person, value, is_certain=certain) for person, value in claims if person in wanted]

    def asked(self, intruder: Intruder) -> tuple[list[int], BoolArray, FloatArray]:
        """The people, the sets of them that were answered, and the answers."""
        addresses = Addresses(intruder)
        smallest = intruder.facts.smallest_set
        limit = max(self.records, 3 * smallest)
        people = addresses.addressable(limit, first=intruder.knowledge.targets)
        sets, sums, refused = [], [], 0
        if len(people) < 2:
            return people, np.zeros((0, len(people)), dtype=bool), np.zeros(0)
        try:
            needed = min(self.oversampling, _EXACT) if intruder.is_certain else self.oversampling
            for _ in range(int(needed * len(people))):
                inside = intruder.rng.random(len(people)) < 0.5
                formula = _formula(addresses, people, inside)
                reading = None if formula is None else intruder.total(formula)
                refused = refused + 1 if reading is None else 0
                if reading is not None:
                    sets.append(inside)
                    sums.append(reading.value)
                if refused == _REFUSALS:
                    break
        except OutOfQuestionsError:
            pass
        return people, np.array(sets, dtype=bool).reshape(len(sets), len(people)), np.array(sums, dtype=float)


def _formula(addresses: Addresses, people: list[int], inside: BoolArray) -> Formula | None:
    chosen = [person for person, taken in zip(people, inside.tolist(), strict=True) if taken]
    return addresses.formula(chosen) if chosen else None


def fitted(sets: BoolArray, sums: FloatArray, limits: tuple[float, float] | None, solver: str) -> FloatArray:
    """The values of which the sums over sets are nearest to the answers."""
    from scipy.optimize import linprog, lsq_linear
    from scipy.sparse import csr_matrix, hstack, identity

    count, people = sets.shape
    matrix = sets.astype(float)
    low, high = limits or (-np.inf, np.inf)
    if solver == "least squares":
        found: FloatArray = lsq_linear(matrix, sums, bounds=(low, high)).x
        return found
    cost = np.concatenate([np.zeros(people), np.ones(2 * count)])
    equations = hstack([csr_matrix(matrix), identity(count), -identity(count)]).tocsr()
    scale = max(1.0, float(np.abs(sums).max()))  # the solver's tolerances are absolute
    bounds = np.concatenate([np.tile([low / scale, high / scale], (people, 1)), np.tile([0.0, np.inf], (2 * count, 1))])
    solved = linprog(
        cost, A_eq=equations, b_eq=sums / scale, bounds=bounds, method="highs-ds" if count < 400 else "highs-ipm"
    )
    return np.full(people, np.nan) if solved.x is None else np.asarray(solved.x[:people] * scale)
