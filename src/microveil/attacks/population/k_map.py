"""k-map: combinations of a release that fewer than k units of the population have."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.population.population_estimates import ESTIMATORS, Estimator, below, chances_of
from microveil.attacks.population.sampling_design import SamplingDesign, largest, share
from microveil.attacks.uniqueness import MISSING
from microveil.comparison.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.numerics.statistics.population_frequencies import proving_frequency
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress


@parameterised
class KMap(Attack):
    """The intruder has a register of the population and looks a released combination up in it: a release is k-map if
    every combination fits at least k units of the population, however few of them are in the sample.

    The risk of a record is the expected 1/F, by one of four estimators of the population frequency F. The counters:
    `below-k`, the expected share of records whose combination fewer than k units of the population have; `unproved`,
    the share of records whose combination is not frequent enough in the sample to reject, by the Poisson distribution
    truncated at zero, that only k units have it; `highest`, the largest risk of a record.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "cook", "cook", "judge"], "w": [2.0, 1.0, 2.0, 4.0]}, weight="w")
    >>> risk = KMap(k=5, estimator="ratio").assess(people, people, ["job"])
    >>> risk.per_record.tolist(), risk.counters["below-k"], risk.counters["highest"]
    ([0.2, 0.2, 0.2, 0.25], 25.0, 25.0)
    """

    name: ClassVar[str] = "k-map"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "finds released combinations that fewer than k units of the population have"
    meaning: ClassVar[str] = "records re-identified among the units of the population that fit; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of everyone in the population"
    formula: ClassVar[str] = "mean over i of E(1 / F_i) [x'_i agrees with x_i]"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "Sweeney (2001); El Emam and Dankar (2008) on the estimators and the test"

    k: int = parameter(default=5, help="least number of units in the population", ge=1, le=MOST_RECORDS)
    estimator: Estimator = parameter(default="poisson", help=ESTIMATORS)
    significance: float = parameter(default=0.1, help="level of significance of the test", gt=0, lt=1)
    design: SamplingDesign = SamplingDesign()

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        samples = list(self.design.views(pair, attributes))
        progress(0.5, f"{self.name}: counting combinations")
        chances = chances_of(samples, self.estimator)
        few = largest([sample.found(below(sample, self.estimator, self.k)) for sample in samples])
        needed = proving_frequency(self.k, samples[0].rate, self.significance)
        counters = {
            "below-k": share(few),
            "unproved": share(samples[0].shared.own & (samples[0].agreeing < needed)),
            "highest": 100 * float(np.max(chances)),
        }
        scenario = (
            f"An intruder who has the true values of {', '.join(attributes)} for everyone in the population looks up "
            f"who of them a released record can be; at most {self.k - 1:,} persons are few."
        )
        return Risk.of(self.name, chances, attributes, scenario, counters=counters)
