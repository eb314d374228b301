"""The automatic search: questions are composed until the target's value follows from the answers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import EVERYBODY, NOBODY, CategorySet, Condition, Formula, all_of, any_of
from microveil.queries.red_team.base import TargetAttack, needs_register
from microveil.queries.red_team.intruder import Intruder, complement
from microveil.queries.red_team.linear_systems import weights_for
from microveil.queries.red_team.readings import Claim, Reading
from microveil.typing import BoolArray, FloatArray

_DETERMINED = 1e-9
_LONGEST = 400  # characters of a formula; longer ones are not changed any further


@parameterised
class AutomaticSearch(TargetAttack):
    """Knows no attack. It makes formulas of conditions on known attributes, changes those that were answered, and asks
    next whatever brings the target nearest to following from all answers; what was refused is not asked again.

    How near a question brings it is the length of the target's unit vector in the row space of the query sets. A value
    follows when it lies in there; it is then computed from exact weights. Where answers are noisy, questions go on and
    the weights are those of least variance. It gives up after `patience` questions for a target.
    """

    name: ClassVar[str] = "automatic-search"
    family: ClassVar[str] = "search"
    summary: ClassVar[str] = "composes questions until a value follows from the answers, or gives up"
    source: ClassVar[str] = "Cretu et al. (2022); Stevanoski, Cretu and de Montjoye (2024)"

    patience: int = parameter(default=40, ge=2, le=100_000, help="questions for a target after which it gives up")
    pool: int = parameter(default=40, ge=2, le=10_000, help="formulas of which the most promising is asked")

    def why_not(self, intruder: Intruder) -> str | None:
        return needs_register(intruder)

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        search = _Search(intruder, target)
        for _ in range(self.patience):
            formula = search.most_promising(self.pool)
            if formula is None:
                break
            search.ask(formula)
            if intruder.is_certain and search.left < _DETERMINED:
                break
        found = search.value()
        return None if found is None else Claim(target, found.value, is_certain=intruder.is_certain)


class _Search:
    """The formulas that were answered, the sets of records that they mean, and an orthonormal basis of these."""

    def __init__(self, intruder: Intruder, target: int) -> None:
        self.intruder, self.target = intruder, target
        self.records = intruder.knowledge.records
        self.own = [intruder.condition(target, name) for name in intruder.knowledge.attributes]
        self.formulas: list[Formula] = []
        self.sets: list[BoolArray] = []
        self.readings: list[Reading] = []
        self.tried: set[bytes] = set()
        self.basis: FloatArray = np.zeros((0, self.records))
        self.smallest_answered = self.records

    @property
    def left(self) -> float:
        """How much of the target's unit vector lies outside the row space, squared."""
        return 1.0 - float(np.sum(self.basis[:, self.target] ** 2))

    def most_promising(self, pool: int) -> Formula | None:
        """The formula of a pool that would leave least of the target's unit vector."""
        best: tuple[float, Formula] | None = None
        for _ in range(pool):
            formula = self._changed() if self.formulas and self.intruder.rng.random() < 0.6 else self._fresh()
            if formula in (EVERYBODY, NOBODY) or len(str(formula)) > _LONGEST:
                continue
            inside = self._inside(formula)
            if np.packbits(inside).tobytes() in self.tried or not inside.any():
                continue
            gain = self._gain(inside)
            if best is None or gain > best[0]:
                best = gain, formula
        return None if best is None else best[1]

    def _inside(self, formula: Formula) -> BoolArray:
        inside = np.zeros(self.records, dtype=bool)
        inside[self.intruder.knowledge.members(formula)] = True
        return inside

    def _gain(self, inside: BoolArray) -> float:
        rest = self._outside_basis(inside)
        length = float(rest @ rest)
        if length < _DETERMINED:
            # the same sum once more tells something only where answers are noisy
            return 0.0
        return float(rest[self.target] ** 2) / length

    def _outside_basis(self, inside: BoolArray) -> FloatArray:
        row = inside.astype(float)
        for _ in range(2):  # twice is enough against rounding
            row = row - self.basis.T @ (self.basis @ row)
        return np.asarray(row)

    def ask(self, formula: Formula) -> None:
        inside = self._inside(formula)
        self.tried.add(np.packbits(inside).tobytes())
        reading = self.intruder.total(formula)
        if reading is None:
            return
        self.formulas.append(formula)
        self.sets.append(inside)
        self.readings.append(reading)
        rest = self._outside_basis(inside)
        length = float(np.sqrt(rest @ rest))
        if length > 1e-6:
            self.basis = np.vstack([self.basis, rest / length])

    def _fresh(self) -> Formula:
        """A conjunction of some of what is known of the target, or the same with another category."""
        rng = self.intruder.rng
        count = int(rng.integers(1, min(4, len(self.own)) + 1))
        chosen = [self.own[place] for place in rng.permutation(len(self.own))[:count]]
        return all_of([self._mutated(c) if rng.random() < 0.2 else c for c in chosen])

    def _changed(self) -> Formula:
        """A formula that was answered, with a condition more, one fewer, or without somebody."""
        rng = self.intruder.rng
        formula = self.formulas[int(rng.integers(len(self.formulas)))]
        count = int(rng.integers(1, min(4, len(self.own)) + 1))
        some = all_of([self.own[place] for place in rng.permutation(len(self.own))[:count]])
        way = int(rng.integers(4))
        if way == 0:
            return all_of([formula, complement(some)])
        if way == 1:
            return any_of([formula, some])
        return all_of([formula, some]) if way == 2 else complement(formula)

    def _mutated(self, condition: Condition) -> Formula:
        values = condition.values
        if not isinstance(values, CategorySet):
            return complement(condition)
        place = int(self.intruder.rng.integers(values.domain))
        return Condition(condition.attribute, CategorySet(values.places ^ {place}, values.domain))

    def value(self) -> Reading | None:
        """The target's value, if it follows from the answers: exactly, or with the weights of least variance."""
        if not self.sets or self.left > 1e-6:
            return None
        sets = np.array(self.sets)
        weights = [float(w) for w in weights_for(sets, self.target) or ()]
        if not weights:
            return None
        if not self.intruder.is_certain:
            weights = _least_variance(sets, self.target)
        total = Reading(0.0, 0.0, 0.0)
        for weight, reading in zip(weights, self.readings, strict=True):
            total = total + reading.times(weight)
        return total


def _least_variance(sets: BoolArray, target: int) -> list[float]:
    """Weights that give the target's value with the least noise, if that grows with the size of a set."""
    columns, place = np.unique(sets, axis=1, return_inverse=True)
    wanted = np.zeros(columns.shape[1])
    wanted[np.ravel(place)[target]] = 1.0
    scale = np.sqrt(np.maximum(sets.sum(axis=1), 1))
    solved = np.linalg.lstsq((columns / scale[:, None]).T, wanted, rcond=None)[0]
    return list(map(float, solved / scale))
