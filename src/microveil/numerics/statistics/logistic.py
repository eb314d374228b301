"""Logistic regression of a two-valued response: its design, its fit by Newton's method, and what it predicts.

A very small penalty on the coefficients keeps the fit finite where the response can be told without doubt, and settles
columns that say the same twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from microveil.numerics.statistics.scaling import Scaling
from microveil.typing import BoolArray, FloatArray

_MOST_DUMMIES = 50  # categories of one column that get a column of their own
_PENALTY, _ROUNDS, _CONVERGED = 1e-6, 100, 1e-12
_RANK = 1e-9


@dataclass(frozen=True)
class Fit:
    """The coefficients with the intercept first, the probabilities fitted, and the rank of the design."""

    coefficients: FloatArray
    fitted: FloatArray
    rank: int


def design(cells: FloatArray, nominal: BoolArray, *, squares: bool, interactions: bool) -> FloatArray:
    """A design of columns `cells[j, i]` with NaN where missing: an intercept; numbers, and if wanted their squares; a
    dummy for each frequent category but the first; a dummy for missing cells; and if wanted the products of the
    columns of every two attributes. All but the first are standardised, and constant ones left out.
    """
    designs = [_columns_of(column, bool(codes), squares) for column, codes in zip(cells, nominal, strict=True)]
    if interactions:
        designs += [_products(one, other) for one, other in combinations(designs, 2)]
    columns = np.hstack([np.zeros((cells.shape[1], 0)), *designs])
    scaling = Scaling.of(columns)
    varying = scaling.deviation > 0
    columns = np.asarray((columns[:, varying] - scaling.mean[varying]) / scaling.deviation[varying])
    return np.hstack([np.ones((len(columns), 1)), columns])


def width(cells: FloatArray, nominal: BoolArray, *, squares: bool, interactions: bool) -> int:
    """At most so many columns will the design have."""
    widths = [
        1 + min(len(np.unique(column[~np.isnan(column)])), _MOST_DUMMIES + 1) if codes else 2 + int(squares)
        for column, codes in zip(cells, nominal, strict=True)
    ]
    products = sum(one * other for one, other in combinations(widths, 2)) if interactions else 0
    return 1 + sum(widths) + products


def _columns_of(column: FloatArray, codes: bool, squares: bool) -> FloatArray:
    missing = np.isnan(column)
    if codes:
        found, counts = np.unique(column[~missing], return_counts=True)
        frequent = found[np.argsort(-counts, kind="stable")]
        dummies = [column == code for code in frequent[1 : _MOST_DUMMIES + 1]]
    else:
        scaled = np.nan_to_num(Scaling.of(column[:, None]).apply(column[:, None])[:, 0])
        dummies = [scaled, scaled**2] if squares else [scaled]
    made = np.column_stack([*dummies, missing]) if dummies else missing[:, None]
    return np.asarray(made, dtype=np.float64)


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)


def fit_logistic(columns: FloatArray, response: BoolArray) -> Fit:
    """The most probable coefficients for a design; a step that does not raise the likelihood is halved.

    >>> columns = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> fit_logistic(columns, np.array([True, False, True, True])).fitted[:2].round(3).tolist()
    [0.5, 0.5]
    """
    n, width = columns.shape
    penalty = np.full(width, _PENALTY)
    penalty[0] = 0.0
    y = response.astype(np.float64)
    beta = np.zeros(width)
    fitted, loss = _state(columns, y, beta, penalty)
    for _ in range(_ROUNDS):
        slope = columns.T @ (y - fitted) / n - penalty * beta
        weights = fitted * (1.0 - fitted)
        curvature = columns.T @ (columns * weights[:, None]) / n + np.diag(penalty)
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        if float(slope @ step) <= _CONVERGED * max(loss, _CONVERGED):
            break
        size = 1.0
        while size > 1e-6:
            new_fitted, new_loss = _state(columns, y, beta + size * step, penalty)
            if new_loss <= loss:
                break
            size /= 2
        else:
            break
        beta, fitted, loss = beta + size * step, new_fitted, new_loss
    return Fit(beta, fitted, rank_of(columns))


def _state(columns: FloatArray, y: FloatArray, beta: FloatArray, penalty: FloatArray) -> tuple[FloatArray, float]:
    score = columns @ beta
    loss = float((np.logaddexp(0.0, score) - y * score).mean() + (penalty * beta**2).sum() / 2)
    return 1.0 / (1.0 + np.exp(-np.clip(score, -500.0, 500.0))), loss


def rank_of(columns: FloatArray) -> int:
    """How many columns of a standardised design say something of their own."""
    values = np.linalg.eigvalsh(columns.T @ columns / max(1, len(columns)))
    return int((values > _RANK * max(values.max(initial=0.0), 1.0)).sum())
