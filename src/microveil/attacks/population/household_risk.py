"""The risk of households: whoever recognises one member has found them all."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.uniqueness import Uniqueness
from microveil.comparison.pairs import Pair
from microveil.masking.households import household_of
from microveil.numerics.counting.individual_risk import at_least_one
from microveil.parameters import parameterised
from microveil.progress import Progress


@parameterised
class HouseholdRisk(Uniqueness):
    """The intruder looks for all members of a household as the attack `uniqueness` does, and one that is found gives
    away the others.

    The risk of each member is 1 minus the product over the members of (1 - risk), so it is the same for all of them and
    at least that of the member with the largest risk. The households are those of the original: the intruder is
    assumed to see in the release who lives together, by household numbers, by the order of the records or by what
    members share. A record without a household number is a household of its own; so is every record where no
    household is declared.

    The counters: `persons`, the risk of persons by themselves; `households`, the share of households in which some
    member is expected to be re-identified. The number of persons to expect is the risk times the number of records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "judge", "cook"], "home": [1, 1, 2]}, household="home", keys=["job"])
    >>> HouseholdRisk().assess(people, people).per_record.tolist()
    [1.0, 1.0, 0.5]
    """

    name: ClassVar[str] = "household-risk"
    general: ClassVar[bool] = False
    summary: ClassVar[str] = "re-identifies households by rare combinations of values of their members"
    meaning: ClassVar[str] = "records re-identified by themselves or through their household; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of all members of a household, and who lives together"
    formula: ClassVar[str] = (
        "mean over i of 1 - product over members j of (1 - E(1 / F_j | f_j) [x'_j agrees with x_j])"
    )
    source: ClassVar[str] = (
        "Franconi and Polettini (2004); Templ, Kowarik and Meindl (2015) on households; for persons, see uniqueness: "
        "Benedetti and Franconi (1998)"
    )

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if pair.original.schema.household is not None else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        return "no household is declared" if pair.original.schema.household is None else super().why_not(pair)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        persons = super()._assess(pair, attributes, progress)
        household = household_of(pair.original)
        household = np.arange(len(pair)) if household is None else household
        chances = at_least_one(persons.per_record, household)
        one_of_each = np.unique(household, return_index=True)[1]
        counters = {"persons": persons.value, "households": 100 * float(np.sort(chances[one_of_each]).mean())}
        scenario = f"{persons.scenario} Whoever is found gives away all members of the household."
        return replace(Risk.of(self.name, chances, attributes, scenario), counters=counters)
