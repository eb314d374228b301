"""Forecasts of many series at once: smoothing and regressions.

Every series is standardised first, which changes no forecast but for rounding, and lets a constant forecast exactly
itself. Smoothing constants are tried on a grid and chosen by the squared errors of one step ahead. Regressions are
solved by QR and a singular value decomposition of the small triangle, never by normal equations: a design without full
rank has the solution of minimum norm.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from microveil.numerics.choices import Basis
from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.numerics.series.spans import of_equal_spans
from microveil.numerics.statistics.scaling import Scaling
from microveil.progress import Progress, silent
from microveil.typing import FloatArray

Model = Literal["simple-smoothing", "double-smoothing", "regression", "multiple-regression", "polynomial-regression"]
MODELS: tuple[Model, ...] = (
    "simple-smoothing",
    "double-smoothing",
    "regression",
    "multiple-regression",
    "polynomial-regression",
)
GRID = np.arange(1, 10) / 10.0
_BETTER = 1.0 - 1e-12  # squared errors that differ by less are a tie
_RANK = 1e-10  # of the greatest singular value: smaller ones are 0
_CHUNK = 2048


def forecasts(
    values: FloatArray,
    model: Model,
    steps: int,
    *,
    positions: FloatArray | None = None,
    basis: Basis = "lag",
    lags: int = 2,
    degree: int = 2,
    progress: Progress = silent,
) -> FloatArray:
    """The next `steps` values of each series after its last cell, a column a step; NaN for a series without a cell.

    The series must have no gaps inside (`filled`); they may begin and end at different time points. On the basis
    `lag` a regression predicts a value from those before it, and each forecast is an input to the next; on the basis
    `time` that of `regression` and `polynomial-regression` is the time point itself, in the units of `positions`. What
    leaves every bound, as polynomials of their own values can, is infinite.

    >>> forecasts(np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 5.0, np.nan]]), "double-smoothing", 2).round(9).tolist()
    [[5.0, 6.0], [5.0, 5.0]]
    """
    times = np.arange(values.shape[1], dtype=np.float64) if positions is None else positions
    found = np.full((len(values), steps), np.nan)
    groups = list(of_equal_spans(values))
    chunks = [(rows[start : start + _CHUNK], among) for rows, among in groups for start in range(0, len(rows), _CHUNK)]

    def work(start: int, end: int) -> None:
        for rows, among in chunks[start:end]:
            found[rows] = _of_equal_length(
                np.ascontiguousarray(values[rows, among]), times[among], model, steps, basis, lags, degree
            )

    over_chunks(work, len(chunks), 1, progress, f"forecasting: {model}")
    return found


def _of_equal_length(
    series: FloatArray, times: FloatArray, model: Model, steps: int, basis: Basis, lags: int, degree: int
) -> FloatArray:
    scaling = Scaling.of(series.T)
    mean, deviation = scaling.mean[:, None], scaling.deviation[:, None]
    scores = (series - mean) / np.where(deviation > 0, deviation, 1.0)
    length = series.shape[1]
    if model == "simple-smoothing":
        made = np.repeat(_simple_smoothing(scores, GRID)[:, None], steps, axis=1)
    elif model == "double-smoothing":
        level, trend = _double_smoothing(scores, np.repeat(GRID, len(GRID)), np.tile(GRID, len(GRID)))
        made = level[:, None] + trend[:, None] * np.arange(1, steps + 1)
    elif length == 1:
        made = np.zeros((len(series), steps))
    elif model == "multiple-regression":
        made = _on_lags(scores, steps, lags=max(1, min(lags, (length - 1) // 2)), degree=1)
    else:
        degree = 1 if model == "regression" else degree
        made = _on_time(scores, times, steps, degree) if basis == "time" else _on_lags(scores, steps, 1, degree)
    made = np.where(np.isnan(made), np.inf, made)  # one infinite input less another
    with np.errstate(over="ignore"):
        return np.asarray(np.where(deviation > 0, made, 0.0) * deviation + mean)


@kernel
def _simple_smoothing(series: FloatArray, grid: FloatArray) -> FloatArray:
    """The last level of simple exponential smoothing, by the constant with the smallest error of one step."""
    found = np.empty(len(series))
    level, errors = np.empty(len(grid)), np.empty(len(grid))
    for row in range(len(series)):
        level[:], errors[:] = series[row, 0], 0.0
        for t in range(1, series.shape[1]):
            value = series[row, t]
            for g in range(len(grid)):  # innermost, so that the constants run side by side
                error = value - level[g]
                errors[g] += error * error
                level[g] += grid[g] * error
        found[row] = level[_smallest(errors)]
    return found


@kernel
def _double_smoothing(series: FloatArray, alphas: FloatArray, betas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The last level and trend of Holt's double exponential smoothing, by the constants with the smallest error."""
    levels, trends = np.empty(len(series)), np.empty(len(series))
    level, trend, errors = np.empty(len(alphas)), np.empty(len(alphas)), np.empty(len(alphas))
    for row in range(len(series)):
        level[:], trend[:], errors[:] = series[row, 0], 0.0, 0.0
        if series.shape[1] > 1:
            trend[:] = series[row, 1] - series[row, 0]
        for t in range(1, series.shape[1]):
            value = series[row, t]
            for g in range(len(alphas)):
                ahead = level[g] + trend[g]
                error = value - ahead
                errors[g] += error * error
                after = ahead + alphas[g] * error
                trend[g] = betas[g] * (after - level[g]) + (1.0 - betas[g]) * trend[g]
                level[g] = after
        best = _smallest(errors)
        levels[row], trends[row] = level[best], trend[best]
    return levels, trends


