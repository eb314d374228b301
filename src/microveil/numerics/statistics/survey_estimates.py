"""Design-based estimates from a weighted sample: means, totals and proportions with their standard errors.

The variance is that of units (households, or else records) drawn with replacement within strata; ratios such as means
are linearised. In a stratum with one unit only, that unit is compared with the mean of all units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microveil.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Estimates:
    """Estimates and their standard errors, side by side; `held` is the weight they rest on, 0 where they are none."""

    values: FloatArray
    errors: FloatArray
    held: float

    @classmethod
    def joined(cls, several: Sequence[Estimates]) -> Estimates:
        """Estimates of several sub-domains one after the other."""
        values, errors = ([getattr(one, form) for one in several] for form in ("values", "errors"))
        return cls(
            np.concatenate([np.empty(0), *values]),
            np.concatenate([np.empty(0), *errors]),
            sum(one.held for one in several),
        )

    def only(self, wanted: BoolArray) -> Estimates:
        return Estimates(self.values[wanted], self.errors[wanted], self.held)


@dataclass(frozen=True)
class Design:
    """Sampling weights, and which unit each record belongs to; `stratum` is that of each unit, `sizes` says how many
    units each stratum of the whole sample has."""

    weights: FloatArray
    unit: IntArray
    stratum: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, weights: FloatArray, strata: IntArray | None = None, units: IntArray | None = None) -> Design:
        """A unit that has records in several strata is several units."""
        records = np.arange(len(weights))
        strata = np.zeros(len(weights), dtype=np.int64) if strata is None else _numbered(strata)
        crossed = records if units is None else _numbered(_numbered(units) * (int(strata.max()) + 1) + strata)
        stratum = np.zeros(int(crossed.max()) + 1, dtype=np.int64)
        stratum[crossed] = strata
        return cls(weights, crossed, stratum, np.bincount(stratum))

    def within(self, rows: IntArray) -> Design:
        """The part of the sample that lies in a sub-domain: these records and their units. The units outside count in
        the sizes of the strata, so the time it takes depends on the part alone."""
        units, unit = np.unique(self.unit[rows], return_inverse=True)
        return Design(self.weights[rows], unit.reshape(-1), self.stratum[units], self.sizes)

    def mean_and_total(self, values: FloatArray) -> tuple[Estimates, Estimates]:
        """The mean and the total of a column.

        >>> design = Design.of(np.array([1.0, 1.0, 2.0]))
        >>> mean, total = design.mean_and_total(np.array([1.0, 3.0, 4.0]))
        >>> mean.values.tolist(), total.values.tolist()
        ([3.0], [12.0])
        """
        held, total = float(self.weights.sum()), float(self.weights @ values)
        mean = total / held if held > 0 else 0.0
        of_mean = self._error(self.weights * (values - mean)) / held if held > 0 else 0.0
        return (
            Estimates(np.array([mean]), np.array([of_mean]), held),
            Estimates(np.array([total]), np.array([self._error(self.weights * values)]), held),
        )

    def _error(self, contributions: FloatArray) -> float:
        """The standard error of a sum of contributions of records; units outside contribute 0."""
        by_unit = np.bincount(self.unit, weights=contributions, minlength=len(self.stratum))
        sums = np.bincount(self.stratum, weights=by_unit, minlength=len(self.sizes))
        inside = np.bincount(self.stratum, minlength=len(self.sizes))
        centre = np.where(self.sizes > 1, sums / self.sizes, contributions.sum() / self.sizes.sum())
        deviations = (by_unit - centre[self.stratum]) ** 2
        squares = np.bincount(self.stratum, weights=deviations, minlength=len(self.sizes))
        outside = (self.sizes - inside) * centre**2
        return float(np.sqrt(((squares + outside) * _correction(self.sizes)).sum()))

    def proportions(self, codes: IntArray, categories: int) -> Estimates:
        """The proportion of each category.

        Each contribution is w (1[c] - p_c) / W. Its sums and squares over units come from the weight that each unit has
        in each of its own categories, so that many categories cost no more than a few; strata and categories that do
        not occur contribute nothing.

        >>> design = Design.of(np.array([1.0, 1.0, 2.0]))
        >>> design.proportions(np.array([0, 0, 1]), 2).values.tolist()
        [0.5, 0.5]
        """
        values, errors = np.zeros(categories), np.zeros(categories)
        held = float(self.weights.sum())
        if held <= 0:
            return Estimates(values, errors, 0.0)
        occurring, codes = np.unique(codes, return_inverse=True)
        strata, stratum = np.unique(self.stratum, return_inverse=True)
        width, sizes = len(occurring), self.sizes[strata][:, None]
        found = np.bincount(codes, weights=self.weights) / held
        of_unit = np.bincount(self.unit, weights=self.weights)
        crossed, inverse = np.unique(self.unit * width + codes, return_inverse=True)
        own = np.bincount(inverse.reshape(-1), weights=self.weights).astype(np.float64)
        unit, category = crossed // width, crossed % width
        cell = stratum[unit] * width + category

        def table(amounts: FloatArray) -> FloatArray:
            summed = np.bincount(cell, weights=amounts, minlength=len(strata) * width)
            return summed.astype(np.float64).reshape(len(strata), width)

        weight, square = (np.bincount(stratum, weights=of_unit**power)[:, None] for power in (1, 2))
        sums = table(own) - found * weight
        squares = table(own**2) - 2 * found * table(own * of_unit[unit]) + found**2 * square
        centre = np.where(sizes > 1, sums / sizes, 0.0)  # the contributions of all units sum to 0
        spread = squares - 2 * centre * sums + sizes * centre**2
        variances = (np.maximum(spread, 0.0) * _correction(sizes)).sum(axis=0)
        values[occurring], errors[occurring] = found, np.sqrt(variances) / held
        return Estimates(values, errors, held)


def _correction(sizes: IntArray) -> FloatArray:
    return np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)


def _numbered(codes: IntArray) -> IntArray:
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
