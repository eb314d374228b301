"""Prosecutor, journalist and marketer: three intruders who differ in what they know and whom they seek."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.population.population_estimates import ESTIMATORS, Estimator, chances_of
from microveil.attacks.population.sampling_design import Sample, SamplingDesign, largest, share
from microveil.attacks.uniqueness import MISSING
from microveil.comparison.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray
from microveil.units import THRESHOLD

_THRESHOLD = "risk above which a record counts as at risk"
_ROUNDING = 1e-9


def _risk_of(name: str, chances: FloatArray, threshold: float, attributes: tuple[str, ...], scenario: str) -> Risk:
    counters = {"above": share(chances > threshold + _ROUNDING), "highest": 100 * float(np.max(chances))}
    return Risk.of(name, chances, attributes, scenario, counters=counters)


@parameterised
class ProsecutorRisk(Attack):
    """The intruder seeks one person and knows that the person is in the file: of f records that agree one is right.

    The risk of a record is 1/f where its own values agree, whatever the sampling. The value is the average; the
    counters: `above`, the share of records with a risk above the threshold; `highest`, the largest risk of a record.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "cook", "judge", "judge", "judge"]})
    >>> risk = ProsecutorRisk(threshold=0.4).assess(people, people, ["job"])
    >>> round(risk.value, 6), risk.counters
    (40.0, {'above': 40.0, 'highest': 50.0})
    """

    name: ClassVar[str] = "prosecutor-risk"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "re-identifies a person who is known to be in the file"
    meaning: ClassVar[str] = "records re-identified by who knows that the person is in the file; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of a person who is in the file"
    formula: ClassVar[str] = "mean over i of 1 / f_i [x'_i agrees with x_i]"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "El Emam and Dankar (2008); El Emam (2013)"

    threshold: float = parameter(default=THRESHOLD, help=_THRESHOLD, gt=0, le=1)
    classes: int = parameter(
        default=5, help="number of intervals of equal frequency in which masked numbers are compared", ge=1, le=10_000
    )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        samples = list(SamplingDesign(fraction=1.0, classes=self.classes).views(pair, attributes))
        progress(0.5, f"{self.name}: counting combinations")
        chances = chances_of(samples, "ratio")
        scenario = (
            f"An intruder knows that a person is in the file and the true values of {', '.join(attributes)}, and takes "
            "one of the released records that agree with all of them."
        )
        return _risk_of(self.name, chances, self.threshold, attributes, scenario)


@parameterised
class JournalistRisk(Attack):
    """The intruder seeks anybody of the population and does not know who is in the file: a released record belongs to
    one of F units of the population that agree with it.

    The risk of a record is 1/F where its own values agree, with F estimated. The value is the average; the counters:
    `above`, the share of records with a risk above the threshold; `highest`, the largest risk of a record.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "cook", "judge", "judge", "judge"]})
    >>> risk = JournalistRisk(population=50, threshold=0.04).assess(people, people, ["job"])
    >>> round(risk.value, 6), risk.counters
    (4.0, {'above': 40.0, 'highest': 5.0})
    """

    name: ClassVar[str] = "journalist-risk"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "re-identifies somebody of the population, whoever it is"
    meaning: ClassVar[str] = "records re-identified by who does not know who is in the file; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of everyone in the population"
    formula: ClassVar[str] = "mean over i of E(1 / F_i) [x'_i agrees with x_i]"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "El Emam and Dankar (2008); El Emam (2013)"

    threshold: float = parameter(default=THRESHOLD, help=_THRESHOLD, gt=0, le=1)
    estimator: Estimator = parameter(default="ratio", help=ESTIMATORS)
    design: SamplingDesign = SamplingDesign()

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        samples = list(self.design.views(pair, attributes))
        progress(0.5, f"{self.name}: counting combinations")
        chances = chances_of(samples, self.estimator)
        scenario = (
            f"An intruder who has the true values of {', '.join(attributes)} for everyone in the population, and does "
            "not know who is in the file, takes one of those who agree with a released record for its person."
        )
        return _risk_of(self.name, chances, self.threshold, attributes, scenario)


@parameterised
class MarketerRisk(Attack):
    """The intruder links all released records to the population and is content if many links are right.

    A record is linked rightly with the probability 1/F where its own values agree, with F estimated; the value is the
    expected share of right links. The counter `combinations` is the share that is right where the sample is compared
    with itself: the number of combinations found over the number of records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "cook", "judge", "judge", "judge"]})
    >>> risk = MarketerRisk(population=50).assess(people, people, ["job"])
    >>> round(risk.value, 6), risk.counters
    (4.0, {'combinations': 40.0})
    """

    name: ClassVar[str] = "marketer-risk"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "links all released records to the population"
    meaning: ClassVar[str] = "released records linked to the right person of the population; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of everyone in the population"
    formula: ClassVar[str] = "sum over combinations of f / F, over n"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "Dankar and El Emam (2010); El Emam (2013)"

    estimator: Estimator = parameter(default="ratio", help=ESTIMATORS)
    design: SamplingDesign = SamplingDesign()

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        samples = list(self.design.views(pair, attributes))
        progress(0.5, f"{self.name}: counting combinations")
        chances = chances_of(samples, self.estimator)
        scenario = (
            f"An intruder who has the true values of {', '.join(attributes)} for everyone in the population links "
            "every released record to one of those who agree with it."
        )
        return Risk.of(self.name, chances, attributes, scenario, counters={"combinations": share(_within(samples))})


def _within(samples: list[Sample]) -> FloatArray:
    """The chances where the sample is compared with itself, 1/f."""
    return largest([sample.found(1.0 / np.maximum(sample.frequencies, 1)) for sample in samples])
