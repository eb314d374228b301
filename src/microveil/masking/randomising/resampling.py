"""Resampling: order statistics of samples drawn from the attribute itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from microveil.errors import ParameterError
from microveil.masking.base import Masked, Method
from microveil.masking.ranges import Ranges, Whole, ranges
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from microveil.numerics.core.ordering import in_order
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, reported
from microveil.randomness import Streams, check_seed, derived_seed
from microveil.typing import FloatArray


@parameterised
class Resampling(Method):
    """From each attribute by itself `t` samples as long as the file are drawn with replacement and sorted; the mean of
    the r-th values of all samples is published by the record whose original value is the r-th.

    Ranks are kept and every value moves a little; the more samples, the less. Equal values are ranked as in the file,
    and so get different values.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 70, 45, 62]})
    >>> Resampling(t=1).mask(people, seed=5).frame["age"].to_pylist()
    [45.0, 70.0, 62.0, 62.0]
    """

    name: ClassVar[str] = "resampling"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = (
        "each value becomes the mean of the equally ranked values of bootstrap samples of the attribute"
    )
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "missing cells and missing codes stay as they are; samples are drawn from the values"
    source: ClassVar[str] = "Domingo-Ferrer and Mateo-Sanz (1999); Fayyoumi (2008), section 2.5.1"
    searched: ClassVar[Ranges] = ranges(t=Whole(1, 30))

    t: int = parameter(default=3, help="number of bootstrap samples", ge=1, le=10_000)

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns = {}
        for name in reported(attributes, progress, self.name):
            values = data.numbers(name).values
            columns[name] = data.number_column(name, resampled(values, self.t, streams.generator(name)))
        return Masked(columns)


def resampled(values: FloatArray, t: int, rng: np.random.Generator) -> FloatArray:
    """For each value the mean, over t samples, of the value with the same rank; NaN stays."""
    order = in_order(values)
    size, known = len(order), values[order]
    sums = np.zeros(size)
    for _ in range(t):
        drawn = np.bincount(rng.integers(0, size, size=size), minlength=size) if size else np.zeros(0, dtype=np.int64)
        sums += np.repeat(known, drawn)  # a sorted sample, without sorting it
    masked = np.full(len(values), np.nan)
    masked[order] = np.clip(sums / t, known[:1], known[-1:])
    return masked


def resampled_table(
    data: Microdata, attributes: Sequence[str], t: int = 1, *, seed: int
) -> tuple[EquivalenceClasses, FloatArray]:
    """A contingency table made safe by resampling: the combinations of some attributes, and their mean counts in t
    samples of the records, each drawn with replacement and as long as the file.

    >>> people = Microdata.of({"sex": ["f", "f", "m", "m"], "job": ["cook", "cook", "cook", "nurse"]})
    >>> table, counts = resampled_table(people, ["sex", "job"], t=2, seed=1)
    >>> table.counts.tolist(), float(counts.sum())
    ([2, 1, 1], 4.0)
    """
    if t < 1:
        raise ParameterError(f"resampled_table: t = {t} is not allowed; at least one sample is drawn")
    table = equivalence_classes_of(data, attributes)
    if len(data) == 0:
        return table, np.zeros(len(table))
    rng = Streams(derived_seed(check_seed(seed), data.digest(), "table", t)).generator(*attributes)
    drawn = rng.multinomial(len(data), table.counts / len(data), size=t)
    return table, np.asarray(drawn.mean(axis=0))
