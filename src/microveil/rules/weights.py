"""The rule that sampling weights reveal nothing: neither who somebody is, nor what was coarsened or suppressed.

Weights of a design with unequal probabilities are the same for all records of a stratum, so that they tell the stratum
although it is not published (de Waal and Willenborg 1997).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from microveil.microdata.microdata import SYSTEM_MISSING, count
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.rules.base import Checked, Finding, Rule
from microveil.typing import IntArray

_BY_CHANCE = 0.01  # probability up to which it is no chance that all records with a weight have the same value


@parameterised
class WeightsRule(Rule):
    """Sampling weights reveal nothing, and stand for the population.

    Every weight is shared by enough records, or households where these are declared; no weight restores an empty cell,
    because all other records with it have the same value; no weight is below `least`, as those of a scaled weight are;
    and where the `population` is given, the weights come to it. With `strata = "constant"` all records of a published
    stratum have the same weight: then it tells no finer stratum.
    """

    name: ClassVar[str] = "weights"
    summary: ClassVar[str] = "sampling weights reveal nothing"
    source: ClassVar[str] = "de Waal and Willenborg (1997)"

    at_least: int = parameter(
        default=3, help="fewest records, or households, that share a weight", ge=1, le=MOST_RECORDS
    )
    least: float = parameter(default=1.0, help="smallest weight: a record stands for itself at least", ge=0, le=1e12)
    strata: Literal["any", "constant"] = parameter(
        default="any", help="whether weights may differ within a published stratum"
    )
    population: float | None = parameter(
        default=None, help="size of the population that the weights must come to", gt=0, le=1e12
    )
    tolerance: float = parameter(default=0.1, help="by which share they may miss it", ge=0, le=1)

    def check(self, table: Checked) -> list[Finding]:
        name = table.data.schema.weight
        if name is None:
            return [self.not_checked("no sampling weight is declared")]
        found = [
            *self._shared(table, name),
            *self._small(table, name),
            *self._restored(table, name),
            *(self._within_strata(table, name) if self.strata == "constant" else ()),
            *self._total(table, name),
        ]
        return found or [self.passed(f"the weights in {name} reveal nothing that was looked for")]

    def _shared(self, table: Checked, name: str) -> list[Finding]:
        """Weights that few records, or households, have."""
        codes, units = table.codes(name), "record"
        if table.households is not None:
            one_of_each = number_rows([table.households, codes])[1]
            codes, units = codes[one_of_each], "household"
        held = np.bincount(codes)
        rare = (held > 0) & (held < self.at_least)
        if not rare.any():
            return []
        few = int(held[rare].sum())
        told = (
            f"{count(int(rare.sum()), 'weight')} in {name} {'is' if rare.sum() == 1 else 'are'} shared by fewer than "
            f"{self.at_least} {units}s ({count(few, units)})"
        )
        advice = f"group the weights: weight-microaggregation with k = {self.at_least}"
        return [self.failed(told, advice, weights=int(rare.sum()), **{f"{units}s": few})]

    def _small(self, table: Checked, name: str) -> list[Finding]:
        values = table.data.numbers(name).values
        few = int((~(values >= self.least)).sum())
        if not few:
            return []
        told = f"{count(few, 'weight')} in {name} {'is' if few == 1 else 'are'} missing or below {self.least:g}"
        advice = "release weights that estimate the population, for no rule on the population means anything otherwise"
        return [self.failed(told, advice, records=few)]

    def _restored(self, table: Checked, name: str) -> list[Finding]:
        """Empty cells that the weight tells."""
        weights, found = table.codes(name), []
        for attribute in table.data.names:
            roles = set(table.data.schema[attribute].roles)
            states = table.data.missing_states(attribute)
            if attribute == name or "identifier" in roles or not (states == SYSTEM_MISSING).any():
                continue
            told = _told_by(weights, table.codes(attribute), states)
            if told:
                sentence = (
                    f"the weight restores {count(told, 'empty cell')} of {attribute}, by records with the same weight"
                )
                advice = f"coarsen {name}, or give records with empty cells of {attribute} a common weight"
                found.append(self.failed(sentence, advice, attribute=attribute, cells=told))
        return found

    def _within_strata(self, table: Checked, name: str) -> list[Finding]:
        strata = table.data.schema.having("stratum")
        stratum = np.zeros(len(table.data), dtype=np.int64)
        if strata:
            stratum = number_rows([table.codes(attribute) for attribute in strata])[0]
        pairs = number_rows([stratum, table.codes(name)])[1]
        several = int((np.bincount(stratum[pairs]) > 1).sum())
        if not several:
            return []
        where = (
            f"{count(several, 'stratum', 'strata')} of {', '.join(strata)}" if strata else "the file, without strata,"
        )
        advice = f"replace {name} by its mean in every published stratum, or declare the strata"
        return [
            self.failed(f"weights in {name} differ within {where} and can tell finer strata", advice, strata=several)
        ]

    def _total(self, table: Checked, name: str) -> list[Finding]:
        total = float(np.nansum(table.data.numbers(name).values))
        if self.population is None or abs(total - self.population) <= self.tolerance * self.population:
            return []
        told = (
            f"the weights in {name} come to {total:,.0f}, which is not within {100 * self.tolerance:g} % of the "
            f"population of {self.population:,.0f}"
        )
        advice = "release weights as they were, for with scaled ones rules on the population hold or fail wrongly"
        return [self.failed(told, advice, total=total)]


def _told_by(weights: IntArray, values: IntArray, states: npt.NDArray[np.uint8]) -> int:
    """How many empty cells are in records whose weight otherwise occurs with one value only, and not by chance."""
    present = states == 0
    _, first = number_rows([weights[present], values[present]])
    distinct = np.bincount(weights[present][first], minlength=weights.max() + 1)
    held = np.bincount(weights[present], minlength=weights.max() + 1)
    shares = np.bincount(values[present]) / max(1, int(present.sum()))
    shares = shares[shares > 0]
    single = np.flatnonzero(distinct == 1)
    by_chance = np.array([(shares ** held[weight]).sum() for weight in single])
    tells = np.zeros(len(held), dtype=bool)
    tells[single] = by_chance * max(1, len(single)) <= _BY_CHANCE
    return int(tells[weights[states == SYSTEM_MISSING]].sum())
