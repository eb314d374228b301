"""The individual tracker."""

from __future__ import annotations

from typing import ClassVar

from microveil.parameters import parameter, parameterised
from microveil.queries.red_team.addressing import differs_by_target, splits
from microveil.queries.red_team.base import TargetAttack, claimed
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.readings import Claim


@parameterised
class IndividualTracker(TargetAttack):
    """C = C1 and C2 identifies the target and is refused; the tracker T = C1 and not C2 is not, and
    q(C) = q(C1) - q(T).

    Two questions for each target; four where the intruder has no register and counts first. The conditions are split
    in all ways until both query sets are answered. It works against any limit on the size of query sets.
    """

    name: ClassVar[str] = "individual-tracker"
    family: ClassVar[str] = "difference"
    summary: ClassVar[str] = "pads a query set of one record with others, and takes them away again"
    source: ClassVar[str] = "Schlörer (1975); Denning, Denning and Schwartz (1979)"

    attempts: int = parameter(default=6, ge=1, le=1000, help="ways of splitting the conditions that are tried")

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        for attempt, (c1, tracker) in enumerate(splits(intruder, target)):
            if attempt == self.attempts:
                break
            if not differs_by_target(intruder, c1, tracker):
                continue
            whole = intruder.total(c1)
            rest = intruder.total(tracker) if whole is not None else None
            if whole is not None and rest is not None:
                return claimed(intruder, target, whole - rest)
        return None
