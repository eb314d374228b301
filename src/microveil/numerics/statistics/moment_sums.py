"""Sums of which means and covariances are made, of a part of the records, that can be added to those of other parts.

Every sum is kept in two numbers, of together about 32 digits, so that it does not show in the result in how many parts
the records were added up, and so that one pass over them is enough: what subtracting the squared mean cancels is far
below what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray, IntArray

_SPLITTER = 134217729.0  # 2 to the 27th and 1: cuts a double into two halves (Dekker, 1971)


@dataclass(frozen=True)
class MomentSums:
    """Sums over the records that have two columns, for every pair of columns, also of a column with itself.

    `counts` are the records that have both; `sums[:, i, j]` is the sum of column i over them, and `products[:, i, j]`
    that of the products of both; the last two in two numbers each. `low` and `high` are the least and the largest
    value.
    """

    counts: IntArray
    sums: FloatArray
    products: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, columns: FloatArray) -> MomentSums:
        """Of some records, NaN where a cell is missing.

        >>> found = MomentSums.of(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]]))
        >>> found.mean.tolist(), found.covariance.round(2).tolist()
        ([3.0, 4.0], [[2.67, 4.0], [4.0, 4.0]])
        """
        return cls(*_summed(np.ascontiguousarray(columns, dtype=np.float64)))

    def __add__(self, other: MomentSums) -> MomentSums:
        """Those of two parts together."""
        return MomentSums(
            self.counts + other.counts,
            _added(self.sums, other.sums),
            _added(self.products, other.products),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def records(self) -> IntArray:
        """How many records have each column."""
        return np.diag(self.counts)

    @property
    def constant(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which columns have no two different values."""
        return np.asarray(self.low >= self.high)

    @property
    def mean(self) -> FloatArray:
        """The mean of each column over its present cells; of a column without any 0."""
        sums = self.sums[0].diagonal()
        middle = sums / np.maximum(self.records, 1)
        return np.where(self.constant, np.where(np.isfinite(self.low), self.low, 0.0), middle)

    @property
    def deviation(self) -> FloatArray:
        """The population deviation of each column; a constant has exactly 0."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def covariance(self) -> FloatArray:
        """The covariance of each pair of columns over the records that have both, each column less its own mean.

        A constant has covariance exactly 0.
        """
        found = _covariances(self.counts, self.sums, self.products)
        varies = ~self.constant
        return np.where(varies[:, None] & varies[None, :], found, 0.0)

    @property
    def sample_covariance(self) -> FloatArray:
        """The covariance of each pair of columns over the records that have both, each column less its mean over these,
        and divided by their number less 1; 0 where there are fewer than two.

        A constant has covariance exactly 0.
        """
        found = _sample_covariances(self.counts, self.sums, self.products)
        varies = ~self.constant
        return np.where(varies[:, None] & varies[None, :], found, 0.0)


@dataclass(frozen=True)
class ColumnSums:
    """The same of columns that are not compared with each other."""

    columns: tuple[MomentSums, ...]

    @classmethod
    def of(cls, columns: FloatArray) -> ColumnSums:
        """Of some records, NaN where a cell is missing.

        >>> found = ColumnSums.of(np.array([[1.0, 2.0], [3.0, np.nan]])) + ColumnSums.of(np.array([[5.0, 6.0]]))
        >>> found.counts.tolist(), found.totals.tolist(), found.means.tolist()
        ([3, 2], [9.0, 8.0], [3.0, 4.0])
        """
        return cls(tuple(MomentSums.of(column[:, None]) for column in columns.T))

    def __add__(self, other: ColumnSums) -> ColumnSums:
        return ColumnSums(tuple(one + more for one, more in zip(self.columns, other.columns, strict=True)))

    @property
    def counts(self) -> IntArray:
        return np.array([int(column.records[0]) for column in self.columns], dtype=np.int64)

    @property
    def totals(self) -> FloatArray:
        return np.array([column.sums[0, 0, 0] for column in self.columns])

    @property
    def means(self) -> FloatArray:
        """Of a column without any cell 0."""
        return np.array([column.mean[0] for column in self.columns])

    @property
    def deviations(self) -> FloatArray:
        """The population deviations; a constant has exactly 0."""
        return np.array([column.deviation[0] for column in self.columns])

    @property
    def ranges(self) -> FloatArray:
        return np.array([column.high[0] - column.low[0] for column in self.columns])


@kernel(steps=lambda columns: 25 * columns.size * columns.shape[1])
def _summed(columns: FloatArray) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    n, d = columns.shape
    counts = np.zeros((d, d), dtype=np.int64)
    sums, products = np.zeros((2, d, d)), np.zeros((2, d, d))
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for r in range(n):
        for i in range(d):
            x = columns[r, i]
            if np.isnan(x):
                continue
            low[i], high[i] = min(low[i], x), max(high[i], x)
            for j in range(d):
                y = columns[r, j]
                if np.isnan(y):
                    continue
                counts[i, j] += 1
                _add(sums, i, j, x, 0.0)
                if j >= i:
                    product, rest = _product(x, y)
                    _add(products, i, j, product, rest)
    for i in range(d):
        for j in range(i):
            products[0, i, j], products[1, i, j] = products[0, j, i], products[1, j, i]
    return counts, sums, products, low, high


@kernel
def _add(total: FloatArray, i: int, j: int, value: float, rest: float) -> None:
    """Add a value given in two numbers to one sum."""
    high = total[0, i, j]
    added = high + value
    back = added - high
    low = total[1, i, j] + rest + ((high - (added - back)) + (value - back))
    total[0, i, j] = added + low
    total[1, i, j] = low - (total[0, i, j] - added)


@kernel
def _product(x: float, y: float) -> tuple[float, float]:
    """A product rounded once, and what the rounding leaves out."""
    product = x * y
    shifted = _SPLITTER * x
    x_high = shifted - (shifted - x)
    x_low = x - x_high
    shifted = _SPLITTER * y
    y_high = shifted - (shifted - y)
    y_low = y - y_high
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


@kernel(steps=lambda one, other: 10 * one.size)
def _added(one: FloatArray, other: FloatArray) -> FloatArray:
    total = one.copy()
    for i in range(one.shape[1]):
        for j in range(one.shape[2]):
            _add(total, i, j, other[0, i, j], other[1, i, j])
    return total


@kernel(steps=lambda counts, sums, products: 200 * counts.size)
def _covariances(counts: IntArray, sums: FloatArray, products: FloatArray) -> FloatArray:
    """In two numbers to the end: products, less each column's sum times the other's mean, more the product of means."""
    d = counts.shape[0]
    found = np.zeros((d, d))
    means = np.zeros((2, d, 1))
    for i in range(d):
        _divide(means, i, sums[0, i, i], sums[1, i, i], max(1, counts[i, i]))
    for i in range(d):
        for j in range(d):
            total = np.zeros((2, 1, 1))
            _add(total, 0, 0, products[0, i, j], products[1, i, j])
            _add_product(total, -sums[0, i, j], -sums[1, i, j], means[0, j, 0], means[1, j, 0])
            _add_product(total, -sums[0, j, i], -sums[1, j, i], means[0, i, 0], means[1, i, 0])
            scaled = np.zeros((2, 1, 1))
            _add_product(scaled, means[0, i, 0], means[1, i, 0], float(counts[i, j]), 0.0)
            _add_product(total, scaled[0, 0, 0], scaled[1, 0, 0], means[0, j, 0], means[1, j, 0])
            found[i, j] = total[0, 0, 0] / max(1, counts[i, j])
    return found


@kernel(steps=lambda counts, sums, products: 100 * counts.size)
def _sample_covariances(counts: IntArray, sums: FloatArray, products: FloatArray) -> FloatArray:
    """Products, less one column's sum times the other's mean over the records that have both."""
    d = counts.shape[0]
    found = np.zeros((d, d))
    mean = np.zeros((2, 1, 1))
    for i in range(d):
        for j in range(d):
            if counts[i, j] > 1:
                total = np.zeros((2, 1, 1))
                _add(total, 0, 0, products[0, i, j], products[1, i, j])
                _divide(mean, 0, sums[0, j, i], sums[1, j, i], counts[i, j])
                _add_product(total, -sums[0, i, j], -sums[1, i, j], mean[0, 0, 0], mean[1, 0, 0])
                found[i, j] = total[0, 0, 0] / (counts[i, j] - 1)
    return found


@kernel
def _add_product(total: FloatArray, a: float, a_rest: float, b: float, b_rest: float) -> None:
    product, rest = _product(a, b)
    _add(total, 0, 0, product, rest + (a * b_rest + a_rest * b))


@kernel
def _divide(quotients: FloatArray, i: int, high: float, low: float, by: int) -> None:
    """A sum in two numbers over a whole number, in two numbers."""
    first = high / by
    product, rest = _product(first, float(by))
    quotients[0, i, 0] = first
    quotients[1, i, 0] = (((high - product) - rest) + low) / by
