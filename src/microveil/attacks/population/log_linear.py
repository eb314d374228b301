"""Sample uniques that are unique in the population, by log-linear models of the frequencies of all combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from typing import Any, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.population.sampling_design import Sample, SamplingDesign, largest, sample_of, share
from microveil.attacks.uniqueness import MISSING
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError, brief
from microveil.microdata.schema import KINDS
from microveil.numerics.statistics.log_linear import (
    Errors,
    Fitting,
    Interaction,
    LogLinear,
    dispersion_shape,
    model_errors,
)
from microveil.numerics.statistics.population_frequencies import (
    inverse_negative_binomial,
    inverse_poisson,
    success_rate,
    unique_negative_binomial,
    unique_poisson,
    unseen_poisson,
)
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts, silent
from microveil.typing import FloatArray, IntArray

_SIGNIFICANT = 1.96


@dataclass(frozen=True)
class LogLinearEstimate:
    """What a log-linear model says of a sample.

    `tau1` is the expected number of sample uniques that are population uniques, `tau2` the expected sum of 1/F over
    sample uniques. `bias` and `standardised` are the criteria of Skinner and Shlomo (2008) for the two, `shape` that of
    the negative binomial form, and `unique` and `inverse` belong to single records: P(F = 1 | f = 1) of sample uniques
    and 0 of others, and E(1/F | f).
    """

    tau1: float
    tau2: float
    uniques: int
    interactions: tuple[str, ...]
    bias: tuple[float, float]
    standardised: tuple[float, float]
    converged: bool
    shape: float | None
    unique: FloatArray = field(repr=False)
    inverse: FloatArray = field(repr=False)

    @property
    def verdict(self) -> str:
        """What the criteria say of the model, in a sentence."""
        terms = f"{len(self.interactions)} two-way interactions" if self.interactions else "no interactions"
        worst = max(self.standardised, key=abs)
        fit = (
            "too few, so the risk is overestimated"
            if worst > _SIGNIFICANT
            else "too many, so the risk is underestimated"
            if worst < -_SIGNIFICANT
            else "no sign of too few or too many"
        )
        met = "" if self.converged else "; its fit did not converge"
        one, two = self.standardised
        return f"The model has {terms}, {fit} (standardised bias of tau1 {one:.2f}, of tau2 {two:.2f}){met}."


@parameterised
class LogLinearRisk(Attack):
    """The intruder looks for persons who are unique in the file and asks how likely they are unique in the population,
    or how many share their combination there, by a log-linear model of the frequencies over the full cross of the keys.

    The population frequency F of each combination is Poisson with mean lambda, the sample's f is Poisson with mean pi
    lambda, and lambda follows a model with all main effects and none, all or some of the two-way interactions, fitted
    by iterative proportional fitting. In the negative binomial form the combinations vary about the model by a gamma
    distribution, whose shape is estimated by maximum likelihood. `stepwise` adds, one after the other, the interaction
    that brings the standardised bias of tau2 nearest to zero, until it no longer shows too few interactions or none
    brings it nearer; interactions whose attributes have more than `cells` combinations are not tried.

    With sampling weights, lambda is fitted to the sums of weights, pi is the frequency of a combination over its sum of
    weights, and that of the whole file for combinations that are not in it. A part of the model is fitted to the
    records without wildcards in its attributes; a record with a wildcard has the sum over all categories.

    The risk of a record is E(1/F | f). The counters: `unique`, the share of records that are unique in the file and
    found by their own values; `tau1` and `tau2`, the expected number of these that are unique in the population and
    their sum of E(1/F | f = 1), in per cent of all records; `population-unique`, the first in per cent of the uniques.
    The scenario tells what the criteria of the model say.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "cook", "judge"]})
    >>> risk = LogLinearRisk(model="independence", fraction=0.1).assess(people, people, ["sex", "job"])
    >>> risk.per_record.round(3).tolist()
    [0.065, 0.065, 0.044, 0.044, 0.184]
    """

    name: ClassVar[str] = "log-linear-risk"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "re-identifies sample uniques that a log-linear model expects to be population uniques"
    meaning: ClassVar[str] = "records re-identified by their combination in the modelled population; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of a person, not whether the person is in the sample"
    formula: ClassVar[str] = (
        "mean over i of E(1 / F_i | f_i) [x'_i agrees with x_i], F_i - f_i Poisson((1 - pi) lambda_i)"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = (
        "Skinner and Shlomo (2008); Skinner and Holmes (1998) on the models; Rinott and Shlomo (2007) on the negative "
        "binomial form"
    )

    model: Literal["stepwise", "independence", "two-way"] = parameter(
        default="stepwise", help="interactions of the model: chosen one after the other, none, or all two-way ones"
    )
    interactions: tuple[str, ...] | None = parameter(
        default=None, help="interactions of the model by name, such as age*sex,age*region, instead of those of `model`"
    )
    distribution: Literal["poisson", "negative-binomial"] = parameter(
        default="poisson", help="distribution of the frequencies: Poisson, or overdispersed (negative-binomial)"
    )
    cells: int = parameter(
        default=250_000,
        help="largest number of combinations of attributes that interact, directly or by others; more are refused, and "
        "not tried by stepwise",
        ge=1,
        le=200_000_000,
    )
    design: SamplingDesign = SamplingDesign()

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        samples = list(self.design.views(pair, attributes))
        estimates = [
            self.estimate(sample, attributes, part)
            for sample, part in zip(samples, parts(progress, len(samples)), strict=True)
        ]
        alone = largest([sample.alone.astype(np.float64) for sample in samples])
        unique = largest([estimate.unique for estimate in estimates])
        inverse = largest([estimate.inverse for estimate in estimates])
        counters = {
            "unique": share(alone),
            "tau1": share(unique),
            "tau2": share(np.where(alone > 0, inverse, 0.0)),
            "population-unique": share(unique[alone > 0]),
        }
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} for a person of the population and takes "
            f"one of the released records that agree with all of them. {estimates[0].verdict}"
        )
        return Risk.of(self.name, inverse, attributes, scenario, counters=counters)

    def estimate(self, sample: Sample, known: Sequence[str] = (), progress: Progress = silent) -> LogLinearEstimate:
        """Fit the model to a sample, by some of the attributes that are `known`, and what follows for its records."""
        problem = _Problem.of(sample)
        model, errors = self._fitted(problem, known or problem.names, progress)
        expected = sample.total * model.shares(problem.codes)
        agreeing, rates = sample.frequencies.astype(np.float64), sample.rates
        shape: float | None = None
        if self.distribution == "poisson":
            unseen = unseen_poisson(rates, expected)
            unique, inverse = unique_poisson(unseen), inverse_poisson(agreeing, unseen)
        else:
            shape = problem.shape(model)
            success = success_rate(rates, expected, shape)
            unique = unique_negative_binomial(success, shape)
            inverse = inverse_negative_binomial(agreeing, success, shape)
        of_unique = np.where(sample.alone, unique[sample.shared.before], 0.0)
        of_record = np.where(sample.agreeing > 0, sample.found(inverse), 0.0)
        names = sample.combinations.attributes
        return LogLinearEstimate(
            tau1=fsum(of_unique.tolist()),
            tau2=fsum(of_record[sample.alone].tolist()),
            uniques=int(sample.alone.sum()),
            interactions=tuple(f"{names[one]}*{names[other]}" for one, other in model.interactions),
            bias=errors.bias,
            standardised=errors.standardised,
            converged=model.converged,
            shape=shape,
            unique=of_unique,
            inverse=of_record,
        )

    def _fitted(self, problem: _Problem, known: Sequence[str], progress: Progress) -> tuple[LogLinear, Errors]:
        names = problem.names
        if self.interactions is not None:
            chosen = _named_interactions(self.interactions, known, names)
        elif self.model == "two-way":
            chosen = list(combinations(range(len(names)), 2))
        elif self.model == "stepwise":
            return self._stepwise(problem, progress)
        else:
            chosen = []
        problem.check_cells(chosen, self.cells)
        model = problem.fitting.fit(chosen, report=lambda done: progress(0.9 * done, f"{self.name}: fitting the model"))
        return model, problem.errors(model)

    def _stepwise(self, problem: _Problem, progress: Progress) -> tuple[LogLinear, Errors]:
        model = problem.fitting.fit(())
        errors = problem.errors(model)
        open_pairs = list(combinations(range(len(problem.names)), 2))
        steps = len(open_pairs)
        while open_pairs and errors.standardised[1] > 0:
            progress(0.9 * (1 - len(open_pairs) / steps), f"{self.name}: choosing interactions")
            tried = [
                (pair, problem.fitting.fit((*model.interactions, pair), model))
                for pair in open_pairs
                if problem.fits((*model.interactions, pair), self.cells)
            ]
            judged = [(problem.errors(candidate), pair, candidate) for pair, candidate in tried]
            if not judged:
                break
            best, pair, candidate = min(judged, key=lambda entry: abs(entry[0].standardised[1]))
            if abs(best.standardised[1]) >= abs(errors.standardised[1]):
                break
            model, errors = candidate, best
            open_pairs.remove(pair)
        return model, errors


def log_linear_risk(data: Any, keys: Sequence[str] | None = None, **parameters: Any) -> LogLinearEstimate:
    """What a log-linear model says of a file that is released as it is, for an intruder who knows the keys: by default
    those that its schema declares. The parameters are those of the attack `log-linear-risk`.

    >>> people = {"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "cook", "judge"]}
    >>> found = log_linear_risk(people, ["sex", "job"], fraction=0.5, model="independence")
    >>> found.uniques, round(found.tau1, 4), round(found.tau2, 4)
    (1, 0.5488, 0.752)
    """
    attack = LogLinearRisk(**parameters)
    return attack.estimate(sample_of(attack.design, data, keys))


@dataclass(frozen=True)
class _Problem:
    """A sample as models are fitted to it: `complete` are the combinations in it that have no wildcard."""

    sample: Sample
    codes: IntArray
    fitting: Fitting
    complete: IntArray

    @classmethod
    def of(cls, sample: Sample) -> _Problem:
        held = sample.combinations
        counted = held.counts > 0
        codes = np.column_stack([_consecutive(column, counted) for column in held.codes.T])
        mass = np.maximum(held.weights, held.counts)[counted]
        complete = np.flatnonzero(counted & (codes >= 0).all(axis=1))
        return cls(sample, codes, Fitting(codes[counted], mass), complete)

    @property
    def names(self) -> tuple[str, ...]:
        return self.sample.combinations.attributes

    def _of_complete(self) -> tuple[FloatArray, FloatArray]:
        """The frequencies and the weights of the complete combinations."""
        held = self.sample.combinations
        counts = held.counts[self.complete].astype(np.float64)
        return counts, np.maximum(held.weights[self.complete], counts)

    def errors(self, model: LogLinear) -> Errors:
        """The criteria of a model, over the records without wildcards."""
        counts, weights = self._of_complete()
        total = float(weights.sum())
        expected = total * model.shares(self.codes[self.complete])
        rate = float(counts.sum()) / total if total > 0 else 1.0
        return model_errors(counts, counts / np.maximum(weights, 1.0), expected, model.cells(total), rate)

    def shape(self, model: LogLinear) -> float:
        """The shape of the gamma distribution by which the frequencies in the sample vary about the model."""
        counts, _ = self._of_complete()
        total = float(counts.sum())
        means = total * model.shares(self.codes[self.complete])
        return dispersion_shape(counts, means, model.cells(total))

    def fits(self, interactions: Sequence[Interaction], most: int) -> bool:
        return all(self.fitting.cells(part) <= most for part in self.fitting.parts(interactions))

    def check_cells(self, interactions: Sequence[Interaction], most: int) -> None:
        """Refuse a model with a part that cannot be laid out."""
        for part in self.fitting.parts(interactions):
            cells = self.fitting.cells(part)
            if len(part) > 1 and cells > most:
                named = ", ".join(self.names[attribute] for attribute in part)
                raise DataError(
                    f"{LogLinearRisk.name}: the attributes that interact ({named}) have {cells:,} combinations, and "
                    f"the limit (cells) is {most:,}; recode some of them, name fewer interactions, or raise the limit"
                )


def _consecutive(codes: IntArray, counted: np.typing.NDArray[np.bool_]) -> IntArray:
    """Codes 0, 1, ... of the categories that the sample has, -1 for a wildcard; others are beyond."""
    seen = np.unique(codes[counted & (codes >= 0)])
    place = np.searchsorted(seen, codes)
    known = np.isin(codes, seen)
    return np.where(codes < 0, -1, np.where(known, place, len(seen))).astype(np.int64)


def _named_interactions(given: Sequence[str], known: Sequence[str], names: Sequence[str]) -> list[Interaction]:
    """Interactions of attributes that are `known`, as pairs of those that are looked at now, `names`."""
    found = []
    for text in given:
        ends = [name.strip() for name in text.split("*")]
        if len(set(ends)) != 2 or len(ends) != 2 or not set(ends) <= set(known):
            raise ParameterError(
                f"{LogLinearRisk.name}: interactions has {brief(text)}, which is not allowed; one is written as two "
                "different attributes that the intruder knows with a * between them, such as age*sex"
            )
        if set(ends) <= set(names):
            one, other = sorted(names.index(name) for name in ends)
            found.append((one, other))
    return list(dict.fromkeys(found))
