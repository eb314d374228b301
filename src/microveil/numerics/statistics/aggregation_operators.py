"""Functions that fuse the N numbers of each row into one: means, ordered averages and integrals over fuzzy measures.

All of them keep unanimity (N equal numbers give that number) and monotonicity. The integrals of Sugeno and the twofold
one need numbers in [0, 1], that of Choquet numbers from 0 up. A quantifier says how much any number of sources weigh
together, and makes a measure for any N. Yager (1988) on ordered averages, Sugeno (1974), Narukawa and Torra (2004) on
the twofold integral; Nin (2008), section 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from microveil.errors import ParameterError
from microveil.typing import FloatArray

Quantifier = Callable[[FloatArray], FloatArray]
Family = Literal["exponent", "sigmoid", "threshold"]
Boundary = Literal["fixed", "raw"]

LARGEST_GENERAL_MEASURE = 20
_ROUNDING = 1e-9
_STEEPNESS = 10.0
# the parameters of the ten published quantifiers of each family
ALPHAS: dict[Family, tuple[float, ...]] = {
    "exponent": tuple(i / 5 for i in range(1, 11)),
    "sigmoid": tuple(i / 10 for i in range(10)),
    "threshold": tuple(i / 10 for i in range(10)),
}


def power_quantifier(alpha: float) -> Quantifier:
    """Q(x) = x^alpha: 1 gives the mean, larger values lean to the smallest number, smaller ones to the largest."""
    if not alpha > 0:
        raise ParameterError(f"alpha = {alpha} is not allowed; it must be above 0")
    return lambda x: np.asarray(x**alpha)


def sigmoid_quantifier(alpha: float, boundary: Boundary = "fixed") -> Quantifier:
    """Q(x) = 1 / (1 + exp(10 (alpha - x))), with Q(0) = 0 and Q(1) = 1 unless it is left `raw`.

    As printed it has neither: Q(0) is 0.5 for alpha = 0, and weights made of it do not add up to 1.
    """
    _check_alpha(alpha, largest=1.0)
    return partial(_sigmoid, alpha=alpha, fixed=boundary == "fixed")


def _sigmoid(x: FloatArray, alpha: float, fixed: bool) -> FloatArray:
    raw = 1.0 / (1.0 + np.exp(_STEEPNESS * (alpha - x)))
    return np.where(x <= 0, 0.0, np.where(x >= 1, 1.0, raw)) if fixed else np.asarray(raw)


def threshold_quantifier(alpha: float) -> Quantifier:
    """Q(x) = 0 up to alpha and 1 above: the ordered average is then one of the numbers, chosen by its rank.

    >>> owa(np.array([[0.2, 0.9, 0.5, 0.7]]), threshold_quantifier(0.5)).tolist()
    [0.5]
    """
    _check_alpha(alpha, largest=1.0 - _ROUNDING)
    return lambda x: np.asarray(x > alpha + _ROUNDING, dtype=np.float64)


def _check_alpha(alpha: float, largest: float) -> None:
    if not 0 <= alpha <= largest:
        raise ParameterError(
            f"alpha = {alpha} is not allowed; it must be from 0 {'up to' if largest == 1 else 'to below'} 1"
        )


def quantifiers(
    family: Family, alphas: Sequence[float] | None = None, boundary: Boundary = "fixed"
) -> tuple[Quantifier, ...]:
    """A family of quantifiers, by default its ten published ones.

    >>> [float(q(np.array(0.5))) for q in quantifiers("exponent", [1, 2])]
    [0.5, 0.25]
    """
    chosen = ALPHAS[family] if alphas is None else alphas
    if family == "exponent":
        return tuple(power_quantifier(alpha) for alpha in chosen)
    if family == "sigmoid":
        return tuple(sigmoid_quantifier(alpha, boundary) for alpha in chosen)
    return tuple(threshold_quantifier(alpha) for alpha in chosen)


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

    @classmethod
    def weighted(cls, weights: npt.ArrayLike, quantifier: Quantifier | None = None) -> FuzzyMeasure:
        """mu(A) = Q of the weight of A: additive without a quantifier, else distorted by it.

        >>> FuzzyMeasure.weighted([3, 1]).values.tolist()
        [0.0, 0.75, 0.25, 1.0]
        """
        given = np.asarray(weights, dtype=np.float64)
        sources = given.size
        if sources > LARGEST_GENERAL_MEASURE:
            raise ParameterError(f"a general fuzzy measure may have {LARGEST_GENERAL_MEASURE} attributes at most")
        shares = _shares(given, sources)
        of_sets = np.zeros(2**sources)
        for source in range(sources):
            of_sets[1 << source : 2 << source] = of_sets[: 1 << source] + shares[source]
        of_sets[-1] = 1.0
        return cls.of(of_sets if quantifier is None else quantifier(of_sets), sources)

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
    return np.asarray(rows @ _shares(np.asarray(weights, dtype=np.float64), rows.shape[1]))


def owa(rows: FloatArray, quantifier: Quantifier) -> FloatArray:
    """The ordered weighted average: the i-th largest number weighs Q(i/N) - Q((i-1)/N).

    >>> owa(np.array([[0.2, 0.9, 0.5, 0.7]]), power_quantifier(2)).round(5).tolist()
    [0.43125]
    """
    rows = _matrix(rows)
    return owa_sorted(np.sort(rows, axis=1), FuzzyMeasure.symmetric(quantifier, rows.shape[1]).values)


def choquet(rows: FloatArray, measure: FuzzyMeasure) -> FloatArray:
    """The Choquet integral: the steps from one number to the next larger, weighed by the set that reaches them."""
    rows = _matrix(rows, measure)
    if (rows < 0).any():
        raise ParameterError("the Choquet integral needs numbers from 0 up")
    ascending, reached = measure.of_upper_sets(rows)
    return np.asarray((np.diff(ascending, axis=1, prepend=0.0) * reached).sum(axis=1))


def sugeno(rows: FloatArray, measure: FuzzyMeasure) -> FloatArray:
    """The Sugeno integral: the largest of the numbers min(f_(i), mu of the set that reaches f_(i))."""
    return sugeno_sorted(*measure.of_upper_sets(_unit(rows, measure)))


def twofold(rows: FloatArray, sugeno_measure: FuzzyMeasure, choquet_measure: FuzzyMeasure) -> FloatArray:
    """The twofold integral, which has the Choquet and the Sugeno integral as its two special cases."""
    rows = _unit(rows, sugeno_measure)
    ascending, possible = sugeno_measure.of_upper_sets(rows)
    _, weighed = choquet_measure.of_upper_sets(_matrix(rows, choquet_measure))
    return twofold_sorted(ascending, possible, weighed)


def owa_sorted(ascending: FloatArray, levels: FloatArray) -> FloatArray:
    """The ordered average of rows in ascending order, with the quantifier's values at 0, 1/N, ..., 1."""
    return np.asarray((ascending * np.diff(levels)[::-1]).sum(axis=1))


def sugeno_sorted(ascending: FloatArray, reached: FloatArray) -> FloatArray:
    """The Sugeno integral of rows in ascending order, with the measures of the sets from each number up."""
    return np.asarray(np.minimum(ascending, reached).max(axis=1))


def twofold_sorted(ascending: FloatArray, possible: FloatArray, weighed: FloatArray, empty: float = 0.0) -> FloatArray:
    """The twofold integral of rows in ascending order, with both measures of the sets from each number up."""
    so_far = np.maximum.accumulate(np.minimum(ascending, possible), axis=1)
    return np.asarray((so_far * -np.diff(weighed, axis=-1, append=empty)).sum(axis=1))


def _shares(weights: FloatArray, sources: int) -> FloatArray:
    if weights.shape != (sources,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise ParameterError(f"{sources} weights from 0 up, not all 0, are needed, got {weights.tolist()}")
    return np.asarray(weights / weights.sum())


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
