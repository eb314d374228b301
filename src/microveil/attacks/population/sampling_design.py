"""A release as a sample: how much of the population each record stands for, and who is found by what is released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any, ClassVar

import numpy as np

from microveil.attacks.population.sampling import sampling_weights
from microveil.attacks.uniqueness import Shared, views
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.microdata.equivalence_classes import EquivalenceClasses
from microveil.microdata.microdata import as_microdata
from microveil.microdata.schema import KINDS
from microveil.parameters import Settings, parameter, parameterised
from microveil.typing import BoolArray, FloatArray, IntArray


@parameterised
class SamplingDesign(Settings):
    """What is known of the sampling: the size of the population or the sampling fraction, or else the weights."""

    name: ClassVar[str] = "sampling-design"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "size of the population, sampling fraction or sampling weights"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "a record without a weight stands for itself alone"
    source: ClassVar[str] = "Skinner and Shlomo (2008)"

    population: int | None = parameter(
        default=None,
        help="number of units in the population; unset: by the sampling fraction, else by the sampling weights, or "
        "without weights the file is the whole population",
        ge=1,
        le=10_000_000_000,
    )
    fraction: float | None = parameter(
        default=None, help="share of the population that is in the sample, instead of the population's size", gt=0, le=1
    )
    classes: int = parameter(
        default=5, help="number of intervals of equal frequency in which masked numbers are compared", ge=1, le=10_000
    )

    def check(self, label: str) -> None:
        if self.population is not None and self.fraction is not None:
            raise ParameterError(f"{label}: give the size of the population or the sampling fraction, not both")

    def weights(self, pair: Pair) -> FloatArray:
        """How many of the population each released record stands for, itself included."""
        if self.fraction is not None:
            return np.full(len(pair), 1.0 / self.fraction)
        weights = sampling_weights(pair, self.population)
        if weights.min(initial=0.0) < 0:
            raise DataError(
                f"attribute '{pair.original.schema.weight}' has weights below 0, so no population can be estimated"
            )
        return np.maximum(weights, 1.0)

    def views(self, pair: Pair, attributes: Sequence[str]) -> Iterator[Sample]:
        """The release by all attributes, and by those that masking left alone if these are only some."""
        for shared in views(pair, attributes, self.classes, self.weights(pair)):
            yield Sample(shared)


@dataclass(frozen=True)
class Sample:
    """The combinations of a release, each with how many of the sample and of the population agree with it."""

    shared: Shared

    @property
    def combinations(self) -> EquivalenceClasses:
        """The combinations of both files, with the counts and weights of the released records."""
        return self.shared.released

    @cached_property
    def frequencies(self) -> IntArray:
        """For each combination how many released records agree with it."""
        return self.combinations.frequencies

    @cached_property
    def population(self) -> FloatArray:
        """For each combination the weights of the released records that agree with it, at least as many as these."""
        return np.maximum(self.combinations.population, self.frequencies)

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.shared.before)

    @cached_property
    def total(self) -> float:
        """The number of units in the population, by the weights."""
        return max(float(self.combinations.weights.sum()), float(self.size))

    @property
    def rate(self) -> float:
        """The sampling fraction over all."""
        return self.size / self.total

    @property
    def rates(self) -> FloatArray:
        """The sampling fraction of each combination, where it is in the sample."""
        return np.where(self.frequencies > 0, self.frequencies / np.maximum(self.population, 1.0), self.rate)

    @property
    def agreeing(self) -> IntArray:
        """For each person how many released records agree with the true values."""
        return self.frequencies[self.shared.before]

    @property
    def alone(self) -> BoolArray:
        """The persons with whose true values one released record agrees, their own."""
        return np.asarray(self.shared.own & (self.agreeing == 1))

    def found(self, chances: FloatArray) -> FloatArray:
        """The chance of each person, from that of each combination: none whose own record no longer agrees is found."""
        return np.where(self.shared.own, chances[self.shared.before], 0.0)


def sample_of(design: SamplingDesign, data: Any, keys: Sequence[str] | None) -> Sample:
    """A file that is released as it is, as a sample; by default by the keys that its schema declares."""
    table = as_microdata(data)
    pair = Pair.of(table, table, known=keys)
    return next(design.views(pair, pair.knowledge.attributes))


def largest(found: Sequence[FloatArray]) -> FloatArray:
    """The largest chance of each record in any view."""
    return np.asarray(np.maximum.reduce(list(found)))


def share(values: FloatArray | BoolArray) -> float:
    """A mean of chances in per cent; the order of the records plays no part."""
    return 100 * min(1.0, fsum(np.asarray(values, dtype=np.float64).tolist()) / max(1, len(values)))
