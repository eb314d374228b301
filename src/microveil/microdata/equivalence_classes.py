"""Equivalence classes: how often combinations of key values occur, with missing values and sampling weights.

Two records agree on an attribute when their values are equal. A missing value that is a category of its own, or not
applicable, agrees only with cells missing in the same way; one that is a wildcard agrees with every value, since it
could be any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from microveil.errors import DataError
from microveil.microdata.microdata import Microdata
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.counting.equivalence_classes import agreeing_sums
from microveil.progress import Progress, reported, silent
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class EquivalenceClasses:
    """The distinct combinations of some attributes.

    `codes` has a row for each combination and a column for each attribute, -1 for a wildcard; `of_record` is the
    combination of each record; `counts` and `weights` are those of the records with exactly this combination.

    >>> people = Microdata.of({"sex": ["f", "f", "m", "m"], "job": ["cook", "cook", "cook", None]})
    >>> equivalence_classes_of(people, ["sex", "job"]).per_record.tolist()
    [2, 2, 1, 1]
    """

    attributes: tuple[str, ...]
    codes: IntArray
    of_record: IntArray
    counts: IntArray
    weights: FloatArray

    @classmethod
    def of(
        cls,
        attributes: Sequence[str],
        columns: Sequence[IntArray],
        masses: FloatArray | None = None,
        repeats: IntArray | None = None,
    ) -> EquivalenceClasses:
        """From the codes of each attribute, -1 for a wildcard, what each record weighs, by default 1, and for how many
        records it stands."""
        of_record, first = number_rows(
            [codes + 1 for codes in columns], [int(codes.max(initial=-1)) + 2 for codes in columns]
        )
        counts = np.bincount(of_record, weights=repeats, minlength=len(first)).astype(np.int64)
        weights = counts.astype(np.float64)
        if masses is not None:
            weights = np.bincount(of_record, weights=masses, minlength=len(first)).astype(np.float64)
        codes = np.column_stack([codes[first] for codes in columns])
        return cls(tuple(attributes), codes.reshape(len(first), len(columns)), of_record, counts, weights)

    def __len__(self) -> int:
        return len(self.codes)

    def weighing(self, weights: FloatArray) -> EquivalenceClasses:
        """The same combinations with other weights."""
        return replace(self, weights=weights)

    def agreeing_with_each(self, masses: FloatArray) -> FloatArray:
        """For each combination the sums of some columns of masses over the combinations that agree with it."""
        return agreeing_sums(self.codes, masses)

    @cached_property
    def _sums(self) -> FloatArray:
        return self.agreeing_with_each(np.column_stack([self.counts.astype(np.float64), self.weights]))

    @property
    def frequencies(self) -> IntArray:
        """For each combination, how many records agree with it."""
        return self._sums[:, 0].round().astype(np.int64)

    @property
    def population(self) -> FloatArray:
        """For each combination, the weights of the records that agree with it: an estimate for the population."""
        return self._sums[:, 1]

    @property
    def per_record(self) -> IntArray:
        """For each record, how many records (itself included) agree with it."""
        return self.frequencies[self.of_record]

    @property
    def per_record_without_wildcards(self) -> IntArray:
        """The same where an empty cell agrees with empty cells only."""
        return self.counts[self.of_record]


def beside_wildcards(number: int, without: int) -> str:
    """A count, and beside one that rests on wildcards what it is without them.

    >>> beside_wildcards(3, 3), beside_wildcards(3, 1)
    ('3', '3 (1 without wildcards)')
    """
    return f"{number:,}" if number == without else f"{number:,} ({without:,} without wildcards)"


def equivalence_classes_of(
    data: Microdata, attributes: Sequence[str], progress: Progress = silent
) -> EquivalenceClasses:
    """Count the combinations of these attributes, of any kind; sampling weights are used where the schema has them.

    A record without a weight stands for nobody in the population; weights below 0 are refused.
    """
    if not attributes:
        raise DataError("name at least one attribute whose combinations to count")
    columns = [key_codes(data, name) for name in reported(attributes, progress, "counting combinations")]
    repeats = None if data.part is None else data.part.counts
    masses = None if data.schema.weight is None else weights_of(data, data.schema.weight)
    return EquivalenceClasses.of(attributes, columns, masses, repeats)


def weights_of(data: Microdata, weight: str) -> FloatArray:
    """The sampling weights, 0 where one is missing; some below 0 are refused."""
    values = np.nan_to_num(data.numbers(weight).values)
    if values.min(initial=0.0) < 0:
        raise DataError(f"attribute '{weight}' has weights below 0, so no population can be estimated")
    return values


def key_codes(data: Microdata, name: str) -> IntArray:
    """An attribute of any kind as codes: equal values have equal codes, and -1 stands for a wildcard."""
    attribute = data[name]
    if attribute.is_categorical:
        column = data.categories(name)
        codes, states = column.codes, None
        if (codes < 0).any():
            states = data.missing_states(name)
    else:
        numbers = data.numbers(name)
        codes = np.full(len(numbers.values), -1, dtype=np.int64)
        present = numbers.present
        codes[present] = np.unique(numbers.values[present], return_inverse=True)[1].reshape(-1)
        states = numbers.state if numbers.has_missing else None
    if states is not None and attribute.missing != "wildcard":
        missing = codes < 0  # every kind of missing is a value of its own
        codes = np.where(missing, codes.max(initial=-1) + states.astype(np.int64), codes)
    return codes
