"""Population uniqueness: how likely a record that is unique in the sample is unique in the population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.population.sampling_design import Sample, SamplingDesign, largest, sample_of, share
from microveil.attacks.uniqueness import MISSING
from microveil.comparison.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.numerics.statistics.superpopulation import Uniques, expected_uniques
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray

Estimator = Literal["dankar", "pitman", "zayatz", "snb", "copula"]


@parameterised
class PopulationUniqueness(Attack):
    """The intruder takes a person who is unique in the file for the only one with these values in the population.

    How likely that is right follows from how many combinations of the sample have 1, 2, 3, ... records and from the
    sampling fraction, and is the same for all sample uniques: by Pitman's model (`pitman`), by Zayatz's equivalence
    class model (`zayatz`), by the slide negative binomial model (`snb`), or by the rule of Dankar et al. (2012) that
    chooses among them (`dankar`): Pitman up to a sampling fraction of 10 %, above it the smaller of the slide negative
    binomial and Zayatz. Where a model does not converge, Zayatz's is taken, and the scenario says so. `copula` looks at
    the values, in the order of the categories: with p(x) the share of a combination by a Gaussian copula over the keys
    with their marginals, a record is alone among N units with the probability (1 - p(x))^(N - 1).

    With sampling weights the sampling fraction is the number of records over the sum of weights, as if all had been
    drawn with it. Combinations with wildcards are counted as combinations of their own. The risk of a record is the
    probability that it is unique in the population, 0 where it is not unique in the file or its own values no longer
    agree. The counters: `unique`, the share of records that are unique in the file and found by their own values;
    `population-unique`, the expected share of these that are unique in the population; `uniques-of-population`, the
    expected share of the units of the population that are unique.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "cook", "judge", "baker"]})
    >>> risk = PopulationUniqueness(estimator="zayatz", population=8).assess(people, people, ["job"])
    >>> risk.per_record.round(4).tolist()
    [0.0, 0.0, 0.6364, 0.6364]
    """

    name: ClassVar[str] = "population-uniqueness"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "takes sample uniques for population uniques, by models of the frequencies of combinations"
    meaning: ClassVar[str] = "records that are unique in the file and, as expected, in the population; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of a person, not whether the person is in the sample"
    formula: ClassVar[str] = "mean over i of P(F_i = 1 | f_i = 1) [f_i = 1 and x'_i agrees with x_i]"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = (
        "Dankar et al. (2012); Hoshino (2001) on Pitman's model; Zayatz (1991); Chen and "
        "Keller-McNulty (1998) on the slide negative binomial model; Rocher, Hendrickx and de Montjoye (2019) on the "
        "copula"
    )

    estimator: Estimator = parameter(
        default="dankar",
        help="model of the population: chosen by Dankar's rule, Pitman's, Zayatz's, slide negative binomial, or a "
        "Gaussian copula",
    )
    design: SamplingDesign = SamplingDesign()

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        samples = list(self.design.views(pair, attributes))
        progress(0.2, f"{self.name}: estimating population uniques")
        found = [self.estimate(sample) for sample in samples]
        alone = largest([sample.alone.astype(np.float64) for sample in samples])
        chances = largest([each.per_record for each in found])
        counters = {
            "unique": share(alone),
            "population-unique": share(chances[alone > 0]),
            "uniques-of-population": 100 * min(1.0, found[0].population / samples[0].total),
        }
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} for a person of the population, finds one "
            f"released record that agrees with all of them, and takes it for the person's. {found[0].said}"
        )
        return Risk.of(self.name, chances, attributes, scenario, counters=counters)

    def estimate(self, sample: Sample) -> PopulationUniques:
        """What the estimator says of a sample."""
        if sample.rate >= 1:
            uniques = Uniques("file", 1.0, float(sample.alone.sum()))
        elif self.estimator == "copula":
            return _by_copula(sample)
        else:
            uniques = expected_uniques(self.estimator, sample.combinations.counts, sample.total)
        per_record = np.where(sample.alone, uniques.chance, 0.0)
        return PopulationUniques(self.estimator, uniques.model, uniques.population, per_record)


@dataclass(frozen=True)
class PopulationUniques:
    """What an estimator says of a sample: the expected number of units that are unique in the population, and of each
    record the probability to be one of them. `model` is the one used: that of the `estimator`, or another in its place
    where it did not converge or the rule chose it."""

    estimator: str
    model: str
    population: float
    per_record: FloatArray

    @property
    def said(self) -> str:
        """Which model was used, in a sentence."""
        words = {
            "pitman": "Pitman's model",
            "zayatz": "Zayatz's model",
            "snb": "the slide negative binomial model",
            "copula": "a Gaussian copula",
            "file": "the file itself, which is the whole population",
        }
        instead = self.estimator in words and self.model not in (self.estimator, "file")
        why = f", because {words[self.estimator]} did not converge" if instead else ""
        return f"The number of population uniques is that of {words[self.model]}{why}."


def population_uniques(data: Any, keys: Sequence[str] | None = None, **parameters: Any) -> PopulationUniques:
    """The number of population uniques behind a file that is released as it is, for an intruder who knows the keys: by
    default those that its schema declares. The parameters are those of the attack `population-uniqueness`.

    >>> jobs = {"job": ["cook", "cook", "judge", "baker"]}
    >>> found = population_uniques(jobs, ["job"], estimator="zayatz", population=8)
    >>> found.model, round(found.population, 4)
    ('zayatz', 2.5455)
    """
    attack = PopulationUniqueness(**parameters)
    return attack.estimate(sample_of(attack.design, data, keys))


def _by_copula(sample: Sample) -> PopulationUniques:
    from microveil.numerics.statistics.copula_shares import box_probabilities, category_bounds, copula_correlation

    held = sample.combinations
    counted = held.counts > 0
    codes = np.column_stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in held.codes.T])
    codes = np.where(held.codes < 0, -1, codes - (held.codes < 0).any(axis=0))
    rng = PublicStreams(0).generator("population-uniqueness", "copula")
    correlation = copula_correlation(codes[counted], held.counts[counted], rng)
    mass = np.where(counted, held.weights, 0.0)
    bounds = [category_bounds(column, mass) for column in codes.T]
    lower, upper = (np.column_stack(sides) for sides in zip(*bounds, strict=True))
    wanted = np.unique(np.concatenate([np.flatnonzero(counted), sample.shared.before[sample.alone]]))
    shares = np.zeros(len(codes))
    shares[wanted] = box_probabilities(lower[wanted], upper[wanted], correlation)
    alone = np.exp((sample.total - 1.0) * np.log1p(-np.minimum(shares, 1.0 - 1e-16)))
    # each record stands for its weight of units that have its combination
    population = float(held.weights[counted] @ alone[counted])
    return PopulationUniques("copula", "copula", population, np.where(sample.alone, alone[sample.shared.before], 0.0))
