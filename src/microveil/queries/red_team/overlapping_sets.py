"""Overlapping query sets: a linear system of small overlaps that determines one value."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.parameters import parameter, parameterised
from microveil.queries.red_team.addressing import Addresses
from microveil.queries.red_team.base import TargetAttack, claimed, needs_register
from microveil.queries.red_team.intruder import Intruder, shuffled
from microveil.queries.red_team.linear_systems import weights_for
from microveil.queries.red_team.readings import Claim, Reading


@parameterised
class OverlappingSets(TargetAttack):
    """Query sets of s records of which any two share at most one: s sets of the target with s - 1 others each, and the
    s - 1 sets across them. The sums of the first less those of the second are s times the target's value.

    2 s - 1 questions for each target, which is as few as an overlap of one allows for s = 3. Values are taken from an
    exact solution of the linear system, and only where it determines them.
    """

    name: ClassVar[str] = "overlapping-sets"
    family: ClassVar[str] = "linear system"
    summary: ClassVar[str] = "solves sums over sets that share at most one record for one value"
    source: ClassVar[str] = "Dobkin, Jones and Lipton (1979)"

    size: int = parameter(default=3, ge=2, le=100, help="records of a query set; more where a control asks for more")

    def why_not(self, intruder: Intruder) -> str | None:
        return needs_register(intruder)

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        size = max(self.size, intruder.facts.smallest_set)
        # a value may be missing in others, which makes query sets smaller than they look
        for attempt, larger in enumerate((size, size, size + 1)):
            found = self._attempted(intruder, target, larger, in_order=attempt == 0)
            if found is not None:
                return claimed(intruder, target, found)
        return None

    def _attempted(self, intruder: Intruder, target: int, size: int, *, in_order: bool) -> Reading | None:
        addresses, needed = Addresses(intruder), size * (size - 1)
        people = addresses.addressable(needed + 1 if in_order else 4 * needed + 1, first=[target])
        if len(people) < needed + 1 or people[0] != target:
            return None
        others = people[1:] if in_order else shuffled(intruder.rng, people[1:])[:needed]
        grid = np.array(others).reshape(size, size - 1)
        sets = [[target, *row] for row in grid.tolist()] + grid.T.tolist()
        readings = []
        for members in sets:
            formula = addresses.formula(members)
            reading = None if formula is None else intruder.total(formula)
            if reading is None:
                return None
            readings.append(reading)
        return solved(intruder, sets, readings, target)


def solved(intruder: Intruder, sets: list[list[int]], readings: list[Reading], target: int) -> Reading | None:
    """The value of the target from the sums over sets of people, where it follows from them."""
    inside = np.zeros((len(sets), intruder.knowledge.records), dtype=bool)
    for row, members in zip(inside, sets, strict=True):
        row[members] = True
    weights = weights_for(inside, target)
    if weights is None:
        return None
    total = Reading(0.0, 0.0, 0.0)
    for weight, reading in zip(weights, readings, strict=True):
        total = total + reading.times(float(weight))
    return total
