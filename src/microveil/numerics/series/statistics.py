"""Means, autocovariances and spectra of series, and by how much two of them differ.

A matrix has a series in each row and a time point in each column; a missing cell is NaN. A statistic that is 0 but for
rounding is exactly 0, because relative changes are measured against it.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.statistics.scaling import Scaling
from microveil.typing import FloatArray, IntArray

_ROUNDING = 1e-12  # of what a statistic is made of


def greatest(values: FloatArray) -> FloatArray:
    """The greatest absolute value of each series; 0 if all its cells are missing."""
    return np.asarray(np.max(np.abs(values), axis=1, where=~np.isnan(values), initial=0.0))


def without_rounding(statistics: FloatArray, made_of: FloatArray) -> FloatArray:
    """The statistics, where those that are only rounding of what they are made of are 0."""
    return np.where(np.abs(statistics) < _ROUNDING * made_of, 0.0, statistics)


def means(values: FloatArray) -> FloatArray:
    """The mean of each series over its present cells; NaN if there are none.

    >>> means(np.array([[1.0, 2.0, 6.0], [0.1, np.nan, 0.1]])).tolist()
    [3.0, 0.1]
    """
    found = without_rounding(Scaling.of(values.T).mean, greatest(values))
    return np.where(np.isnan(values).all(axis=1), np.nan, found)


def autocovariance(
    values: FloatArray, lag: int | IntArray, *, normalise: bool = False, literal: bool = False
) -> FloatArray:
    """R(j) = (1/T) sum_i (x_i - mean)(x_{i+j} - mean) of each series, with one lag j for all or one for each.

    T is the number of present cells, and only products of two present cells are summed up, so that R(j) is biased
    towards 0 and R(0) is the variance. With `normalise` it is divided by R(0): the autocorrelation, 0 for a constant.
    With `literal` the sum has its first product only, as a printed formula has it.

    >>> autocovariance(np.array([[1.0, 2.0, 3.0, 6.0]]), 1).tolist()
    [0.5]
    """
    centred = np.nan_to_num(_centred(values))
    present = np.maximum((~np.isnan(values)).sum(axis=1), 1)
    variance = np.square(centred).sum(axis=1) / present
    products = centred * _later(centred, np.broadcast_to(np.asarray(lag, dtype=np.int64), len(values)))
    if literal:
        first = np.argmax(~np.isnan(values), axis=1)[:, None]
        found = np.take_along_axis(products, first, axis=1)[:, 0] / present
    else:
        found = products.sum(axis=1) / present
    found = without_rounding(found, variance)
    if normalise:
        found = np.divide(found, variance, out=np.zeros_like(found), where=variance > 0)
    return np.where(np.isnan(values).all(axis=1), np.nan, found)


def autocorrelations(values: FloatArray, most: int) -> FloatArray:
    """The autocorrelations of each series at the lags 0, 1, ..., `most`, a column a lag; 0 for a constant.

    >>> autocorrelations(np.array([[1.0, 2.0, 3.0, 6.0]]), 2).round(3).tolist()
    [[1.0, 0.143, -0.214]]
    """
    return np.column_stack([autocovariance(values, lag, normalise=True) for lag in range(most + 1)])


def _centred(values: FloatArray) -> FloatArray:
    centred = values - Scaling.of(values.T).mean[:, None]
    return without_rounding(centred, greatest(values)[:, None])


def _later(cells: FloatArray, lags: IntArray) -> FloatArray:
    """The cell so many time points later, 0 beyond the end."""
    length = cells.shape[1]
    if len(lags) and (lags == lags[0]).all():
        lag = min(int(lags[0]), length)
        return np.hstack([cells[:, lag:], np.zeros((len(cells), lag))])
    at = np.arange(length) + lags[:, None]
    return np.where(at < length, np.take_along_axis(cells, np.minimum(at, length - 1), axis=1), 0.0)


def periodograms(values: FloatArray) -> FloatArray:
    """The part of the variance of each series at the frequencies 1/T, 2/T, ..., up to one half, a column a frequency.

    The parts add up to the variance. The series must be complete; a constant has 0 at every frequency.

    >>> periodograms(np.array([[1.0, -1.0, 1.0, -1.0], [3.0, 3.0, 3.0, 3.0]])).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    length = values.shape[1]
    power = np.square(np.abs(np.fft.rfft(_centred(values), axis=1))) / length**2
    # a frequency stands for its mirror image too, but for the highest one of an even length
    both = np.full(power.shape[1], 2.0)
    if length % 2 == 0:
        both[-1] = 1.0
    return np.asarray((power * both)[:, 1:])


def shares(parts: FloatArray) -> FloatArray:
    """The parts of each row as shares of their sum; 0 where there is nothing to share."""
    total = parts.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(parts, total, out=np.zeros_like(parts), where=total > 0))


def relative_variation(before: FloatArray, after: FloatArray) -> FloatArray:
    """|a - b| / max(|a|, |b|), at most 1; 0 where both are 0, 1 where only `after` is missing, else NaN is NaN.

    >>> relative_variation(np.array([1.0, 0.0, -1.0, 2.0]), np.array([2.0, 0.0, 1.0, np.nan])).tolist()
    [0.5, 0.0, 1.0, 1.0]
    """
    varied = np.minimum(np.abs(signed_variation(before, after)), 1.0)
    lost = np.isnan(after) & ~np.isnan(before)
    return np.where(lost, 1.0, np.where(np.isnan(before), np.nan, varied))


def signed_variation(before: FloatArray, after: FloatArray) -> FloatArray:
    """(a - b) / max(|a|, |b|), 0 where both are 0; NaN where one is missing."""
    with np.errstate(invalid="ignore", over="ignore"):
        change, base = before - after, np.maximum(np.abs(before), np.abs(after))
        found = np.divide(change, base, out=np.zeros_like(base), where=base > 0)
    # two infinite numbers, or a finite one and an infinite one
    found = np.where(np.isinf(base), np.where(before == after, 0.0, np.sign(change)), found)
    return np.where(np.isnan(before) | np.isnan(after), np.nan, found)
