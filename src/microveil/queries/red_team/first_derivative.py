"""The first-derivative difference: where two histograms differ, there the target is."""

from __future__ import annotations

from typing import ClassVar

from microveil.parameters import parameterised
from microveil.queries.conditions import Condition, Formula, all_of
from microveil.queries.red_team.addressing import differs_by_target, splits
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.oracles import OracleAttack

_SAME = 1e-9


@parameterised
class FirstDerivativeDifference(OracleAttack):
    """Counts the values of the confidential attribute, class by class, in two groups that differ by the target: the
    answers are the same in all classes but the target's.

    Noise that belongs to the records that are counted does not help: where the target is not, these are the same
    records and the answers agree to the last digit. Two questions for each class, or for each halving of a number.
    """

    name: ClassVar[str] = "first-derivative-difference"
    family: ClassVar[str] = "noise"
    summary: ClassVar[str] = "finds the class in which counts of two groups that differ by one record change"
    source: ClassVar[str] = "Francis et al. (2018); Gadotti et al. (2019)"

    def says(self, intruder: Intruder, target: int, condition: Condition) -> bool | None:
        pairs = sorted(splits(intruder, target), key=lambda pair: intruder.size(pair[0]) or 0)
        # small sets have least noise; in large ones no class is empty
        for c1, tracker in [*pairs[:1], *pairs[1:][-1:], *pairs[1:2]]:
            if differs_by_target(intruder, c1, tracker):
                told = self._differ(intruder, condition, c1, tracker)
                if told is not None:
                    return told
        return None

    def _differ(self, intruder: Intruder, condition: Condition, c1: Formula, tracker: Formula) -> bool | None:
        """Whether a class has other counts with the target and without; where classes are small, what is outside."""
        for turned, chosen in enumerate((condition, condition.of_other_values())):
            first = intruder.count(all_of([c1, chosen]))
            second = intruder.count(all_of([tracker, chosen])) if first is not None else None
            if first is not None and second is not None:
                return bool(abs(first.value - second.value) > _SAME) != bool(turned)
        return None
