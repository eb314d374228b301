"""Split averaging: the same set as the sum of two parts, cut in many ways."""

from __future__ import annotations

import itertools
from typing import ClassVar

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import Formula, all_of
from microveil.queries.red_team.addressing import differs_by_target, halves, splits
from microveil.queries.red_team.base import TargetAttack, claimed
from microveil.queries.red_team.intruder import Intruder, complement
from microveil.queries.red_team.readings import Claim, Reading, mean_of


@parameterised
class SplitAveraging(TargetAttack):
    """q(C) = q(C and D) + q(C and not D) for every D: each cut of the set has noise of its own, also where noise
    belongs to the query set, and the mean over many cuts has little. The target's value is the difference of two sets
    that are averaged in this way.

    Four questions for each cut.
    """

    name: ClassVar[str] = "split-averaging"
    family: ClassVar[str] = "averaging"
    summary: ClassVar[str] = "averages sums over two parts of a set, cut in many ways"
    source: ClassVar[str] = "Francis et al. (2018)"

    cuts: int = parameter(default=12, ge=1, le=100_000, help="ways to cut each set in two")

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        for c1, tracker in itertools.islice(splits(intruder, target), 3):
            if not differs_by_target(intruder, c1, tracker):
                continue
            whole = self._averaged(intruder, c1)
            rest = self._averaged(intruder, tracker) if whole is not None else None
            if whole is not None and rest is not None:
                return claimed(intruder, target, whole - rest)
        return None

    def _averaged(self, intruder: Intruder, formula: Formula) -> Reading | None:
        found, uncut = [], intruder.total(formula)
        if uncut is not None:
            found.append(uncut)
        refusals = 0
        for half in halves(intruder, most=4 * self.cuts):
            parts = all_of([formula, half]), all_of([formula, complement(half)])
            if not all(intruder.is_answerable(intruder.size(part)) for part in parts):
                continue
            first = intruder.total(parts[0])
            second = intruder.total(parts[1]) if first is not None else None
            if first is not None and second is not None:
                found.append(first + second)
            else:
                refusals += 1
            if len(found) > self.cuts or refusals > 3 or (found and intruder.is_certain):
                break
        return mean_of(found) if found else None
