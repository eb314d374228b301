"""Series made smoother, or coarser in time. Points are taken in their order, as equally spaced; a point without a value
stays without one."""

from __future__ import annotations

from typing import Literal

import numpy as np

from microveil.numerics.series.resampling import fill_gaps
from microveil.numerics.series.spans import of_equal_spans
from microveil.typing import FloatArray

Statistic = Literal["mean", "sum", "maximum"]


def moving_average(values: FloatArray, window: int) -> FloatArray:
    """The mean of the values among so many points around each; at the ends of those that there are.

    >>> moving_average(np.array([[1.0, 2.0, 6.0, np.nan]]), 3).tolist()
    [[1.5, 3.0, 4.0, nan]]
    """
    length = values.shape[1]
    at = np.arange(length)
    first, last = np.maximum(at - (window - 1) // 2, 0), np.minimum(at + window // 2, length - 1) + 1
    present = ~np.isnan(values)
    start = first_values(values)
    sums, counts = _running(np.where(present, values - start, 0.0)), _running(present.astype(np.float64))
    with np.errstate(invalid="ignore"):
        mean = (sums[:, last] - sums[:, first]) / np.where(present, counts[:, last] - counts[:, first], np.nan)
    return np.asarray(start + mean)


def first_values(values: FloatArray) -> FloatArray:
    """The first value of each series, as a column: filters work on differences to it, so that a constant series stays
    as it is, to the last digit."""
    first = (~np.isnan(values)).argmax(axis=1)
    return np.asarray(values[np.arange(len(values)), first][:, None])


def _running(cells: FloatArray) -> FloatArray:
    return np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)


def exponential(values: FloatArray, window: int) -> FloatArray:
    """Each value mixed with the smoothed one before it, with the share 2 / (window + 1) of itself.

    >>> exponential(np.array([[1.0, np.nan, 3.0]]), 3).tolist()
    [[1.0, nan, 2.0]]
    """
    share = 2.0 / (window + 1.0)
    smoothed, held = np.full_like(values, np.nan), np.full(len(values), np.nan)
    for t in range(values.shape[1]):
        now = values[:, t]
        mixed = np.where(np.isnan(held), now, held + share * (now - held))
        held = np.where(np.isnan(now), held, mixed)
        smoothed[:, t] = np.where(np.isnan(now), np.nan, held)
    return smoothed


def low_pass(values: FloatArray, window: int, positions: FloatArray) -> FloatArray:
    """Each series without its waves shorter than two windows, so that a window holds about one number.

    Cosines over the stretch from its first to its last value are used, so that its ends do not have to meet; gaps
    inside are filled on a straight line before. The mean of a stretch without gaps is kept.

    >>> low_pass(np.array([[1.0, 3.0, 1.0, 3.0]]), 4, np.arange(4.0)).round(3).tolist()
    [[1.5, 1.793, 2.207, 2.5]]
    """
    from scipy.fft import dct, idct

    smoothed, continuous = np.full_like(values, np.nan), fill_gaps(values, positions)
    for rows, among in of_equal_spans(values):
        start = continuous[rows, among.start][:, None]
        coefficients = dct(continuous[rows, among] - start, axis=1, norm="ortho")
        coefficients[:, (among.stop - among.start) // window + 1 :] = 0.0
        smoothed[rows, among] = start + idct(coefficients, axis=1, norm="ortho")
    return np.where(np.isnan(values), np.nan, smoothed)


def aggregated(values: FloatArray, window: int, statistic: Statistic) -> FloatArray:
    """The mean, sum or largest of the values in each run of so many points, at every point of the run that has a value.

    Points that are left over at the end belong to the last run: a run of a single point would publish its value.

    >>> aggregated(np.array([[1.0, 3.0, 5.0, 6.0, 7.0]]), 2, "mean").tolist()
    [[2.0, 2.0, 6.0, 6.0, 6.0]]
    """
    length = values.shape[1]
    starts = window * np.arange(max(1, length // window))
    present = ~np.isnan(values)
    if statistic == "maximum":
        found = np.maximum.reduceat(np.where(present, values, -np.inf), starts, axis=1)
    elif statistic == "sum":
        found = np.add.reduceat(np.where(present, values, 0.0), starts, axis=1)
    else:
        start = first_values(values)
        sums = np.add.reduceat(np.where(present, values - start, 0.0), starts, axis=1)
        found = start + sums / np.maximum(np.add.reduceat(present, starts, axis=1, dtype=np.int64), 1)
    return np.where(present, np.repeat(found, np.diff([*starts, length]), axis=1), np.nan)
