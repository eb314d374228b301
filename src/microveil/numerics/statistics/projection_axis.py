"""A line through the records, fitted on one table and used to score the records of another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from microveil.numerics.statistics.projections import steady_component
from microveil.numerics.statistics.scaling import Scaling
from microveil.typing import FloatArray


@dataclass(frozen=True)
class Axis:
    """Each column is centred and divided by its unit; the score is the sum of the results, each with its loading."""

    centre: FloatArray
    unit: FloatArray
    loadings: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, standardised: bool) -> Axis:
        """The first principal component of the complete rows, of their z-scores or of the values as they are.

        >>> Axis.of(np.array([[1.0, 2.0], [3.0, 6.0]]), False).scores(np.array([[3.0, 6.0]])).round(3).tolist()
        [2.236]
        """
        complete = rows[~np.isnan(rows).any(axis=1)]
        scaling = Scaling.of(complete)
        unit = np.where(scaling.deviation > 0, scaling.deviation, 1.0) if standardised else np.ones(rows.shape[1])
        return cls(scaling.mean, unit, steady_component((complete - scaling.mean) / unit).loadings)

    def along(self, loadings: FloatArray) -> Axis:
        """The same centre and units, with other loadings."""
        return replace(self, loadings=loadings)

    def like(self, other: Axis) -> Axis:
        """With the sign that makes it point as another does."""
        return self.along(-self.loadings) if float(self.loadings @ other.loadings) < 0 else self

    def scores(self, rows: FloatArray) -> FloatArray:
        """The scores of rows; NaN where a cell is missing. Equal rows have exactly equal scores."""
        total = np.zeros(len(rows))
        for column, centre, unit, loading in zip(rows.T, self.centre, self.unit, self.loadings, strict=True):
            total += (column - centre) / unit * loading
        return total
