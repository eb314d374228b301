"""Errors and refusals as a channel."""

from __future__ import annotations

from typing import ClassVar

from microveil.parameters import parameterised
from microveil.queries.answers import EMPTY_SET
from microveil.queries.conditions import Condition, Formula, all_of
from microveil.queries.questions import Question
from microveil.queries.red_team.addressing import identifying
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.oracles import OracleAttack


@parameterised
class ErrorChannel(OracleAttack):
    """Looks at nothing but whether a question is refused: a mean over the target and a condition on the confidential
    attribute has no value where the target does not meet it, and a count may be refused where it is 0.

    One question for each class, or for each halving of a number. A server is safe from it if a refusal never depends on
    confidential values.
    """

    name: ClassVar[str] = "error-channel"
    family: ClassVar[str] = "channel"
    summary: ClassVar[str] = "learns from refusals and errors alone"
    source: ClassVar[str] = "Haeberlen, Pierce and Narayan (2011)"

    def says(self, intruder: Intruder, target: int, condition: Condition) -> bool | None:
        conditions = identifying(intruder, target)
        if conditions is None:
            return None
        where = all_of([*conditions, condition])
        for question in self._forms(intruder, where):
            answer = intruder.answer(question)
            if not answer.is_refused or answer.control == EMPTY_SET:
                return not answer.is_refused
        return None

    def _forms(self, intruder: Intruder, where: Formula) -> list[Question]:
        measured = [name for name in intruder.knowledge.attributes if intruder.facts.fields[name].is_numeric]
        if intruder.secret.place is None:
            measured.insert(0, intruder.secret.attribute)
        return [Question("mean", name, where) for name in measured[:2]]
