"""Averaging: the same question again and again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import ClassVar

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import Formula, all_of
from microveil.queries.red_team.addressing import differs_by_target, identifying, splits
from microveil.queries.red_team.base import TargetAttack, claimed
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.readings import Claim, Reading, mean_of


@parameterised
class Averaging(TargetAttack):
    """Asks the same question many times, half of them in other words that mean the same records, and averages.

    Noise that is drawn anew for every question, or for every wording, falls with the square root of the repetitions.
    Noise that belongs to the query set stays as it is.
    """

    name: ClassVar[str] = "averaging"
    family: ClassVar[str] = "averaging"
    summary: ClassVar[str] = "asks the same question again, in the same and in other words"
    source: ClassVar[str] = "Asghar and Kaafar (2020)"

    repetitions: int = parameter(default=20, ge=1, le=100_000, help="how often each question is asked")

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        conditions = identifying(intruder, target)
        if conditions is None:
            return None
        alone = self._averaged(intruder, target, all_of(conditions))
        if alone is not None:
            return claimed(intruder, target, alone)
        for c1, tracker in itertools.islice(splits(intruder, target), 2):
            if differs_by_target(intruder, c1, tracker):
                whole = self._averaged(intruder, target, c1)
                rest = self._averaged(intruder, target, tracker) if whole is not None else None
                if whole is not None and rest is not None:
                    return claimed(intruder, target, whole - rest)
        return None

    def _averaged(self, intruder: Intruder, target: int, formula: Formula) -> Reading | None:
        words = list(itertools.islice(reworded(intruder, target, formula), max(self.repetitions // 2, 1)))
        found = []
        for turn in range(self.repetitions):
            wording = words[turn % len(words)] if turn % 2 else formula
            reading = Reading.of(intruder.ask(intruder.secret.asked(wording)))
            if reading is None:
                break
            found.append(reading)
            if intruder.is_certain:
                break  # exact answers are not averaged
        return mean_of(found) if found else None


def reworded(intruder: Intruder, target: int, formula: Formula) -> Iterator[Formula]:
    """The same records in other words: with conditions that all of them meet."""
    yield formula
    size = intruder.size(formula)
    for name in intruder.knowledge.attributes:
        other = all_of([formula, intruder.condition(target, name)])
        if other != formula and size is not None and intruder.size(other) == size:
            yield other
