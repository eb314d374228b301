"""Range creep: the end of a range moves over one record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import EVERYBODY, Condition, Formula, NumberSet, Span, all_of
from microveil.queries.red_team.base import TargetAttack, claimed, needs_register
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.readings import Claim


@parameterised
class RangeCreep(TargetAttack):
    """Moves the end of a range of a known number, such as an age, over the target: the sum up to its value less the sum
    below it.

    Two questions for each target, of sets as large as one likes. It needs an attribute with numbers, and a condition
    within which nobody else has the target's number.
    """

    name: ClassVar[str] = "range-creep"
    family: ClassVar[str] = "difference"
    summary: ClassVar[str] = "moves the end of a range over one record"
    source: ClassVar[str] = "Francis et al. (2018)"

    attempts: int = parameter(default=6, ge=1, le=1000, help="ranges that are tried")

    def why_not(self, intruder: Intruder) -> str | None:
        fields = intruder.facts.fields
        if not any(fields[name].is_numeric for name in intruder.knowledge.attributes):
            return "no known attribute has numbers"
        return needs_register(intruder)

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        for attempt, (up_to, below) in enumerate(self._ranges(intruder, target)):
            if attempt == self.attempts:
                break
            whole = intruder.total(up_to)
            rest = intruder.total(below) if whole is not None else None
            if whole is not None and rest is not None:
                return claimed(intruder, target, whole - rest)
        return None

    def _ranges(self, intruder: Intruder, target: int) -> Iterator[tuple[Formula, Formula]]:
        """Ranges that end at the target's number and just before it, among all or among those like the target."""
        knowledge = intruder.knowledge
        for name in knowledge.attributes:
            if not intruder.facts.fields[name].is_numeric or np.isnan(knowledge.columns[name][target]):
                continue
            at = float(knowledge.columns[name][target])
            for others in self._surroundings(intruder, target, name):
                for low, high in (
                    ((-np.inf, at, True), (-np.inf, at, False)),
                    ((at, np.inf, True), (at, np.inf, False)),
                ):
                    pair = [all_of([others, _range(name, *ends)]) for ends in (low, high)]
                    sizes = [intruder.size(formula) or 0 for formula in pair]
                    if sizes[0] - sizes[1] == 1 and all(map(intruder.is_answerable, sizes)):
                        yield pair[0], pair[1]

    def _surroundings(self, intruder: Intruder, target: int, name: str) -> Iterator[Formula]:
        yield EVERYBODY
        others = [other for other in intruder.knowledge.attributes if other != name]
        for place, first in enumerate(others):
            yield intruder.condition(target, first)
            for second in others[place + 1 :]:
                yield all_of([intruder.condition(target, first), intruder.condition(target, second)])


def _range(name: str, low: float, high: float, closed: bool) -> Condition:
    open_low, open_high = low == -np.inf, high == np.inf
    return Condition(name, NumberSet.of(Span(low, high, closed and not open_low, closed and not open_high)))
