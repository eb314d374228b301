"""Series on other points: gaps filled, and series of any length brought to a common number of points."""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray


def fill_gaps(values: FloatArray, positions: FloatArray) -> FloatArray:
    """Missing values between present ones on the straight line between them; those at the ends stay missing.

    >>> fill_gaps(np.array([[np.nan, 1.0, np.nan, 5.0]]), np.array([0.0, 1.0, 2.0, 5.0])).tolist()
    [[nan, 1.0, 2.0, 5.0]]
    """
    present = ~np.isnan(values)
    if present.all():
        return values.copy()
    length = values.shape[1]
    at = np.arange(length)
    before = np.maximum.accumulate(np.where(present, at, -1), axis=1)
    behind = np.minimum.accumulate(np.where(present, at, length)[:, ::-1], axis=1)[:, ::-1]
    rows, columns = np.nonzero(~present & (before >= 0) & (behind < length))
    low, high = before[rows, columns], behind[rows, columns]
    share = (positions[columns] - positions[low]) / (positions[high] - positions[low])
    filled = values.copy()
    filled[rows, columns] = (1.0 - share) * values[rows, low] + share * values[rows, high]
    return filled


def resampled(values: FloatArray, positions: FloatArray, points: int) -> FloatArray:
    """Each series from its first to its last present value at so many equidistant times, by straight lines.

    A series with one value has it everywhere, a series without any stays without. A single point is that in the middle.

    >>> resampled(np.array([[0.0, 2.0, 4.0, np.nan]]), np.arange(4.0), 5).tolist()
    [[0.0, 1.0, 2.0, 3.0, 4.0]]
    """
    shares = np.linspace(0.0, 1.0, points) if points > 1 else np.array([0.5])
    complete = ~np.isnan(values).any(axis=1)
    made = np.full((len(values), points), np.nan)
    if complete.any():
        when = positions[0] + shares * (positions[-1] - positions[0])
        right = np.clip(np.searchsorted(positions, when), 1, max(1, len(positions) - 1))
        if len(positions) == 1:
            made[complete] = values[complete]
        else:
            left = right - 1
            share = (when - positions[left]) / (positions[right] - positions[left])
            made[complete] = values[complete][:, left] * (1.0 - share) + values[complete][:, right] * share
    for i in np.flatnonzero(~complete):
        present = np.flatnonzero(~np.isnan(values[i]))
        if len(present):
            held = positions[present]
            made[i] = np.interp(held[0] + shares * (held[-1] - held[0]), held, values[i, present])
    return made
