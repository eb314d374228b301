"""What attacks by trackers have in common: a few trackers are tried until one leads to the target."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from microveil.queries.conditions import Condition
from microveil.queries.red_team.addressing import identifying
from microveil.queries.red_team.base import TargetAttack, claimed
from microveil.queries.red_team.intruder import Intruder
from microveil.queries.red_team.readings import Claim, Reading


class TrackerAttack(TargetAttack):
    """Pads the query set of the target with trackers."""

    tried: ClassVar[int]  # trackers for each target

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        conditions = identifying(intruder, target)
        if conditions is None:
            return None
        readings = itertools.islice(self.readings(intruder, target, conditions), self.tried)
        return claimed(intruder, target, next((found for found in readings if found is not None), None))

    @abstractmethod
    def readings(self, intruder: Intruder, target: int, conditions: Sequence[Condition]) -> Iterator[Reading | None]:
        """What each tracker leads to; None where a question was refused."""
