"""Uniqueness: records with a rare combination of key values, in the release and in the population it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.population.sampling import sampling_weights
from microveil.comparison.columns import label_codes
from microveil.comparison.pairs import Pair
from microveil.microdata.equivalence_classes import EquivalenceClasses, key_codes
from microveil.microdata.facts import OverRecords
from microveil.microdata.microdata import Microdata, as_microdata
from microveil.microdata.schema import KINDS
from microveil.numerics.counting.individual_risk import individual_risk
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

MISSING = (
    "a wildcard agrees with every value; a missing cell that is a category of its own or not applicable agrees with "
    "cells missing in the same way"
)


@parameterised
class Uniqueness(Attack):
    """The intruder looks for released records that agree with a person on all known values, and takes one of them.

    If f released records agree and the file is the whole population, the chance of a right choice is 1/f where the
    person's own record agrees, and 0 where masking has changed it. If the file is a sample, more of the population
    agree: by the sampling weights, or by the size of the population, F is estimated, and the chance is the expected
    1/F under a negative binomial distribution, the individual risk; or its usual approximation; or plainly 1 over the
    estimate. Numbers are compared exactly where
    masking left most of them as they were; else only by which of `classes` equal parts of the original they lie in.
    Attributes that masking left alone in every record are compared by themselves too, and the larger chance counts.
    Where labels for several values are released, such as intervals and sets, a person is taken to be found by the label
    that the own record has, and the records with the same label agree.

    The counters: `unique`, the share of released records with a combination of their own; `still-unique`, the share of
    these that are unique in the original too; `population-unique`, the share of the same that is expected to be unique
    in the population; where empty cells that could be any value make records agree, `unique-without-wildcards`, the
    share of unique records when an empty cell agrees with empty cells only. The number of re-identifications to expect
    is the risk times the number of records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "cook", "judge"]})
    >>> risk = Uniqueness().assess(people, people, ["sex", "job"])
    >>> risk.per_record.tolist(), risk.counters["unique"]
    ([0.5, 0.5, 0.5, 0.5, 1.0], 20.0)
    """

    name: ClassVar[str] = "uniqueness"
    family: ClassVar[str] = "uniqueness"
    general: ClassVar[bool] = True
    summary: ClassVar[str] = "re-identifies records by rare combinations of known values"
    meaning: ClassVar[str] = "records re-identified by the combination of their known values; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of a person, not whether the person is in the sample"
    formula: ClassVar[str] = "mean over i of E(1 / F_i | f_i) [x'_i agrees with x_i], F_i the population that agrees"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    over_records: ClassVar[OverRecords] = "per combination"
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = (
        "Benedetti and Franconi (1998); Polettini and Stander (2004) on the negative binomial form; Franconi and "
        "Polettini (2004) on the approximation; Elliot (2002) on file and record level; Fayyoumi (2008), section 2.4.1"
    )

    estimate: Literal["negative-binomial", "approximation", "ratio", "none"] = parameter(
        default="negative-binomial",
        help="risk of a record in a sample: the expected 1/F under a negative binomial distribution, its approximation "
        "p / (f - (1 - p)) for frequencies f above 2 in a sample of the fraction p, 1 over the estimated population "
        "frequency F (ratio), or 1/f as if the file were the population (none)",
    )
    population: int | None = parameter(
        default=None,
        help="number of units in the population; unset: estimated by the sampling weights, or without weights the "
        "file is the whole population",
        ge=1,
        le=10_000_000_000,
    )
    classes: int = parameter(
        default=5, help="number of intervals of equal frequency in which masked numbers are compared", ge=1, le=10_000
    )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        seen = list(views(pair, attributes, self.classes, self._weights(pair)))
        progress(0.5, f"{self.name}: counting combinations")
        chances = np.maximum.reduce([self._found(shared) for shared in seen])
        shared = seen[0]
        unique, still = shared.unique_after, shared.unique_after & shared.unique_before
        own = shared.released.population[shared.after][unique]
        counters = {
            "unique": 100 * float(unique.mean()),
            "still-unique": 100 * float(still.sum() / max(1, unique.sum())),
            # of one success at rate p, the first trial was all there is with probability p
            "population-unique": 100 * float(np.minimum(1.0, 1.0 / np.maximum(own, 1.0)).mean())
            if unique.any()
            else 0.0,
        }
        without = shared.released.counts[shared.after] == 1
        if (without != unique).any():
            counters["unique-without-wildcards"] = 100 * float(without.mean())
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} for a person of the population and takes "
            "one of the released records that agree with all of them."
        )
        return Risk.of(self.name, chances, attributes, scenario, counters=counters)

    def _weights(self, pair: Pair) -> FloatArray:
        """How many of the population each record stands for."""
        return np.ones(len(pair)) if self.estimate == "none" else sampling_weights(pair, self.population)

    def _found(self, shared: Shared) -> FloatArray:
        found, weight = shared.released.frequencies[shared.before], shared.released.population[shared.before]
        return np.where(shared.own, self._chances(found, weight), 0.0)

    def _chances(self, found: IntArray, weight: FloatArray) -> FloatArray:
        return individual_risk(found, weight, "ratio" if self.estimate == "none" else self.estimate)


@dataclass(frozen=True)
class Shared:
    """The combinations of both files in one numbering; those of the released records are counted.

    `before` and `after` are the combination of each record, and `same` says for each attribute whether the two agree.
    `original` are the combinations of the original by itself, by its values where labels are released.
    """

    released: EquivalenceClasses
    original: EquivalenceClasses
    before: IntArray
    after: IntArray
    same: BoolArray

    @classmethod
    def of(cls, pair: Pair, attributes: Sequence[str], classes: int, weights: FloatArray) -> Shared:
        from microveil.numerics.counting.distinct_rows import number_rows

        n = len(pair)
        columns = [_codes(pair, name, classes) for name in attributes]
        same = np.column_stack([(c[:n] == c[n:]) | (c[:n] < 0) | (c[n:] < 0) for c in columns])
        numbers, first = number_rows([c + 1 for c in columns])
        counts = np.bincount(numbers[n:], minlength=len(first)).astype(np.int64)
        weight = np.bincount(numbers[n:], weights=weights, minlength=len(first)).astype(np.float64)
        codes = np.column_stack([c[first] for c in columns])
        released = EquivalenceClasses(tuple(attributes), codes, numbers, counts, weight)
        true = [
            key_codes(pair.original, name) if name in pair.recoded else column[:n]
            for name, column in zip(attributes, columns, strict=True)
        ]
        return cls(released, EquivalenceClasses.of(attributes, true), numbers[:n], numbers[n:], same)

    @property
    def own(self) -> BoolArray:
        """The records whose combination still agrees with that of the person."""
        return np.asarray(self.same.all(axis=1))

    @property
    def unique_after(self) -> BoolArray:
        """The released records with which no other released record agrees."""
        return np.asarray(self.released.frequencies[self.after] == 1)

    @property
    def unique_before(self) -> BoolArray:
        """The original records with which no other original record agrees."""
        return np.asarray(self.original.per_record == 1)


def views(pair: Pair, attributes: Sequence[str], classes: int, weights: FloatArray) -> Iterator[Shared]:
    """The combinations of all attributes, and then those of the attributes that masking left alone in every record if
    these are only some: they find people whatever was done to the rest."""
    yield Shared.of(pair, attributes, classes, weights)
    untouched = tuple(name for name in attributes if pair.original.same_cells(pair.masked, name))
    if 0 < len(untouched) < len(attributes):
        yield Shared.of(pair, untouched, classes, weights)


def _codes(pair: Pair, name: str, classes: int) -> IntArray:
    """Equal values of the original and then the masked file have equal codes; -1 agrees with all."""
    if name in pair.recoded:
        return _label_codes(pair, name)
    states = np.concatenate([data.missing_states(name) for data in (pair.original, pair.masked)]).astype(np.int64)
    if pair.original[name].is_categorical:
        codes = np.concatenate([column.codes for column in pair.categories(name)])
    else:
        before, after = (column.values for column in pair.numbers(name))
        both = ~(np.isnan(before) | np.isnan(after))
        values = np.concatenate([before, after])
        if 2 * (before[both] == after[both]).sum() < both.sum():
            known = before[~np.isnan(before)]
            cuts = np.quantile(known, np.arange(1, classes) / classes)
            values = np.where(np.isnan(values), np.nan, np.searchsorted(cuts, values, side="right"))
        codes = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    wild = np.repeat([table[name].missing == "wildcard" for table in (pair.original, pair.masked)], len(pair))
    return np.where(states > 0, np.where(wild, -1, codes.max(initial=0) + states), codes)


def _label_codes(pair: Pair, name: str) -> IntArray:
    """The same of labels: what is released of a person tells which of them the true value belongs to."""
    labels = label_codes(pair, name)
    absent = (pair.original.missing_states(name) > 0, labels.empty)
    sides = zip((pair.original, pair.masked), (labels.known, labels.released), absent, strict=True)
    return np.concatenate(
        [np.where(missing & (table[name].missing == "wildcard"), -1, codes) for table, codes, missing in sides]
    )


def unique_in_both(sample: Any, population: Any, keys: Sequence[str]) -> float:
    """The percentage of the sample's unique records that are unique in the population too, which holds the sample.

    >>> everyone = {"job": ["cook", "judge", "judge", "baker"]}
    >>> unique_in_both({"job": ["judge", "baker"]}, everyone, ["job"])
    50.0
    """
    held = [counted_combinations(as_microdata(data), keys) for data in (sample, population)]
    alone = [combination for combination, count in held[0].items() if count == 1]
    return 100 * sum(held[1][combination] == 1 for combination in alone) / max(1, len(alone))


def counted_combinations(data: Microdata, keys: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """How often each combination of cells occurs; an empty cell equals an empty cell."""
    return Counter(zip(*(data.arrow(name).to_pylist() for name in keys), strict=True))
