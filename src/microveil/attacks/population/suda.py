"""SUDA: persons whom few of their attributes suffice to find in the release."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.population.sampling import sampling_weights
from microveil.attacks.population.special_uniques import MOST_KEYS, special_uniques_of
from microveil.attacks.uniqueness import Shared
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.microdata.equivalence_classes import EquivalenceClasses
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress


@parameterised
class Suda(Attack):
    """The intruder looks for special uniques: released records that a few attributes suffice to tell from all others.

    A minimal sample unique is a set of attributes on which a record agrees with no other, while it does on every part
    of the set. The fewer attributes it has, and the more such sets a record has, the more probably the record is
    unique in the population as well. A set of k of m attributes adds the product of m - i for i = k, ..., M to the
    score of the record, where M is the smaller of `size` and m - 1: (m - k)! if all sizes are tried. A person is found
    by those sets in which the own record still has the true values; what masking has changed does not count.

    The risk of a record is DIS-SUDA: the probability that a match with it is correct. The mean number of persons who
    match a unique record is estimated by data intrusion simulation, 1 + (1 - p) P / (p U) for a sample of the fraction
    p with U unique records and P records in pairs, and those other than the right one are distributed over the unique
    records by their scores: in proportion to the power -(1.4 - 0.05 m) of the score, with which published results for 4
    and 7 attributes come out.

    `per_attribute` is the percentage of all scores that is due to sets with the attribute; a set counts for each
    attribute it holds. The counters: `special`, the share of released records with a score; `found`, the share of
    records that are found by some set; `size k`, the share of all scores that is due to sets of k attributes.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "cook", "judge"]})
    >>> risk = Suda(fraction=0.1).assess(people, people, ["sex", "job"])
    >>> risk.per_record.round(4).tolist(), dict(risk.per_attribute)
    ([0.0, 0.0, 0.0, 0.0, 0.027], {'sex': 0.0, 'job': 100.0})
    """

    name: ClassVar[str] = "suda"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "re-identifies records that a few of their attributes make unique"
    meaning: ClassVar[str] = "correct matches with records that a few attributes make unique; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of a person, not whether the person is in the sample"
    formula: ClassVar[str] = "mean over i of 1 / (1 + c s_i^-(1.4 - 0.05 m)), s_i = sum over sets S of (m - |S|)!"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "a wildcard agrees with every value, so it makes nobody unique; a missing cell that is a category of its own "
        "or not applicable agrees with cells missing in the same way"
    )
    source: ClassVar[str] = (
        "Elliot, Manning and Ford (2002) on special uniques and scores; Manning, Haglin and Keane (2008) on the "
        "search; Elliot et al. (2005) on DIS-SUDA; Skinner and Elliot (2002) on data intrusion "
        "simulation"
    )

    size: int | None = parameter(
        default=None,
        help="largest number of attributes in a minimal sample unique; unset: all sizes for up to 13 attributes, and "
        "for more as many as need at most 10,000 sets to be tried",
        ge=1,
        le=MOST_KEYS,
    )
    fraction: float | None = parameter(
        default=None,
        help="sampling fraction; unset: estimated by the sampling weights, or without weights the file is the whole "
        "population",
        gt=0,
        le=1,
    )
    classes: int = parameter(
        default=5, help="number of intervals of equal frequency in which masked numbers are compared", ge=1, le=10_000
    )

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if len(cls.seen(pair).of_kinds(cls.kinds)) <= MOST_KEYS else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        if len(cls.seen(pair).of_kinds(cls.kinds)) > MOST_KEYS:
            return f"it takes up to {MOST_KEYS} attributes"
        return super().why_not(pair)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        if len(attributes) > MOST_KEYS:
            raise DataError(
                f"{self.name} takes up to {MOST_KEYS} attributes, and the intruder is assumed to know "
                f"{len(attributes):,}; name fewer of them as known, or declare keys"
            )
        shared = Shared.of(pair, attributes, self.classes, np.ones(len(pair)))
        fraction = self.fraction or len(pair) / max(float(sampling_weights(pair).sum()), len(pair))
        released = EquivalenceClasses.of(attributes, list(shared.released.codes[shared.after].T))
        special = special_uniques_of(released, self.size, fraction, Part(progress, 0.2, 1.0))
        found = special.among(shared.same)
        counters = {
            "special": 100 * float((special.scores > 0).mean()),
            "found": 100 * float((found.scores > 0).mean()),
            **{f"size {size}": share for size, share in found.by_size.items()},
        }
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} for a person of the population, and looks "
            "for a released record that some few of them tell from all other released records."
        )
        return Risk.of(
            self.name,
            found.dis(special),
            attributes,
            scenario,
            counters=counters,
            per_attribute=found.by_attribute,
        )
