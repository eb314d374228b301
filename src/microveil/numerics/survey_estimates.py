"""Design-based estimates from a weighted sample: means, totals and proportions with their standard errors.

The variance is that of units (households, or else records) drawn with replacement within strata; ratios such as means
are linearised. In a stratum with one unit only, that unit is compared with the mean of all units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Estimates:
    """Estimates and their standard errors, side by side."""

    values: FloatArray
    errors: FloatArray


@dataclass(frozen=True)
class Design:
    """Sampling weights, and which unit each record belongs to; `stratum` is that of each unit."""

    weights: FloatArray
    unit: IntArray
    stratum: IntArray

    @classmethod
    def of(cls, weights: FloatArray, strata: IntArray | None = None, units: IntArray | None = None) -> Design:
        """A unit that has records in several strata is several units."""
        records = np.arange(len(weights))
        strata = np.zeros(len(weights), dtype=np.int64) if strata is None else _numbered(strata)
        crossed = records if units is None else _numbered(_numbered(units) * (int(strata.max()) + 1) + strata)
        stratum = np.zeros(int(crossed.max()) + 1, dtype=np.int64)
        stratum[crossed] = strata
        return cls(weights, crossed, stratum)

    def mean_and_total(self, values: FloatArray, inside: BoolArray) -> tuple[Estimates, Estimates]:
        """The mean and the total of a column over the records inside a sub-domain.

        >>> design = Design.of(np.array([1.0, 1.0, 2.0]))
        >>> mean, total = design.mean_and_total(np.array([1.0, 3.0, 4.0]), np.ones(3, dtype=bool))
        >>> mean.values.tolist(), total.values.tolist()
        ([3.0], [12.0])
        """
        weights = np.where(inside, self.weights, 0.0)
        held = float(weights.sum())
        values = np.where(inside, values, 0.0)
        total = float(weights @ values)
        mean = total / held if held > 0 else 0.0
        of_mean = self._error(weights * (values - mean)) / held if held > 0 else 0.0
        return (
            Estimates(np.array([mean]), np.array([of_mean])),
            Estimates(np.array([total]), np.array([self._error(weights * values)])),
        )

    def _error(self, contributions: FloatArray) -> float:
        """The standard error of a sum of contributions of records."""
        by_unit = np.bincount(self.unit, weights=contributions, minlength=len(self.stratum))
        sizes = np.bincount(self.stratum)
        sums = np.bincount(self.stratum, weights=by_unit)
        centre = np.where(sizes > 1, sums / sizes, by_unit.mean())
        deviations = (by_unit - centre[self.stratum]) ** 2
        return float(np.sqrt((np.bincount(self.stratum, weights=deviations) * _correction(sizes)).sum()))

    def proportions(self, codes: IntArray, categories: int, inside: BoolArray) -> Estimates:
        """The proportion of each category among the records inside a sub-domain.

        Each contribution is w (1[c] - p_c) / W. Its sums and squares over units come from the weight that each unit has
        in each of its own categories, so that many categories cost no more than a few.

        >>> design = Design.of(np.array([1.0, 1.0, 2.0]))
        >>> design.proportions(np.array([0, 0, 1]), 2, np.ones(3, dtype=bool)).values.tolist()
        [0.5, 0.5]
        """
        weights = np.where(inside, self.weights, 0.0)
        held = float(weights.sum())
        if held <= 0:
            return Estimates(np.zeros(categories), np.zeros(categories))
        found = np.bincount(codes[inside], weights=self.weights[inside], minlength=categories) / held
        of_unit = np.bincount(self.unit, weights=weights, minlength=len(self.stratum))
        crossed, place = np.unique(self.unit[inside] * categories + codes[inside], return_inverse=True)
        own = np.bincount(place.reshape(-1), weights=self.weights[inside]).astype(np.float64)
        unit, category = crossed // categories, crossed % categories
        sizes = np.bincount(self.stratum)
        strata = len(sizes)
        cell = self.stratum[unit] * categories + category

        def table(amounts: FloatArray) -> FloatArray:
            summed = np.bincount(cell, weights=amounts, minlength=strata * categories)
            return summed.astype(np.float64).reshape(strata, categories)

        weight, square = (np.bincount(self.stratum, weights=of_unit**power)[:, None] for power in (1, 2))
        sums = table(own) - found * weight
        squares = table(own**2) - 2 * found * table(own * of_unit[unit]) + found**2 * square
        centre = np.where(sizes[:, None] > 1, sums / sizes[:, None], 0.0)  # the contributions of all units sum to 0
        spread = squares - 2 * centre * sums + sizes[:, None] * centre**2
        variances = (np.maximum(spread, 0.0) * _correction(sizes)[:, None]).sum(axis=0)
        return Estimates(found, np.sqrt(variances) / held)


def _correction(sizes: IntArray) -> FloatArray:
    return np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)


def _numbered(codes: IntArray) -> IntArray:
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
