"""Series as points: what a partitioner works on where the distance of two records is that of their series.

All columns of a variable are scaled by one constant, for a scale of its own for each time would destroy the shapes of
the series. The distance of two records is the root of the sum of the squared distances of their series. Nin (2008),
section 6.1.1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from microveil.microdata.panel import Series
from microveil.numerics.series.normalising import Normalisation
from microveil.numerics.statistics.scaling import Scale
from microveil.progress import Progress, silent
from microveil.typing import FloatArray

Distance = Literal["euclidean", "sts", "dtw"]


def scaled_series(series: Series, scale: Scale, *, alone: bool) -> FloatArray:
    """The values of a variable on a scale of all of them together.

    `alone`: no other attribute has a part in the distances. Then no scale changes what is near, but the rounding of one
    would break ties, and only one of the values is taken off all of them.
    """
    values = series.values
    present = values[~np.isnan(values)]
    if not len(present):
        return values
    if alone or scale == "none":
        return np.asarray(values - np.sort(present)[len(present) // 2])
    if scale == "z":
        return Normalisation.of(values, "global").apply(values)
    low, high = float(present.min()), float(present.max())
    return np.asarray((values - low) / (high - low if high > low else 1.0))


def series_points(
    found: tuple[Series, ...],
    scale: Scale,
    distance: Distance,
    band: int | None = None,
    progress: Progress = silent,
    *,
    alone: bool = False,
) -> list[FloatArray]:
    """The coordinates of the records by each variable, (n, columns), NaN where something is missing.

    Under `euclidean` they are the values, under `sts` the slopes; warped variables (`dtw`) have them in common, which
    stand with the first.
    """
    values = [scaled_series(series, scale, alone=alone and len(found) == 1) for series in found]
    if distance == "euclidean":
        return values
    if distance == "sts":
        from microveil.numerics.series.distances import slopes

        # series of one point have no slope: nothing tells them apart
        return [
            slopes(cells, series.positions) if cells.shape[1] > 1 else np.zeros_like(cells)
            for cells, series in zip(values, found, strict=True)
        ]
    from microveil.numerics.series.curves import curves
    from microveil.numerics.series.dtw_coordinates import dtw_coordinates

    points = dtw_coordinates(curves(*values), band, progress)
    return [points, *(np.empty((len(points), 0)) for _ in found[1:])]
