"""How differently the variation of series is divided over frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from microveil.losses.base import Loss, Scope
from microveil.numerics.series.spans import of_equal_spans
from microveil.numerics.series.statistics import periodograms, relative_variation, shares
from microveil.parameters import parameterised
from microveil.progress import Progress
from microveil.series.losses.base import Changes, Compared, SeriesLoss
from microveil.typing import FloatArray


@parameterised
class Spectrum(SeriesLoss):
    """The share of the variance of a series that lies at other frequencies after masking, on average over the series.

    The periodogram of each series is divided by its variance, so that its level and its spread play no part: what
    changes are its cycles. A series that becomes a constant, or ceases to be one, has lost everything. `details` has
    `power`, the relative change of the variances.

    >>> from microveil.microdata import Microdata
    >>> slow = Microdata.of({"t1": [1.0], "t2": [1.0], "t3": [-1.0], "t4": [-1.0]})
    >>> fast = Microdata.of({"t1": [1.0], "t2": [-1.0], "t3": [1.0], "t4": [-1.0]})
    >>> Spectrum().measure(slow, fast).value
    100.0
    """

    name: ClassVar[str] = "spectrum"
    summary: ClassVar[str] = "share of the variance of each series that lies at other frequencies than before"
    meaning: ClassVar[str] = "variance of series that lies at other frequencies than before; lower is better"
    usual: ClassVar[bool] = True
    scope: ClassVar[Scope] = "specific"
    missing: ClassVar[str] = (
        "gaps are filled by straight lines in both files; a series that is suppressed as a whole is lost"
    )
    source: ClassVar[str] = "Microveil's own, beside the autocorrelations of Nin and Torra (2006)"

    def _loss(self, series: Sequence[Compared], progress: Progress) -> Loss:
        return self._put_together(series, [_changes(one) for one in series])


def _changes(series: Compared) -> Changes:
    before, after = series.without_gaps()
    moved, power = (np.full(len(before), np.nan) for _ in range(2))
    for rows, among in of_equal_spans(before):
        kept = ~np.isnan(after[rows, among.start])
        moved[rows], power[rows] = 1.0, 1.0
        one, other = (periodograms(cells[rows[kept], among]) for cells in (before, after))
        moved[rows[kept]] = _distances(shares(one), shares(other))
        power[rows[kept]] = relative_variation(one.sum(axis=1), other.sum(axis=1))
    return Changes(moved, {"power": power})


def _distances(one: FloatArray, other: FloatArray) -> FloatArray:
    """The share that lies elsewhere; all of it where only one of the two has anything to divide."""
    has_one, has_other = one.any(axis=1), other.any(axis=1)
    return np.where(has_one == has_other, 0.5 * np.abs(one - other).sum(axis=1), 1.0)
