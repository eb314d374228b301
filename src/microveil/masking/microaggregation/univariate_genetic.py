"""A genetic algorithm for one attribute at a time."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from microveil.masking.microaggregation.individual_ranking import OneByOne
from microveil.numerics.choices import Fitness
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class UnivariateGenetic(OneByOne):
    """Partitions of each attribute's ordered values evolve: roulette selection, one-point crossover, bit mutation.

    An individual has a bit for each value that says whether a group starts there, and is repaired to groups of k to
    2k-1. Kept for comparison: the exact optimum (`optimal-univariate`) is faster and never worse.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 9, 10]})
    >>> UnivariateGenetic(k=2).mask(people, seed=1).frame["a"].to_pylist()
    [1.5, 1.5, 9.5, 9.5]
    """

    name: ClassVar[str] = "univariate-genetic"
    summary: ClassVar[str] = "each attribute by itself: groups of at least k values found by a genetic algorithm"
    source: ClassVar[str] = "Domingo-Ferrer and Mateo-Sanz (2002), genetic heuristic; Fayyoumi (2008), section 2.6.3.1"
    random: ClassVar[bool] = True
    quick: ClassVar[MappingProxyType[str, Any]] = MappingProxyType({"population": 10, "generations": 20})

    population: int = parameter(default=50, help="number of partitions in the population", ge=2, le=10_000)
    generations: int = parameter(default=500, help="largest number of generations", ge=1, le=1_000_000)
    patience: int = parameter(
        default=50,
        help="stop when the best partition has not improved for this number of generations",
        ge=1,
        le=1_000_000,
    )
    crossover: float = parameter(default=0.8, help="probability of crossover", ge=0, le=1)
    mutation: float | None = parameter(
        default=None, help="probability that a bit changes; unset: one change in each partition on average", ge=0, le=1
    )
    fitness: Fitness = parameter(
        default="retained", help="fitness of a partition: SST - SSE (retained), or 1 / SSE (inverse)"
    )

    def _axis_groups(self, values: FloatArray, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.univariate import Evolution, evolved_groups

        evolution = Evolution(
            self.population, self.generations, self.patience, self.crossover, self.mutation, self.fitness
        )
        return evolved_groups(values, self.k, evolution, rng, progress, f"{self.name}: evolving")
