"""Query-set size control: no answers about few records, and none about all but few."""

from __future__ import annotations

from typing import ClassVar

from microveil.errors import ParameterError
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.queries.conditions import EVERYBODY
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.database import Database


class _SetSizeGuard(Guard):
    control: SetSize

    def __init__(self, control: SetSize, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.populations: dict[str | None, int] = {None: database.records}

    def objection(self, asked: Asked) -> str | None:
        k = self.control.k
        if asked.size < k or (self.control.both_ways and asked.size > self._population(asked) - k):
            end = f", and at most {k} fewer than all" if self.control.both_ways else ""
            return f"the query set must have at least {k} records{end}"
        return None

    def _population(self, asked: Asked) -> int:
        """All records in which the attribute that is measured is there: the complement is taken within them."""
        value = asked.question.value
        if value not in self.populations:
            self.populations[value] = self.database.counted(EVERYBODY, value).records
        return self.populations[value]


@parameterised
class SetSize(Control):
    """Answers only about at least k records and, unless `both_ways` is off, at most N - k.

    It stops questions about one person, and nothing else: trackers find every value in a handful of questions. Its
    refusals tell that a query set is very small or very large.

    >>> SetSize(k=5).parameters()
    {'k': 5, 'both_ways': True}
    """

    name: ClassVar[str] = "set-size"
    family: ClassVar[str] = "restriction"
    summary: ClassVar[str] = "answers only where the query set has k to N - k records"
    source: ClassVar[str] = "Denning, Denning and Schwartz (1979); Adam and Wortmann (1989)"
    assumes: ClassVar[str] = "nobody asks about sets that differ by one record"

    k: int = parameter(default=3, ge=1, le=MOST_RECORDS, help="fewest records of a query set and of its complement")
    both_ways: bool = parameter(default=True, help="whether also at least k records must be left out")

    def guard(self, database: Database, key: str) -> Guard:
        if 2 * self.k > database.records:
            raise ParameterError(
                f"set-size: k = {self.k} is more than half of the {database.records:,} records, so nothing is answered"
            )
        return _SetSizeGuard(self, database, key)
