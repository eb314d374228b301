"""One number for each record: components, sums of z-scores and aggregation functions, to put records in an order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from microveil.numerics.standard import min_max, standardise

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Component:
    """A principal component: its loadings, the records' scores on it and its share of the variance."""

    loadings: FloatArray
    scores: FloatArray
    share: float


def first_component(centred: FloatArray) -> Component:
    """The first principal component of centred columns, with the sign that makes the sum of its loadings positive.

    >>> first_component(np.array([[-1.0, -2.0], [1.0, 2.0]])).scores.round(3).tolist()
    [-2.236, 2.236]
    """
    variances, vectors = np.linalg.eigh(centred.T @ centred)
    loadings = _signed(vectors[:, -1])
    total = float(variances.sum())
    return Component(loadings, centred @ loadings, float(variances[-1]) / total if total > 0 else 0.0)


def _signed(loadings: FloatArray) -> FloatArray:
    direction = loadings.sum()
    if abs(direction) < 1e-12:
        direction = loadings[np.argmax(np.abs(loadings))]
    return loadings if direction > 0 else -loadings


def sum_of_z_scores(columns: FloatArray) -> FloatArray:
    """The sum of each record's standardised values; a constant column adds nothing."""
    return np.asarray(standardise(columns).sum(axis=1))


def to_unit_interval(columns: FloatArray) -> FloatArray:
    """Each column to [0, 1], as integrals over fuzzy measures need it; a constant column lies in the middle."""
    return np.where(np.ptp(columns, axis=0) > 0, min_max(columns), 0.5)
