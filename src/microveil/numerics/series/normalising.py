"""Series on a common scale, and back: by time point, each by itself, or all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from microveil.numerics.statistics.scaling import Scaling
from microveil.typing import FloatArray

Normalising = Literal["none", "range", "point", "series", "global"]


@dataclass(frozen=True)
class Normalisation:
    """What is taken off the cells of a matrix of series, and what they are then divided by.

    What is constant becomes 0, and its unit is 1, so that every normalisation can be undone.

    >>> level = Normalisation.of(np.array([[1.0, 3.0], [5.0, 5.0]]), "series")
    >>> level.apply(np.array([[1.0, 3.0], [5.0, 5.0]])).tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    >>> level.undo(np.array([[0.0, 2.0], [0.0, 1.0]])).tolist()
    [[2.0, 4.0], [5.0, 6.0]]
    """

    centre: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, values: FloatArray, by: Normalising) -> Normalisation:
        """Cells between 0 and 1 at each time point (range), z-scores at each time point (point), z-scores of each
        series (series), which keep its shape, or of all cells together (global), which also keep the levels apart.

        Deviations are those of the population.
        """
        if by == "none":
            return cls(np.zeros(1), np.ones(1))
        if by == "range":
            present = ~np.isnan(values)
            low = np.min(values, axis=0, where=present, initial=np.inf)
            width = np.max(values, axis=0, where=present, initial=-np.inf) - low
            return cls(np.where(np.isfinite(low), low, 0.0), np.where(width > 0, width, 1.0))
        if by == "point":
            return cls._by_columns(values)
        if by == "series":
            turned = cls._by_columns(values.T)
            return cls(turned.centre[:, None], turned.unit[:, None])
        return cls._by_columns(values.reshape(-1, 1))

    @classmethod
    def _by_columns(cls, columns: FloatArray) -> Normalisation:
        scaling = Scaling.of(columns)
        return cls(scaling.mean, np.where(scaling.deviation > 0, scaling.deviation, 1.0))

    def apply(self, values: FloatArray) -> FloatArray:
        """These cells on the scale; they need not be those that it was made of."""
        return np.asarray((values - self.centre) / self.unit)

    def undo(self, values: FloatArray) -> FloatArray:
        """Cells on the scale as they were before."""
        return np.asarray(values * self.unit + self.centre)


def normalised(values: FloatArray, by: Normalising) -> FloatArray:
    """A matrix of series on a scale of its own."""
    return Normalisation.of(values, by).apply(values)
