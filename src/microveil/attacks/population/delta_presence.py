"""Delta-presence: how surely an intruder can say that a person of the population is in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.population.sampling_design import Sample, SamplingDesign, largest, share
from microveil.attacks.uniqueness import MISSING, counted_combinations
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.microdata.microdata import as_microdata, resolve_attributes
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray


@parameterised
class PresenceRisk(Attack):
    """The intruder has a register of the population and asks whether a person is in the file: of F units that have the
    person's values, f are.

    The risk of a record is f/F: f released records agree with its true values, and F of the population have them, by
    the weights of the original records or the size of the population. Whether masking left the person's own record
    where it was plays no part. `delta-presence` holds if no probability lies above an upper bound delta. The counters:
    `above`, the share of records above that bound; `highest` and `lowest`, the largest and the smallest probability of
    a person in the file. With the population at hand, `microveil.delta_presence` counts exactly, for everyone in it.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "cook", "judge"], "w": [4.0, 6.0, 1.0]}, weight="w")
    >>> risk = PresenceRisk().assess(people, people, ["job"])
    >>> risk.per_record.tolist(), risk.counters["above"]
    ([0.2, 0.2, 1.0], 33.33333333333333)
    """

    name: ClassVar[str] = "delta-presence"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "tells from the release whether a person of the population is in the file"
    meaning: ClassVar[str] = (
        "mean probability that a person with these values is known to be in the file; lower is safer"
    )
    assumes: ClassVar[str] = "the true values of some attributes of everyone in the population"
    formula: ClassVar[str] = "mean over i of f_i / F_i"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "Nergiz, Atzori and Clifton (2007)"

    delta: float = parameter(default=0.5, help="largest probability allowed", gt=0, le=1)
    design: SamplingDesign = SamplingDesign()

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        samples = list(self.design.views(pair, attributes))
        progress(0.5, f"{self.name}: counting combinations")
        weights = self.design.weights(pair)
        chances = largest([_presence(sample, weights) for sample in samples])
        counters = {
            "above": share(chances > self.delta + 1e-9),
            "highest": 100 * float(np.max(chances)),
            "lowest": 100 * float(np.min(chances)),
        }
        scenario = (
            f"An intruder who has the true values of {', '.join(attributes)} for everyone in the population says of "
            "each person how likely the file has the person's record."
        )
        return Risk.of(self.name, chances, attributes, scenario, counters=counters)


def _presence(sample: Sample, weights: FloatArray) -> FloatArray:
    """f/F of each person: the released records that agree, over the population that the originals stand for."""
    before = sample.shared.before
    population = np.bincount(before, weights=weights, minlength=len(sample.combinations))
    return np.minimum(1.0, sample.agreeing / np.maximum(population[before], 1.0))


@dataclass(frozen=True)
class DeltaPresence:
    """A sample within its population: `low` and `high` are the smallest and the largest share of the population with
    the same values that is in the sample (delta_min and delta_max), over everyone in the population; `k` is the
    smallest number of units of the population that have a combination of the sample, so the sample is k-map."""

    low: float
    high: float
    k: int


def delta_presence(sample: Any, population: Any, keys: Sequence[str]) -> DeltaPresence:
    """How surely who has the population can say of its persons that they are in the sample, and how many of them a
    record of the sample can be. Both tables have their keys coded in the same way; an empty cell equals an empty cell.

    >>> everyone = {"job": ["cook", "cook", "cook", "judge", "judge", "baker"]}
    >>> delta_presence({"job": ["cook", "judge"]}, everyone, ["job"])
    DeltaPresence(low=0.0, high=0.5, k=2)
    """
    tables = [as_microdata(data) for data in (sample, population)]
    if not all(map(len, tables)):
        raise DataError("delta_presence needs a sample and a population that have records")
    found, held = (
        counted_combinations(table, resolve_attributes(table, keys, KINDS, "delta_presence")) for table in tables
    )
    if any(held[combination] < number for combination, number in found.items()):
        raise DataError(
            "the population has fewer records of some combination of keys than the sample, so the sample is no part of "
            "it; code the keys of both in the same way, and leave nobody out of the population"
        )
    shares = [found[combination] / number for combination, number in held.items()]
    return DeltaPresence(min(shares), max(shares), min(held[combination] for combination in found))
