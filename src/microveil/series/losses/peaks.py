"""Whether the highest points of series are still at the same times and as high."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from microveil.losses.base import Loss, Scope
from microveil.numerics.series.highest import highest_values, shares_of_highest
from microveil.numerics.series.statistics import relative_variation
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.series.losses.base import Changes, Compared, SeriesLoss
from microveil.typing import FloatArray, IntArray


@parameterised
class Peaks(SeriesLoss):
    """The mean of two changes of the k highest points of each series, on average over the series: the share of them
    that are at other times (`timing`), and the relative change of their values (`height`).

    Equal values share their places: the release of a constant has k of T places at every time. Of a short series at
    most half of the points are counted. `details` has both, and of the single highest point the share of series in
    which it is at another time (`maximum`) and how far it moved, in per cent of the length of the series (`shift`).

    >>> from microveil.microdata import Microdata
    >>> before = Microdata.of({"h1": [1.0], "h2": [5.0], "h3": [2.0], "h4": [1.0]})
    >>> after = Microdata.of({"h1": [1.0], "h2": [1.0], "h3": [2.0], "h4": [5.0]})
    >>> Peaks(k=1).measure(before, after).details["timing"]
    100.0
    """

    name: ClassVar[str] = "peaks"
    summary: ClassVar[str] = "change of the times and of the values of the k highest points of each series"
    meaning: ClassVar[str] = "change of the times and heights of the peaks of series; lower is better"
    usual: ClassVar[bool] = True
    scope: ClassVar[Scope] = "specific"
    missing: ClassVar[str] = "cells missing in the original are left out; a suppressed peak is lost"
    source: ClassVar[str] = "Microveil's own, beside the losses of Nin and Torra (2006)"

    k: int = parameter(default=3, help="number of highest points of each series", ge=1, le=1_000_000)

    def _loss(self, series: Sequence[Compared], progress: Progress) -> Loss:
        return self._put_together(series, [self._changes(one) for one in series])

    def _changes(self, series: Compared) -> Changes:
        present = (~np.isnan(series.before)).sum(axis=1)
        counted = np.minimum(self.k, np.maximum(present // 2, 1))
        sides = (series.before, series.after)
        heights = relative_variation(*(highest_values(cells, counted) for cells in sides))
        height = np.divide(np.nansum(heights, axis=1), counted, out=np.full(len(present), np.nan), where=present > 0)
        timing = _moved(series, counted)
        maximum = _moved(series, np.ones_like(counted))
        details = {"timing": timing, "height": height, "maximum": maximum, "shift": _shift(series)}
        return Changes((timing + height) / 2, details)


def _moved(series: Compared, counted: IntArray) -> FloatArray:
    """The share of the highest points of each series that are at other times after masking."""
    one, other = (shares_of_highest(cells, counted) for cells in (series.before, series.after))
    kept = np.minimum(one, other).sum(axis=1) / counted
    return np.where(np.isnan(series.before).all(axis=1), np.nan, np.maximum(1.0 - kept, 0.0))


def _shift(series: Compared) -> FloatArray:
    """How far the highest point of each series moved, as a share of its length; all of it where it was suppressed."""
    single = np.ones(len(series.before), dtype=np.int64)
    times = [shares_of_highest(cells, single) @ series.positions for cells in (series.before, series.after)]
    spans = series.spans
    lengths = series.positions[spans.last] - series.positions[spans.first]
    share = np.divide(np.abs(times[0] - times[1]), lengths, out=np.zeros_like(lengths), where=lengths > 0)
    share = np.where(np.isnan(series.after).all(axis=1), 1.0, share)
    return np.where(np.isnan(series.before).all(axis=1), np.nan, share)
