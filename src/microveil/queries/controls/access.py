"""Access restriction by query modification: whoever asks about a part asks about what he may see of it."""

from __future__ import annotations

from typing import ClassVar

from microveil.errors import ParameterError
from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import EVERYBODY, Formula
from microveil.queries.controls.base import Control, Guard
from microveil.queries.database import Database
from microveil.queries.questions import Question
from microveil.queries.sql import formula_of


class _AccessGuard(Guard):
    control: Access

    def __init__(self, control: Access, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.allowed: Formula = formula_of(control.where, database.fields)

    def replaced(self, question: Question) -> Question:
        if question.where == EVERYBODY and not self.control.everywhere:
            return question
        return question.restricted(self.allowed)


@parameterised
class Access(Control):
    """Adds a condition to every question that has one: the answer is about the records that the analyst may see.

    A question without conditions is answered about all records unless `everywhere` is on. The difference between all
    records and the visible ones then tells the sum over the hidden ones; combine it with other controls.
    """

    name: ClassVar[str] = "access"
    family: ClassVar[str] = "access restriction"
    summary: ClassVar[str] = "answers about the records that an analyst may see (query modification)"
    source: ClassVar[str] = "Stonebraker and Wong (1974)"
    assumes: ClassVar[str] = "what may be seen tells nothing about what may not"
    quick: ClassVar[dict[str, str]] = {"where": "age >= 18"}

    where: str = parameter(default="", help="condition that visible records meet, as after WHERE")
    everywhere: bool = parameter(default=False, help="whether questions without conditions are restricted too")

    def guard(self, database: Database, key: str) -> Guard:
        if not self.where.strip():
            raise ParameterError("access: say in 'where' which records are visible, such as where=\"age >= 18\"")
        return _AccessGuard(self, database, key)
