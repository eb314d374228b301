"""Standardising, ranks and sums of squares: each exists once, here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def mean_and_deviation(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and population deviation of each column over its present cells; a constant column gets deviation 1."""
    if columns.shape[0] == 0:
        return np.zeros(columns.shape[1]), np.ones(columns.shape[1])
    present = ~np.isnan(columns)
    size = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, columns, 0.0).sum(axis=0) / size
    centred = np.where(present, columns - mean, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / size)
    # a spread at the level of rounding is no spread
    constant = deviation <= 1e-14 * np.maximum(np.abs(mean), np.finfo(float).tiny)
    return mean, np.where(constant, 1.0, deviation)


def standardise(columns: FloatArray) -> FloatArray:
    """Each column to mean 0 and population deviation 1; constant columns become 0; NaN stays NaN.

    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    mean, deviation = mean_and_deviation(columns)
    return (columns - mean) / deviation


def min_max(columns: FloatArray) -> FloatArray:
    """Each column to [0, 1]; constant columns become 0; NaN stays NaN."""
    if columns.shape[0] == 0:
        return columns
    low = np.nanmin(columns, axis=0)
    span = np.nanmax(columns, axis=0) - low
    return np.asarray((columns - low) / np.where(span > 0, span, 1.0))


def average_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1; equal values share the mean of their ranks.

    >>> average_ranks(np.array([7.0, 3.0, 7.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[inverse], dtype=np.float64)
