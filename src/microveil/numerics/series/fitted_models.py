"""Forecasts by models that statsmodels fits to one series after the other: exponential smoothing in state space form
(ETS) and ARIMA."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.numerics.series.spans import of_equal_spans
from microveil.numerics.statistics.scaling import Scaling
from microveil.progress import Progress, silent
from microveil.typing import FloatArray

FittedModel = Literal["ets", "arima"]
FITTED: tuple[FittedModel, ...] = ("ets", "arima")
SHORTEST = 10  # points that the starting values of ETS need


def check_installed(model: str) -> None:
    """Refuse a model whose package is not installed."""
    if find_spec("statsmodels") is None:
        raise ParameterError(
            f'{model} needs the package statsmodels, which is not installed; run: pip install "microveil[forecasts]"'
        )


def fitted_forecasts(
    values: FloatArray,
    model: FittedModel,
    steps: int,
    *,
    order: tuple[int, int, int] = (1, 1, 1),
    progress: Progress = silent,
) -> FloatArray:
    """The next `steps` values of each series after its last cell, a column a step; NaN for a series without a cell.

    ETS has additive errors and a damped additive trend; ARIMA has the `order` (p, d, q). Both are fitted to each series
    by maximum likelihood. The series must have no gaps inside. A constant forecasts itself.
    """
    check_installed(model)
    found = np.full((len(values), steps), np.nan)
    done = 0
    for rows, among in of_equal_spans(values):
        if among.stop - among.start < SHORTEST:
            raise DataError(f"{model} needs series of at least {SHORTEST} time points")
        for row in rows:
            found[row] = _of_one(values[row, among], model, steps, order)
            done += 1
            progress(done / len(values), f"forecasting: {model}")
    return found


def _of_one(series: FloatArray, model: FittedModel, steps: int, order: tuple[int, int, int]) -> FloatArray:
    scaling = Scaling.of(series[:, None])
    mean, deviation = float(scaling.mean[0]), float(scaling.deviation[0])
    if deviation == 0:
        return np.full(steps, mean)
    with warnings.catch_warnings():  # on how well a fit converged: both files are fitted by the same rule
        warnings.simplefilter("ignore")
        fitted = _fit((series - mean) / deviation, model, order)
        return np.asarray(mean + deviation * np.asarray(fitted.forecast(steps)))


def _fit(scores: FloatArray, model: FittedModel, order: tuple[int, int, int]) -> Any:
    if model == "ets":
        from statsmodels.tsa.exponential_smoothing.ets import ETSModel

        return ETSModel(scores, error="add", trend="add", damped_trend=True).fit(disp=False)
    from statsmodels.tsa.arima.model import ARIMA

    return ARIMA(scores, order=order).fit()
