"""Standardising, ranks and sums of squares: each exists once, here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from microveil.typing import FloatArray

Scale = Literal["z", "minmax", "none"]  # z-scores, from 0 to 1, or the values as they are


@dataclass(frozen=True)
class Scaling:
    """Mean and population deviation of each column over its present cells; a constant has exactly deviation 0."""

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, columns: FloatArray) -> Scaling:
        present = ~np.isnan(columns)
        size = np.maximum(present.sum(axis=0), 1)
        low = np.min(columns, axis=0, where=present, initial=np.inf)
        constant = low >= np.max(columns, axis=0, where=present, initial=-np.inf)
        sums = np.sum(columns, axis=0, where=present)
        mean = np.where(constant, np.where(np.isfinite(low), low, 0.0), sums / size)
        squares = np.sum((columns - mean) ** 2, axis=0, where=present)
        return cls(mean, np.where(constant, 0.0, np.sqrt(squares / size)))

    def apply(self, columns: FloatArray) -> FloatArray:
        """Standardise by this mean and deviation; a constant is only centred."""
        return np.asarray((columns - self.mean) / np.where(self.deviation > 0, self.deviation, 1.0))


class Spread(NamedTuple):
    """Mean, population deviation and range of some numbers; of none the range is empty, from inf to -inf."""

    mean: float
    deviation: float
    low: float
    high: float

    @classmethod
    def of(cls, values: FloatArray) -> Spread:
        """
        >>> Spread.of(np.array([1.0, np.nan, 5.0]))
        Spread(mean=3.0, deviation=2.0, low=1.0, high=5.0)
        """
        scaling, present = Scaling.of(values[:, None]), ~np.isnan(values)
        low, high = (
            float(find(values, where=present, initial=least)) for find, least in ((np.min, np.inf), (np.max, -np.inf))
        )
        return cls(float(scaling.mean[0]), float(scaling.deviation[0]), low, high)

    @property
    def width(self) -> float:
        return max(0.0, self.high - self.low)


class Axis(NamedTuple):
    """A scale that numbers are put on: which of them is 0, and how much is 1."""

    start: float
    unit: float

    def of(self, values: FloatArray) -> FloatArray:
        return (values - self.start) / self.unit


def standardise(columns: FloatArray) -> FloatArray:
    """Each column to mean 0 and population deviation 1; constant columns become 0; NaN stays NaN.

    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    return Scaling.of(columns).apply(columns)


def min_max(columns: FloatArray) -> FloatArray:
    """Each column to [0, 1] by its range; constant columns become 0; NaN stays NaN."""
    present = ~np.isnan(columns)
    low = np.min(columns, axis=0, where=present, initial=np.inf)
    span = np.max(columns, axis=0, where=present, initial=-np.inf) - low
    return np.asarray((columns - low) / np.where(span > 0, span, 1.0))


def average_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1; equal values share the mean of their ranks.

    >>> average_ranks(np.array([7.0, 3.0, 7.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[inverse], dtype=np.float64)


def relative_ranks(values: FloatArray) -> FloatArray:
    """The share of smaller values, and half the share of equal ones; NaN stays NaN.

    >>> relative_ranks(np.array([7.0, 3.0, 7.0, np.nan, 9.0])).tolist()
    [0.5, 0.125, 0.5, nan, 0.875]
    """
    present = ~np.isnan(values)
    found = np.full(len(values), np.nan)
    found[present] = (average_ranks(values[present]) - 0.5) / max(1, present.sum())
    return found


class Correlations(NamedTuple):
    """A matrix of covariances or cross products scaled to ones on its diagonal, so that a column of small values is
    not taken for rounding: the deviations, what was divided by (1 where there is no deviation), and the quotient."""

    deviations: FloatArray
    divisors: FloatArray
    matrix: FloatArray

    @classmethod
    def of(cls, covariance: FloatArray) -> Correlations:
        """
        >>> Correlations.of(np.array([[4.0, 3.0], [3.0, 9.0]])).matrix.tolist()
        [[1.0, 0.5], [0.5, 1.0]]
        """
        deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        divisors = divisors_of(deviations)
        return cls(deviations, divisors, covariance / np.outer(divisors, divisors))


def divisors_of(deviations: FloatArray) -> FloatArray:
    """What to divide by: the deviations, and 1 where there is none."""
    return np.where(deviations > 0, deviations, 1.0)
