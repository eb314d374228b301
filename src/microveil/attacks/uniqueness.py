"""Uniqueness: records with a rare combination of key values, in the release and in the population it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from microveil.attacks.base import Attack, Risk
from microveil.microdata.combinations import Combinations
from microveil.microdata.hierarchy import node_text
from microveil.microdata.microdata import as_categories, as_microdata
from microveil.microdata.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@parameterised
class Uniqueness(Attack):
    """The intruder looks for released records that agree with a person on all known values, and takes one of them.

    If f released records agree and the file is the whole population, the chance of a right choice is 1/f where the
    person's own record agrees, and 0 where masking has changed it. If the file is a sample, more of the population
    agree: by the sampling weights, or by the size of the population, F is estimated, and the chance is the expected
    1/F under a negative binomial distribution, or plainly 1 over the estimate. Numbers are compared exactly where
    masking left most of them as they were; else only by which of `classes` equal parts of the original they lie in.
    Where labels for several values are released, such as intervals and sets, a person is taken to be found by the label
    that the own record has, and the records with the same label agree.

    The counters: `unique`, the share of released records with a combination of their own; `still-unique`, the share of
    these that are unique in the original too; `population-unique`, the share of the same that is expected to be unique
    in the population. The number of re-identifications to expect is the risk times the number of records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "cook", "judge"]})
    >>> risk = Uniqueness().assess(people, people, ["sex", "job"])
    >>> risk.per_record.tolist(), risk.counters["unique"]
    ([0.5, 0.5, 0.5, 0.5, 1.0], 20.0)
    """

    name: ClassVar[str] = "uniqueness"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "finds records by rare combinations of known values"
    meaning: ClassVar[str] = "records found by the combination of their key values; lower is safer"
    assumes: ClassVar[str] = "the true values of some attributes of a person, not whether the person is in the sample"
    formula: ClassVar[str] = "mean over i of E(1 / F_i | f_i) [x'_i agrees with x_i], F_i the population that agrees"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    reads_labels: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "a wildcard agrees with every value; a missing cell that is a category of its own or not applicable agrees "
        "with its like"
    )
    source: ClassVar[str] = (
        "Benedetti and Franconi (1998); Polettini and Stander (2004) on the negative binomial form; specification 01, "
        "3.3 and DR-3"
    )

    estimate: Literal["negative-binomial", "ratio", "none"] = parameter(
        "negative-binomial",
        help="the chance for a sample: the expected 1/F, 1 over the estimated F, or that of the file as the population",
    )
    population: int | None = parameter(
        None,
        help="how many units the population has; unset: by the sampling weights, or the file is all",
        ge=1,
        le=10_000_000_000,
    )
    classes: int = parameter(5, help="parts of the file by which masked numbers are compared", ge=1, le=10_000)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        shared = Shared.of(pair, attributes, self.classes, self._weights(pair))
        progress(0.5, f"{self.name}: counting combinations")
        found, weight = shared.released.frequencies[shared.before], shared.released.population[shared.before]
        chances = np.where(shared.own, self._chances(found, weight), 0.0)
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
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} for a person of the population and takes "
            "one of the released records that agree with all of them."
        )
        return Risk.of(self.name, chances, attributes, scenario, counters=counters)

    def _weights(self, pair: Pair) -> FloatArray:
        """How many of the population each record stands for."""
        weight = pair.original.schema.weight
        if self.estimate == "none":
            return np.ones(len(pair))
        if self.population is not None:
            return np.full(len(pair), max(1.0, self.population / len(pair)))
        if weight is None:
            return np.ones(len(pair))
        released = pair.masked if weight in pair.masked.names else pair.original  # a sample has weights of its own
        return np.nan_to_num(released.numbers(weight).values)

    def _chances(self, found: IntArray, weight: FloatArray) -> FloatArray:
        from microveil.numerics.individual_risk import expected_inverse

        sampled, population = np.maximum(found, 1), np.maximum(weight, found)
        if self.estimate == "ratio":
            return 1.0 / np.maximum(population, 1.0)
        cases, case_of = np.unique(np.column_stack([sampled, population]), axis=0, return_inverse=True)
        return expected_inverse(cases[:, 0], cases[:, 0] / np.maximum(cases[:, 1], 1.0))[case_of.reshape(-1)]


@dataclass(frozen=True)
class Shared:
    """The combinations of both files in one numbering; those of the released records are counted.

    `before` and `after` are the combination of each record, and `own` says whether the two agree.
    """

    released: Combinations
    before: IntArray
    after: IntArray
    own: BoolArray

    @classmethod
    def of(cls, pair: Pair, attributes: Sequence[str], classes: int, weights: FloatArray) -> Shared:
        from microveil.numerics.counting import number_rows

        n = len(pair)
        columns = [_codes(pair, name, classes) for name in attributes]
        own = np.all([(c[:n] == c[n:]) | (c[:n] < 0) | (c[n:] < 0) for c in columns], axis=0)
        numbers, first = number_rows([c + 1 for c in columns], [int(c.max()) + 2 for c in columns])
        counts = np.bincount(numbers[n:], minlength=len(first)).astype(np.int64)
        weight = np.bincount(numbers[n:], weights=weights, minlength=len(first)).astype(np.float64)
        codes = np.column_stack([c[first] for c in columns])
        released = Combinations(tuple(attributes), codes, numbers, counts, weight)
        return cls(released, numbers[:n], numbers[n:], np.asarray(own))

    @property
    def unique_after(self) -> BoolArray:
        """The released records with which no other released record agrees."""
        return np.asarray(self.released.frequencies[self.after] == 1)

    @cached_property
    def unique_before(self) -> BoolArray:
        """The original records with which no other original record agrees."""
        held = np.bincount(self.before, minlength=len(self.released)).astype(np.float64)
        return np.asarray(self.released.agreeing_with_each(held[:, None])[self.before, 0] == 1)


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
    if pair.original[name].missing == "wildcard":
        return np.where(states > 0, -1, codes)
    return np.where(states > 0, codes.max(initial=0) + states, codes)


def _label_codes(pair: Pair, name: str) -> IntArray:
    """The same of labels: what is released of a person tells which of them the true value belongs to.

    A cell that is empty or a missing code in the release is one in the original too, or was suppressed.
    """
    attribute = pair.original[name]
    column = as_categories(pair.masked.arrow(name))
    encoded = pc.dictionary_encode(column, null_encoding="mask")
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False).astype(np.int64)
    missing = {node_text(code) for code in attribute.missing_codes}
    empty = np.array([*(node_text(text) in missing for text in encoded.dictionary.to_pylist()), True])[codes]
    before = pair.original.missing_states(name)
    known = np.where(empty & (before == 0), codes.max(initial=0) + 1, codes)  # a suppressed value is not found by it
    if attribute.missing == "wildcard":
        known, codes = np.where(before > 0, -1, known), np.where(empty, -1, codes)
    return np.concatenate([known, codes])


def unique_in_both(sample: Any, population: Any, keys: Sequence[str]) -> float:
    """The percentage of the sample's unique records that are unique in the population too, which holds the sample.

    >>> everyone = {"job": ["cook", "judge", "judge", "baker"]}
    >>> unique_in_both({"job": ["judge", "baker"]}, everyone, ["job"])
    50.0
    """
    held = [
        Counter(zip(*(data.arrow(name).to_pylist() for name in keys), strict=True))
        for data in (as_microdata(sample), as_microdata(population))
    ]
    alone = [combination for combination, count in held[0].items() if count == 1]
    return 100 * sum(held[1][combination] == 1 for combination in alone) / max(1, len(alone))
