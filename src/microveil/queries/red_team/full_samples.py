"""Samples that have left nothing out."""

from __future__ import annotations

import itertools
from typing import ClassVar

from microveil.parameters import parameter, parameterised
from microveil.queries.conditions import Formula
from microveil.queries.red_team.addressing import Addresses, differs_by_target, splits
from microveil.queries.red_team.base import TargetAttack, needs_numbers, needs_register
from microveil.queries.red_team.intruder import Intruder, shuffled
from microveil.queries.red_team.readings import Claim


@parameterised
class FullSamples(TargetAttack):
    """Against random-sample queries: the extrapolated sum and the mean tell together how many records were drawn. Where
    that is all of them, the sum is exact but for the known factor, and so is the difference of two such sums.

    Four questions for each pair of sets; of n records none is left out with probability share^n, so that small sets do
    best. Random sets around the target are tried until two are found.
    """

    name: ClassVar[str] = "full-samples"
    family: ClassVar[str] = "noise"
    summary: ClassVar[str] = "finds sets of which the sample has left nobody out"
    source: ClassVar[str] = "Denning, Denning and Schwartz (1979)"

    attempts: int = parameter(default=12, ge=1, le=10_000, help="pairs of sets that are tried")

    def why_not(self, intruder: Intruder) -> str | None:
        return needs_numbers(intruder) or needs_register(intruder)

    def on(self, intruder: Intruder, target: int) -> Claim | None:
        for larger, smaller in itertools.islice(self._pairs(intruder, target), self.attempts):
            whole = self._exact_sum(intruder, larger)
            rest = self._exact_sum(intruder, smaller) if whole is not None else None
            if whole is not None and rest is not None:
                return Claim(target, whole - rest, is_certain=True)
        return None

    def _pairs(self, intruder: Intruder, target: int) -> itertools.chain[tuple[Formula, Formula]]:
        named = (pair for pair in splits(intruder, target) if differs_by_target(intruder, *pair))
        return itertools.chain(itertools.islice(named, 2), self._random_pairs(intruder, target))

    def _random_pairs(self, intruder: Intruder, target: int) -> list[tuple[Formula, Formula]]:
        addresses, size = Addresses(intruder), max(intruder.facts.smallest_set, 2)
        people = addresses.addressable(10 * size + 1, first=[target])
        pairs = []
        for _ in range(self.attempts if people[:1] == [target] and len(people) > size else 0):
            others = shuffled(intruder.rng, people[1:])[:size]
            larger, smaller = addresses.formula([target, *others]), addresses.formula(others)
            if larger is not None and smaller is not None:
                pairs.append((larger, smaller))
        return pairs

    def _exact_sum(self, intruder: Intruder, where: Formula) -> float | None:
        """The sum, if the sample is the whole set."""
        share = next((c.parameters()["share"] for c in intruder.facts.controls if c.name == "random-sample"), 1.0)
        total, mean = intruder.total(where), intruder.mean(where)
        if total is None or mean is None or not mean.value:
            return None
        drawn = total.value * share / mean.value
        return total.value * share if abs(drawn - (intruder.size(where) or 0)) <= 1e-6 else None
