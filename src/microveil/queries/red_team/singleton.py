"""The singleton: a query set of one record."""

from __future__ import annotations

from typing import ClassVar

from microveil.parameters import parameterised
from microveil.queries.conditions import EVERYBODY, all_of
from microveil.queries.red_team.addressing import identifying
from microveil.queries.red_team.base import TargetAttack, claimed
from microveil.queries.red_team.intruder import Intruder, complement
from microveil.queries.red_team.readings import Claim


@parameterised
class Singleton(TargetAttack):
    """Asks for the sum over conditions that one person meets; where that is refused, for the sum over all others, to
    take it from the sum over everybody.

    One question for each target, or two. It works where nothing limits the query set, or only from below.
    """

    name: ClassVar[str] = "singleton"
    family: ClassVar[str] = "difference"
    summary: ClassVar[str] = "asks about a query set of one record, or about all others"
    source: ClassVar[str] = "Fayyoumi (2008), chapter 1"

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        conditions = identifying(intruder, target)
        if conditions is None:
            return None
        alone = all_of(conditions)
        found = intruder.total(alone) if intruder.size(alone) in (1, None) else None
        if found is None:
            everybody, others = intruder.total(EVERYBODY), intruder.total(complement(alone))
            found = everybody - others if everybody is not None and others is not None else None
        return claimed(intruder, target, found)
