"""The difference of two means."""

from __future__ import annotations

from typing import ClassVar

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import Formula
from microveil.queries.questions import Question
from microveil.queries.red_team.addressing import differs_by_target, splits
from microveil.queries.red_team.base import TargetAttack, claimed, needs_numbers
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.readings import Claim, Reading


@parameterised
class MeanDifference(TargetAttack):
    """Two groups that differ in one member, their means and their sizes: x = N_A mean_A - N_B mean_B.

    Four questions for each target: two means, and two counts of the records in which the value is not missing. Where
    counts are refused, the register tells the sizes. It shows that means are as telling as sums.
    """

    name: ClassVar[str] = "mean-difference"
    family: ClassVar[str] = "difference"
    summary: ClassVar[str] = "takes the means of two sets that differ by one record from each other"
    source: ClassVar[str] = "Fayyoumi (2008), chapter 1"

    attempts: int = parameter(default=6, ge=1, le=1000, help="ways of splitting the conditions that are tried")

    def why_not(self, intruder: Intruder) -> str | None:
        return needs_numbers(intruder)

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        pairs = sorted(splits(intruder, target), key=lambda pair: intruder.size(pair[0]) or 0)
        for larger, smaller in pairs[: self.attempts]:
            if not differs_by_target(intruder, larger, smaller):
                continue
            records, fewer = _measured(intruder, larger), _measured(intruder, smaller)
            mean = intruder.mean(larger)
            other = intruder.mean(smaller) if mean is not None else None
            if mean is not None and other is not None and records and fewer:
                return claimed(intruder, target, mean.times(records) - other.times(fewer))
        return None


def _measured(intruder: Intruder, where: Formula) -> int | None:
    """The number of records that a mean is taken over."""
    counted = Reading.of(intruder.answer(Question("count", intruder.secret.attribute, where)))
    return round(counted.value) if counted is not None and intruder.is_certain else intruder.size(where)
