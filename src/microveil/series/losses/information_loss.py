"""IL1 to IL3 of time series, changes of their moments, of their values and of their forecasts, and the mean of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.losses.base import Loss, Route
from microveil.numerics.choices import Basis
from microveil.numerics.series.statistics import (
    autocovariance,
    greatest,
    means,
    relative_variation,
    signed_variation,
    without_rounding,
)
from microveil.parameters import own_names, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.series.losses.base import Changes, Compared, SeriesLoss, columns_of
from microveil.typing import FloatArray

_SOURCE = "Nin and Torra (2006); Nin (2008), section 6.2"
_QUARTERS = (0, 1, 2, 3)  # of the length of a series: the lags of its autocovariances
_MOST_AHEAD = 1000
_SHARE_OF_FORECASTS = 0.9  # of the time that all three take
_SIGNED = (
    "differences of means and autocovariances keep their sign, so that they cancel over the series, as a printed "
    "formula has it; the loss is then the size of what remains"
)
Model = Literal[
    "simple-smoothing",
    "double-smoothing",
    "regression",
    "multiple-regression",
    "polynomial-regression",
    "ets",
    "arima",
]
_MODELS: tuple[Model, ...] = (
    "simple-smoothing",
    "double-smoothing",
    "regression",
    "multiple-regression",
    "polynomial-regression",
)


@parameterised
class SeriesIL1(SeriesLoss):
    """Relative change of the mean of each series (IL_1.1) and of its autocovariances at the lags 0, T/4, T/2 and 3T/4
    (IL_1.2), on average over all series: ||a| - |b|| / max(|a|, |b|).

    `details` has both parts, and `file_mean`, the relative change of the mean of all cells of a variable, which
    microaggregation keeps.

    >>> from microveil.microdata import Microdata
    >>> before = Microdata.of({"m1": [1.0, 3.0], "m2": [3.0, 5.0]})
    >>> SeriesIL1().measure(before, Microdata.of({"m1": [2.0, 2.0], "m2": [4.0, 4.0]})).details["il_1.1"].__round__(2)
    29.17
    """

    name: ClassVar[str] = "series-il1"
    summary: ClassVar[str] = "mean relative change of the means and autocovariances of series (IL1)"
    meaning: ClassVar[str] = "relative change of the means and autocovariances of series; lower is better"
    usual: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "moments are taken over the cells present in each file; a series that is suppressed as a whole is lost"
    )
    source: ClassVar[str] = _SOURCE

    signed: bool = parameter(default=False, help=_SIGNED)

    def _loss(self, series: Sequence[Compared], progress: Progress) -> Loss:
        changes = []
        for one, part in zip(series, parts(progress, len(series)), strict=True):
            changes.append(self._changes(one))
            part(1.0, self.name)
        loss = self._put_together(series, changes)
        if not self.signed:
            return loss
        return Loss(self.name, abs(loss.value), loss.raw, loss.attributes, loss.per_attribute, loss.details)

    def _changes(self, series: Compared) -> Changes:
        sides = (series.before, series.after)
        of_means = self._change(*(means(cells) for cells in sides))
        lengths = series.spans.lengths
        of_covariances = np.column_stack(
            [self._change(*(autocovariance(cells, q * lengths // 4) for cells in sides)) for q in _QUARTERS]
        )
        of_file = relative_variation(*(means(cells.reshape(1, -1)) for cells in sides))
        per_series = (of_means + of_covariances.mean(axis=1)) / 2
        return Changes(per_series, {"il_1.1": of_means, "il_1.2": of_covariances, "file_mean": of_file})

    def _change(self, before: FloatArray, after: FloatArray) -> FloatArray:
        if not self.signed:
            return relative_variation(np.abs(before), np.abs(after))
        found = signed_variation(np.abs(before), np.abs(after))
        return np.where(np.isnan(after) & ~np.isnan(before), 1.0, found)


@parameterised
class SeriesIL2(SeriesLoss):
    """Mean relative change of the values of series: min(1, |a - b| / max(|a|, |b|)), over all cells.

    >>> from microveil.microdata import Microdata
    >>> before = Microdata.of({"m1": [1.0, 0.0], "m2": [2.0, 4.0]})
    >>> SeriesIL2().measure(before, Microdata.of({"m1": [2.0, 0.0], "m2": [2.0, 4.0]})).value
    12.5
    """

    name: ClassVar[str] = "series-il2"
    summary: ClassVar[str] = "mean relative change of the values of series (IL2)"
    meaning: ClassVar[str] = "relative change of the values of series; lower is better"
    usual: ClassVar[bool] = True
    route: ClassVar[Route] = "data"
    missing: ClassVar[str] = "cells missing in the original are left out; a suppressed cell is lost"
    source: ClassVar[str] = _SOURCE

    def _loss(self, series: Sequence[Compared], progress: Progress) -> Loss:
        cells = [relative_variation(one.before, one.after) for one in series]
        # cells of all series alike, not series: a long one counts for more
        loss = self._put_together(series, [Changes(found.ravel(), {}) for found in cells])
        progress(1.0, self.name)
        return loss


@parameterised
class SeriesIL3(SeriesLoss):
    """Mean relative change of forecasts: min(1, |a - b| / max(|a|, |b|)) over all series, models and horizons.

    Each model is fitted to the original and to the released series by the same rule. By default they are the five of
    the source: simple and double exponential smoothing, whose constants are chosen from 0.1 to 0.9 by the errors of
    one step ahead, and linear, multiple and polynomial regression on the previous values; `ets` and `arima` need the
    package statsmodels. `details` has the change of each model's forecasts.

    >>> from microveil.microdata import Microdata
    >>> before = Microdata.of({"m1": [1.0, 4.0], "m2": [2.0, 4.0], "m3": [3.0, 4.0]})
    >>> SeriesIL3().measure(before, before).value
    0.0
    """

    name: ClassVar[str] = "series-il3"
    summary: ClassVar[str] = "mean relative change of forecasts made from series by five models or more (IL3)"
    meaning: ClassVar[str] = "relative change of forecasts made from series; lower is better"
    usual: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "gaps are filled by straight lines in both files; a series that is suppressed as a whole is lost"
    )
    source: ClassVar[str] = _SOURCE

    basis: Basis = parameter(
        default="lag",
        help="linear and polynomial regression predict a value from the one before it (lag), each forecast being an "
        "input to the next, or from the time (time)",
    )
    models: tuple[Model, ...] = parameter(
        default=_MODELS, help="models whose forecasts are compared; ets and arima need statsmodels", min_length=1
    )
    horizons: tuple[int, ...] = parameter(
        default=(1, 2, 3), help="how many time points ahead forecasts are made, each number in turn", min_length=1
    )
    lags: int = parameter(default=2, help="previous values in multiple regression", ge=1, le=_MOST_AHEAD)
    degree: int = parameter(default=2, help="highest power in polynomial regression", ge=1, le=12)
    order: tuple[int, int, int] = parameter(default=(1, 1, 1), help="p, d and q of arima")

    def __post_init__(self) -> None:
        if not all(1 <= ahead <= _MOST_AHEAD for ahead in self.horizons):
            raise ParameterError(
                f"{self.name}: horizons = {self.horizons} is not allowed; each is from 1 to {_MOST_AHEAD:,}"
            )
        if not all(0 <= number <= 12 for number in self.order):
            raise ParameterError(f"{self.name}: order = {self.order} is not allowed; each is from 0 to 12")

    def _loss(self, series: Sequence[Compared], progress: Progress) -> Loss:
        changes = []
        for one, part in zip(series, parts(progress, len(series)), strict=True):
            changes.append(self._changes(one, part))
        return self._put_together(series, changes)

    def _changes(self, series: Compared, progress: Progress) -> Changes:
        sides = series.without_gaps()
        sizes = [greatest(cells)[:, None] for cells in sides]
        by_model: dict[str, FloatArray] = {}
        stretches = iter(parts(progress, 2 * len(self.models)))
        for model in dict.fromkeys(self.models):
            ahead = [self._ahead(cells, series.positions, model, next(stretches)) for cells in sides]
            by_model[model] = relative_variation(*map(without_rounding, ahead, sizes))
        per_series = np.mean([found.mean(axis=1) for found in by_model.values()], axis=0)
        return Changes(per_series, by_model)

    def _ahead(self, cells: FloatArray, positions: FloatArray, model: Model, progress: Progress) -> FloatArray:
        """The forecasts of each series, a column a horizon."""
        wanted = np.array(self.horizons) - 1
        if model == "ets" or model == "arima":
            from microveil.numerics.series.fitted_models import fitted_forecasts

            found = fitted_forecasts(cells, model, max(self.horizons), order=self.order, progress=progress)
        else:
            from microveil.numerics.series.forecasting import forecasts

            found = forecasts(
                cells, model, max(self.horizons), positions=positions, basis=self.basis, lags=self.lags,
                degree=self.degree, progress=progress,
            )  # fmt: skip
        return np.asarray(found[:, wanted])


@parameterised
class SeriesIL(SeriesIL3):
    """The mean of IL1 to IL3 of series: changes of means and autocovariances, of values, and of forecasts.

    `details` has the three.

    >>> from microveil.microdata import Microdata
    >>> sales = Microdata.of({"m1": [1.0, 4.0], "m2": [2.0, 4.0], "m3": [3.0, 4.0]})
    >>> SeriesIL().measure(sales, sales).value
    0.0
    """

    name: ClassVar[str] = "series-il"
    summary: ClassVar[str] = "mean of IL1 to IL3 of series: changes of moments, values and forecasts"
    meaning: ClassVar[str] = "changes of moments, values and forecasts of series; lower is better"
    usual: ClassVar[bool] = True
    route: ClassVar[Route] = "data"
    missing: ClassVar[str] = "as IL1, IL2 and IL3 of series handle them"

    signed: bool = parameter(default=False, help=_SIGNED)

    def _loss(self, series: Sequence[Compared], progress: Progress) -> Loss:
        whole = own_names(SeriesIL3)
        forecast = SeriesIL3(**{name: getattr(self, name) for name in whole})
        found = {
            "il1": SeriesIL1(signed=self.signed)._loss(series, Part(progress, 0.0, 0.05)),
            "il2": SeriesIL2()._loss(series, Part(progress, 0.05, 1 - _SHARE_OF_FORECASTS)),
            "il3": forecast._loss(series, Part(progress, 1 - _SHARE_OF_FORECASTS, 1.0)),
        }
        per_variable = {one.name: sum(loss.per_attribute[one.name] for loss in found.values()) / 3 for one in series}
        details = {name: loss.raw for name, loss in found.items()}
        raw = sum(details.values()) / 3
        value = sum(loss.value for loss in found.values()) / 3
        return Loss(self.name, value, raw, columns_of(series), per_variable, details)
