"""The stated precision as a channel."""

from __future__ import annotations

import itertools
from typing import ClassVar

from microveil.parameters import parameterised
from microveil.queries.conditions import Condition, all_of
from microveil.queries.questions import Question
from microveil.queries.red_team.addressing import differs_by_target, splits
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.oracles import OracleAttack


@parameterised
class StatedPrecision(OracleAttack):
    """Reads the standard deviation that comes with a noisy count: where it depends on how many records were counted, it
    tells that number, and two groups that differ by the target tell the target's value.

    Two questions for each class, or for each halving of a number. Exact answers, which have no deviation, are compared
    themselves.
    """

    name: ClassVar[str] = "stated-precision"
    family: ClassVar[str] = "channel"
    summary: ClassVar[str] = "reads the size of a set from the standard deviation that is stated of its noise"
    source: ClassVar[str] = "Gadotti et al. (2019)"

    def says(self, intruder: Intruder, target: int, condition: Condition) -> bool | None:
        pairs = sorted(itertools.islice(splits(intruder, target), 20), key=lambda pair: intruder.size(pair[0]) or 0)
        for (c1, tracker), turned in itertools.product(pairs[:3], (False, True)):
            if not differs_by_target(intruder, c1, tracker):
                continue
            chosen = condition.of_other_values() if turned else condition
            answers = [intruder.answer(Question("count", None, all_of([group, chosen]))) for group in (c1, tracker)]
            if any(answer.is_refused for answer in answers):
                continue
            if not intruder.is_certain and any(answer.deviation is None for answer in answers):
                return None
            told = [a.value if a.deviation is None else a.deviation for a in answers]
            return bool(told[0] != told[1]) != turned
        return None
