"""How far the curve that all series add up to has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from microveil.losses.base import Loss, Scope
from microveil.numerics.series.statistics import relative_variation, without_rounding
from microveil.parameters import parameterised
from microveil.progress import Progress
from microveil.series.losses.base import Compared, SeriesLoss, columns_of
from microveil.typing import FloatArray


@parameterised
class AggregateCurve(SeriesLoss):
    """Sum over the times of |S_t - S'_t| over the sum of |S_t|, where S_t is the sum of all series at the time t: what
    an analyst of a whole grid, chain or hospital is wrong by. The mean over the variables.

    `details` has `total`, the relative change of the sum over all times, `largest`, the greatest relative change at a
    single time, and `peak`, the relative change of the highest point of the curve.

    >>> from microveil.microdata import Microdata
    >>> before = Microdata.of({"h1": [1.0, 2.0], "h2": [3.0, 4.0]})
    >>> AggregateCurve().measure(before, Microdata.of({"h1": [2.0, 2.0], "h2": [3.0, 3.0]})).value
    20.0
    """

    name: ClassVar[str] = "aggregate-curve"
    summary: ClassVar[str] = "relative error of the sum of all series at each time"
    meaning: ClassVar[str] = "relative error of the sum of all series over time; lower is better"
    usual: ClassVar[bool] = True
    scope: ClassVar[Scope] = "specific"
    missing: ClassVar[str] = "sums are those of the cells present in each file, so that a suppressed cell is missed"
    source: ClassVar[str] = "Microveil's own, beside the losses of Nin and Torra (2006)"

    def _loss(self, series: Sequence[Compared], progress: Progress) -> Loss:
        errors: dict[str, float] = {}
        details: dict[str, list[float]] = {"total": [], "largest": [], "peak": []}
        for one in series:
            before, after = (_curve(cells) for cells in (one.before, one.after))
            scale = float(np.abs(before).sum())
            wrong = float(np.abs(before - after).sum())
            errors[one.name] = wrong / scale if scale > 0 else float(wrong > 0)
            details["total"].append(_change(before.sum(), after.sum()))
            details["largest"].append(float(relative_variation(before, after).max()))
            details["peak"].append(_change(before.max(), after.max()))
        return Loss.of(
            self.name,
            float(np.mean(list(errors.values()))),
            columns_of(series),
            per_attribute={name: 100 * error for name, error in errors.items()},
            details={name: 100 * float(np.mean(found)) for name, found in details.items()},
        )


def _curve(values: FloatArray) -> FloatArray:
    """The sum of all series at each time; what is 0 but for rounding is 0."""
    return without_rounding(np.nansum(values, axis=0), np.nansum(np.abs(values), axis=0))


def _change(before: float, after: float) -> float:
    return float(relative_variation(np.array([before]), np.array([after]))[0])
