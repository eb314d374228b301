"""A list of the statistics that may be asked for."""

from __future__ import annotations

from typing import ClassVar

from microveil.errors import ParameterError
from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import is_conjunction
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.database import Database
from microveil.queries.questions import STATISTICS


class _StatisticsGuard(Guard):
    control: Statistics

    def objection(self, asked: Asked) -> str | None:
        if asked.question.statistic not in self.control.allowed:
            return f"only {', '.join(self.control.allowed)} may be asked for"
        if self.control.conjunctions and not is_conjunction(asked.question.where):
            return "conditions may be joined by AND only"
        return None


@parameterised
class Statistics(Control):
    """Answers only the statistics that are listed and, with `conjunctions`, only where all conditions must hold."""

    name: ClassVar[str] = "statistics"
    family: ClassVar[str] = "restriction"
    summary: ClassVar[str] = "answers only the statistics and formulas that are allowed"
    source: ClassVar[str] = "Adam and Wortmann (1989)"
    assumes: ClassVar[str] = "what is allowed is harmless by itself"

    allowed: tuple[str, ...] = parameter(default=("count", "sum", "mean"), min_length=1, help="statistics to answer")
    conjunctions: bool = parameter(default=False, help="whether OR between attributes is refused")

    def __post_init__(self) -> None:
        for statistic in self.allowed:
            if statistic not in STATISTICS:
                raise ParameterError(f"statistics: there are {', '.join(STATISTICS)}, not '{statistic}'")

    def guard(self, database: Database, key: str) -> Guard:
        return _StatisticsGuard(self, database, key)