@kernel
def _smallest(errors: FloatArray) -> int:
    """The first of the smallest errors, where those that differ by rounding alone are a tie."""
    best = 0
    for g in range(1, len(errors)):
        if errors[g] < errors[best] * _BETTER:
            best = g
    return best


def _on_lags(series: FloatArray, steps: int, lags: int, degree: int) -> FloatArray:
    """x_t from x_{t-1}, ..., x_{t-lags}, each up to its power `degree`; every forecast is an input to the next."""
    length = series.shape[1]
    degree = max(1, min(degree, length - lags - 1))
    before = np.stack([series[:, lags - lag : length - lag] for lag in range(1, lags + 1)], axis=2)
    fitted = _Regression(_powers(before, degree), series[:, lags:])
    latest = series[:, ::-1][:, :lags]
    made = np.empty((len(series), steps))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(steps):
            made[:, step] = fitted.predict(_powers(latest, degree))
            latest = np.hstack([made[:, step : step + 1], latest[:, : lags - 1]])
    return made


def _on_time(series: FloatArray, times: FloatArray, steps: int, degree: int) -> FloatArray:
    """x_t from the powers of t, which is centred and scaled, so that the powers are not all alike."""
    centre, unit = (times[0] + times[-1]) / 2, (times[-1] - times[0]) / 2
    degree = max(1, min(degree, len(times) - 1))
    design = _powers(((times - centre) / unit)[None, :, None], degree)
    ahead = _powers(((times[-1] + np.arange(1, steps + 1) - centre) / unit)[:, None], degree)
    fitted = _Regression(np.broadcast_to(design, (1, *design.shape[1:])), series)
    return np.column_stack([fitted.predict(point[None, :]) for point in ahead])


def _powers(columns: FloatArray, degree: int) -> FloatArray:
    """The columns (last axis), their squares, and so on."""
    return np.concatenate([columns**power for power in range(1, degree + 1)], axis=-1)


class _Regression:
    """Least squares with an intercept, for many designs (series, cases, columns) or for one at once.

    The columns are centred and scaled, and of all solutions the one with the smallest coefficients is taken.
    """

    def __init__(self, design: FloatArray, wanted: FloatArray) -> None:
        self.centre = design.mean(axis=1)
        centred = design - self.centre[:, None, :]
        self.unit = np.sqrt(np.square(centred).mean(axis=1))
        self.unit = np.where(self.unit > _RANK * np.abs(design).max(axis=1), self.unit, 1.0)
        self.mean = wanted.mean(axis=1)
        q, r = np.linalg.qr(centred / self.unit[:, None, :])
        left, values, right = np.linalg.svd(r, full_matrices=False)
        kept = values > _RANK * values[:, :1]
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
        wanted = (wanted - self.mean[:, None])[:, :, None]
        parts = inverse[:, :, None] * (np.swapaxes(left, 1, 2) @ (np.swapaxes(q, 1, 2) @ wanted))
        self.coefficients = (np.swapaxes(right, 1, 2) @ parts)[:, :, 0]

    def predict(self, columns: FloatArray) -> FloatArray:
        return np.asarray(self.mean + ((columns - self.centre) / self.unit * self.coefficients).sum(axis=1))
