"""Functions that fuse the N numbers of each row into one: means, ordered averages and integrals over fuzzy measures.

All of them keep unanimity (N equal numbers give that number) and monotonicity. The integrals of Sugeno and the twofold
one need numbers in [0, 1], that of Choquet numbers from 0 up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Quantifier = Callable[[FloatArray], FloatArray]

LARGEST_GENERAL_MEASURE = 20
_ROUNDING = 1e-9


def power_quantifier(alpha: float) -> Quantifier:
    """Q(x) = x^alpha: 1 gives the mean, larger values lean to the smallest number, smaller ones to the largest."""
    if not alpha > 0:
        raise ParameterError(f"alpha = {alpha} is not allowed; it must be above 0")
    return lambda x: np.asarray(x**alpha)


@dataclass(frozen=True)
class FuzzyMeasure:
    """How much each set of the N sources weighs: 0 for none, 1 for all, and never less for a larger set.

    A symmetric measure is held as N+1 numbers, by the size of the set; any other as 2^N numbers, by the bit mask of the
    set (source i is bit i).

    >>> FuzzyMeasure.of([0.0, 0.3, 0.5, 1.0], 2).is_symmetric
    False
    """

    values: FloatArray
    sources: int

    @classmethod
    def of(cls, values: npt.ArrayLike, sources: int) -> FuzzyMeasure:
        """A measure from its N+1 or 2^N numbers, checked."""
        given = np.asarray(values, dtype=np.float64)
        if sources < 1 or given.ndim != 1 or len(given) not in (sources + 1, 2**sources):
            raise ParameterError(
                f"a fuzzy measure of {sources} attributes has {sources + 1} numbers (by the size of a set) or "
                f"{2**sources} (one for each set), got {given.size}"
            )
        measure = cls(given, sources)
        if not measure.is_symmetric and sources > LARGEST_GENERAL_MEASURE:
            raise ParameterError(f"a general fuzzy measure may have {LARGEST_GENERAL_MEASURE} attributes at most")
        measure._check()
        return measure

    @classmethod
    def symmetric(cls, quantifier: Quantifier, sources: int) -> FuzzyMeasure:
        """mu(A) = Q(|A| / N)."""
        return cls.of(quantifier(np.arange(sources + 1) / sources), sources)

    @property
    def is_symmetric(self) -> bool:
        return len(self.values) == self.sources + 1

    def _check(self) -> None:
        if (
            not np.isfinite(self.values).all()
            or abs(self.values[0]) > _ROUNDING
            or abs(self.values[-1] - 1) > _ROUNDING
        ):
            raise ParameterError("a fuzzy measure must be 0 for the empty set and 1 for the full one")
        if self.is_symmetric:
            growing = bool((np.diff(self.values) >= -_ROUNDING).all())
        else:
            sets = np.arange(2**self.sources)
            growing = all(
                (self.values[sets | (1 << source)] >= self.values - _ROUNDING).all() for source in range(self.sources)
            )
        if not growing:
            raise ParameterError("a fuzzy measure must not fall when a set grows")

    def of_upper_sets(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Each row in ascending order f_(1) <= ... <= f_(N), and the measures of the sets {(i), ..., (N)}."""
        n = self.sources
        if self.is_symmetric:
            return np.sort(rows, axis=1), np.broadcast_to(self.values[n:0:-1], rows.shape)
        order = np.argsort(rows, axis=1, kind="stable")
        masks = np.cumsum((1 << order)[:, ::-1], axis=1)[:, ::-1]
        return np.take_along_axis(rows, order, axis=1), self.values[masks]


def arithmetic_mean(rows: FloatArray) -> FloatArray:
    """The mean of each row."""
    return np.asarray(_matrix(rows).mean(axis=1))


def weighted_mean(rows: FloatArray, weights: npt.ArrayLike) -> FloatArray:
    """The mean of each row with reliabilities as weights, which are brought to the sum 1.

    >>> weighted_mean(np.array([[1.0, 4.0]]), [2, 1]).tolist()
    [2.0]
    """
    rows = _matrix(rows)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (rows.shape[1],) or not np.isfinite(given).all() or (given < 0).any() or given.sum() <= 0:
        raise ParameterError(f"{rows.shape[1]} weights from 0 up, not all 0, are needed, got {given.tolist()}")
    return np.asarray(rows @ (given / given.sum()))


def owa(rows: FloatArray, quantifier: Quantifier) -> FloatArray:
    """The ordered weighted average: the i-th largest number weighs Q(i/N) - Q((i-1)/N).

    >>> owa(np.array([[0.2, 0.9, 0.5, 0.7]]), power_quantifier(2)).round(5).tolist()
    [0.43125]
    """
    rows = _matrix(rows)
    weights = np.diff(FuzzyMeasure.symmetric(quantifier, rows.shape[1]).values)
    return np.asarray(np.sort(rows, axis=1)[:, ::-1] @ weights)


def choquet(rows: FloatArray, measure: FuzzyMeasure) -> FloatArray:
    """The Choquet integral: the steps from one number to the next larger, weighed by the set that reaches them."""
    rows = _matrix(rows, measure)
    if (rows < 0).any():
        raise ParameterError("the Choquet integral needs numbers from 0 up")
    ascending, reached = measure.of_upper_sets(rows)
    return np.asarray((np.diff(ascending, axis=1, prepend=0.0) * reached).sum(axis=1))


def sugeno(rows: FloatArray, measure: FuzzyMeasure) -> FloatArray:
    """The Sugeno integral: the largest of the numbers min(f_(i), mu of the set that reaches f_(i))."""
    ascending, reached = measure.of_upper_sets(_unit(rows, measure))
    return np.asarray(np.minimum(ascending, reached).max(axis=1))


def twofold(rows: FloatArray, sugeno_measure: FuzzyMeasure, choquet_measure: FuzzyMeasure) -> FloatArray:
    """The twofold integral, which has the Choquet and the Sugeno integral as its two special cases."""
    rows = _unit(rows, sugeno_measure)
    ascending, possible = sugeno_measure.of_upper_sets(rows)
    _, weighed = choquet_measure.of_upper_sets(_matrix(rows, choquet_measure))
    so_far = np.maximum.accumulate(np.minimum(ascending, possible), axis=1)
    return np.asarray((so_far * -np.diff(weighed, axis=1, append=0.0)).sum(axis=1))


def _matrix(rows: FloatArray, measure: FuzzyMeasure | None = None) -> FloatArray:
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] == 0 or np.isnan(rows).any():
        raise ParameterError("aggregation needs a matrix with at least one column and without missing numbers")
    if measure is not None and measure.sources != rows.shape[1]:
        raise ParameterError(f"a fuzzy measure of {measure.sources} attributes does not fit {rows.shape[1]} columns")
    return rows


def _unit(rows: FloatArray, measure: FuzzyMeasure) -> FloatArray:
    rows = _matrix(rows, measure)
    if (rows < 0).any() or (rows > 1).any():
        raise ParameterError("the integral needs numbers in [0, 1]")
    return rows
