"""Missing values as a channel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import ClassVar

from microveil.parameters import parameterised
from microveil.queries.conditions import Condition, Formula, all_of
from microveil.queries.questions import Question
from microveil.queries.red_team.addressing import differs_by_target, identifying, splits
from microveil.queries.red_team.base import Sought, TargetAttack
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.readings import Claim, Reading


@parameterised
class NullChannel(TargetAttack):
    """Learns whether the target's confidential value is missing: COUNT(x) counts the records in which x is there, and
    x IS NULL those in which it is not, in a set and in the same set without the target.

    Two questions for each target, four without a register. That a value is missing may be confidential itself: whoever
    refused to tell an income had one.
    """

    name: ClassVar[str] = "null-channel"
    family: ClassVar[str] = "channel"
    summary: ClassVar[str] = "learns whether a confidential value is missing"
    source: ClassVar[str] = "Fayyoumi (2008), chapter 1"
    missing: ClassVar[str] = "that a value is missing is what the attack looks for"
    seeks: ClassVar[Sought] = "missing"

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        conditions = identifying(intruder, target)
        if conditions is None:
            return None
        for present, question in self._questions(intruder, all_of(conditions)):
            alone = Reading.of(intruder.answer(question))
            if alone is not None:
                return self._claim(intruder, target, alone.value, present)
        for c1, tracker in itertools.islice(splits(intruder, target), 3):
            if not differs_by_target(intruder, c1, tracker):
                continue
            forms = zip(self._questions(intruder, c1), self._questions(intruder, tracker), strict=True)
            for (present, whole), (_, rest) in forms:
                first = Reading.of(intruder.answer(whole))
                second = Reading.of(intruder.answer(rest)) if first is not None else None
                if first is not None and second is not None:
                    return self._claim(intruder, target, first.value - second.value, present)
        return None

    def _claim(self, intruder: Intruder, target: int, counted: float, present: bool) -> Claim:
        held = float(round(counted))
        return Claim(target, 1.0 - held if present else held, is_certain=intruder.is_certain)

    def _questions(self, intruder: Intruder, where: Formula) -> Iterator[tuple[bool, Question]]:
        """Counts of the records in which the value is there, or is missing."""
        name = intruder.secret.attribute
        empty = intruder.facts.fields[name].nothing
        yield True, Question("count", name, where)
        yield False, Question("count", None, all_of([where, Condition(name, empty, or_missing=True)]))
