"""Time as a channel."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import Condition, all_of
from microveil.queries.questions import Question
from microveil.queries.red_team.addressing import identifying
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.oracles import OracleAttack


@parameterised
class TimingChannel(OracleAttack):
    """Measures how long the answer, or the refusal, takes for the target and a condition on the confidential attribute:
    as long as for a condition that the target meets for sure, or for one that nobody meets.

    The two must differ by more than `separation` times their spread, or nothing is claimed. `repetitions` questions for
    each of the two, and for each class or halving.
    """

    name: ClassVar[str] = "timing-channel"
    family: ClassVar[str] = "channel"
    summary: ClassVar[str] = "learns from the time that answers and refusals take"
    source: ClassVar[str] = "Haeberlen, Pierce and Narayan (2011)"

    repetitions: int = parameter(default=7, ge=3, le=100_000, help="how often each question is timed")
    separation: float = parameter(default=6.0, gt=0, le=1000, help="difference that counts, in units of the spread")

    def says(self, intruder: Intruder, target: int, condition: Condition) -> bool | None:
        conditions = identifying(intruder, target)
        if conditions is None:
            return None
        if target not in intruder.times:
            intruder.times[target] = self._calibrated(intruder, conditions, condition)
        known = intruder.times[target]
        if known is None:
            return None
        inside, outside = known
        taken, _ = self._timed(intruder, conditions, condition)
        return bool(abs(taken - inside) < abs(taken - outside))

    def _calibrated(
        self, intruder: Intruder, conditions: list[Condition], condition: Condition
    ) -> tuple[float, float] | None:
        """The times where the target meets the condition for sure and where nobody does, if they can be told apart."""
        nothing = Condition(condition.attribute, intruder.facts.fields[condition.attribute].nothing)
        inside, spread = self._timed(intruder, conditions, nothing.of_other_values())
        outside, other = self._timed(intruder, conditions, nothing)
        return (inside, outside) if abs(inside - outside) > self.separation * max(spread, other) else None

    def _timed(self, intruder: Intruder, conditions: list[Condition], condition: Condition) -> tuple[float, float]:
        """The median of the times, and their spread around it."""
        question = Question("count", None, all_of([*conditions, condition]))
        times = np.array([intruder.timed(question) for _ in range(self.repetitions)])
        return float(np.median(times)), float(np.median(np.abs(times - np.median(times))))
