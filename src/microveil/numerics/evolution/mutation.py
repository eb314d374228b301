"""Mutation of strings: which genes change, and to which allele."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.numerics.evolution.representations import Strings
from microveil.typing import IntArray

# genes, how many alleles each has, and a generator: the genes that replace them
Change = Callable[[IntArray, IntArray, np.random.Generator], IntArray]


def complement(genes: IntArray, alleles: IntArray, rng: np.random.Generator) -> IntArray:
    """The allele as far from the upper end as it was from the lower one: of a bit, the other value."""
    return np.asarray(alleles - 1 - genes)


def other_allele(genes: IntArray, alleles: IntArray, rng: np.random.Generator) -> IntArray:
    """Any other allele, each alike; a gene with a single one stays."""
    return np.asarray((genes + 1 + rng.integers(0, np.maximum(alleles - 1, 1))) % alleles)


def near_allele(genes: IntArray, alleles: IntArray, rng: np.random.Generator) -> IntArray:
    """For alleles in an order: another one, the neighbours first, each half as likely as one that is a step nearer."""
    distance = np.abs(np.arange(alleles.max(initial=1)) - genes[:, None])
    allowed = (distance > 0) & (np.arange(distance.shape[1]) < alleles[:, None])
    reached = np.cumsum(np.where(allowed, 0.5 ** distance.astype(np.float64), 0.0), axis=1)
    drawn = (reached <= (rng.random(len(genes)) * reached[:, -1])[:, None]).sum(axis=1)
    return np.where(alleles > 1, drawn, genes)


def _changed(string: IntArray, loci: IntArray, strings: Strings, change: Change, rng: np.random.Generator) -> IntArray:
    made = string.copy()
    made[loci] = change(string[loci], np.array(strings.alleles)[loci], rng)
    return made


@dataclass(frozen=True)
class BernoulliMutation:
    """Every gene changes with probability `rate`; or, with unit `string`, one gene of the string with that."""

    strings: Strings
    rate: float
    change: Change = other_allele
    unit: Literal["gene", "string"] = "gene"

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise ParameterError(f"rate = {self.rate} is not allowed; it is a probability")

    def __call__(self, string: IntArray, rng: np.random.Generator) -> IntArray:
        if self.unit == "gene":
            loci = np.flatnonzero(rng.random(len(string)) < self.rate)
        else:
            loci = rng.integers(0, len(string), size=int(rng.random() < self.rate))
        return _changed(string, loci, self.strings, self.change, rng)


@dataclass(frozen=True)
class PoissonMutation:
    """As many genes change as a Poisson distribution says, at most all: fast for long strings. A mean of 1 is about a
    rate of 1 / length for each gene.
    """

    strings: Strings
    mean: float = 1.0
    change: Change = other_allele

    def __post_init__(self) -> None:
        if not 0 <= self.mean <= 1e9:
            raise ParameterError(f"mean = {self.mean} is not allowed; it is a number of genes, at least 0")

    def __call__(self, string: IntArray, rng: np.random.Generator) -> IntArray:
        count = min(int(rng.poisson(self.mean)), len(string))
        return _changed(string, rng.choice(len(string), count, replace=False), self.strings, self.change, rng)
