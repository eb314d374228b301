"""MDAV with a genetic search inside its groups."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray


@parameterised
class MDAVGenetic(Microaggregation):
    """MDAV makes groups of several times k records, and a genetic search divides each into groups of k to 2k-1.

    The search starts with MDAV's own division of each large group and always keeps the fittest, so inside a large
    group it is never worse than MDAV; over the whole file it can be.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> MDAVGenetic(k=2).mask(people, seed=1).frame["age"].to_pylist()
    [21.0, 21.0, 42.0, 42.0, 63.0, 63.0]
    """

    name: ClassVar[str] = "mdav-genetic"
    summary: ClassVar[str] = "a genetic search improves the groups inside larger groups made by mdav"
    source: ClassVar[str] = "Martínez-Ballesté et al. (2007); Fayyoumi (2008), section 2.6.3.2"
    random: ClassVar[bool] = True

    multiple: int = parameter(
        default=5, help="size of the groups that mdav makes first, as a multiple of k", ge=2, le=1_000
    )
    population: int = parameter(default=30, help="number of divisions in the population", ge=4, le=10_000)
    generations: int = parameter(default=200, help="number of generations", ge=0, le=1_000_000)
    crossover: float = parameter(default=0.7, help="probability of crossover", ge=0, le=1)
    mutation: float = parameter(default=0.1, help="probability of mutation, an exchange of two records", ge=0, le=1)

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.grouping.genetic import Evolution, genetic_groups

        evolution = Evolution(self.population, self.generations, self.crossover, self.mutation)
        return genetic_groups(columns, self.k, self.multiple, evolution, rng, progress, "mdav-genetic: breeding groups")
