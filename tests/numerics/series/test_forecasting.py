"""Forecasts: the printed digits of an independent computation, plain programs as oracles, and short or odd series."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest

from microveil.errors import DataError, ParameterError
from microveil.numerics.choices import Basis
from microveil.numerics.series.fitted_models import FITTED, fitted_forecasts
from microveil.numerics.series.forecasting import MODELS, Model, forecasts
from reproduction.price_indices import cells

PRICES = cells("6.1")
BASES: tuple[Basis, ...] = ("lag", "time")
BREAD: list[tuple[Model, Basis, tuple[float, float, float]]] = [
    ("simple-smoothing", "lag", (128.4896, 128.4896, 128.4896)),
    ("double-smoothing", "lag", (133.0300, 137.3812, 141.7325)),
    ("regression", "lag", (130.7521, 132.3491, 133.8047)),
    ("regression", "time", (130.7806, 133.2656, 135.7506)),
    ("multiple-regression", "lag", (133.3907, 137.6732, 142.0636)),
    ("polynomial-regression", "lag", (134.6336, 144.4945, 165.6274)),
    ("polynomial-regression", "time", (128.6119, 129.7957, 130.7429)),
]


@pytest.mark.spec("03:TS-4", "03:TS-5", "04:TS-FC")
@pytest.mark.parametrize(("model", "basis", "right"), BREAD)
def test_the_forecasts_of_bread(model: Model, basis: Basis, right: tuple[float, ...]) -> None:
    found = forecasts(PRICES, model, 3, basis=basis)[0]
    assert found == pytest.approx(right, abs=5.0001e-5)


def plain_smoothing(x: np.ndarray) -> np.ndarray:
    best = (np.inf, 0.0)
    for a in (i / 10 for i in range(1, 10)):
        level, errors = x[0], 0.0
        for value in x[1:]:
            errors += (value - level) ** 2
            level = a * value + (1 - a) * level
        if errors < best[0] * (1 - 1e-9):
            best = errors, level
    return np.full(3, best[1])


def plain_holt(x: np.ndarray) -> np.ndarray:
    best = (np.inf, 0.0, 0.0)
    for a in (i / 10 for i in range(1, 10)):
        for b in (i / 10 for i in range(1, 10)):
            level, trend, errors = x[0], x[1] - x[0], 0.0
            for value in x[1:]:
                errors += (value - level - trend) ** 2
                before, level = level, a * value + (1 - a) * (level + trend)
                trend = b * (level - before) + (1 - b) * trend
            if errors < best[0] * (1 - 1e-9):
                best = errors, level, trend
    return best[1] + np.arange(1, 4) * best[2]


def plain_lags(x: np.ndarray, lags: int, degree: int) -> np.ndarray:
    def terms(past: list[float]) -> list[float]:
        return [1.0, *(past[-lag] ** power for lag in range(1, lags + 1) for power in range(1, degree + 1))]

    past = x.tolist()
    design = np.array([terms(past[:t]) for t in range(lags, len(x))])
    coefficients = np.linalg.lstsq(design, x[lags:], rcond=None)[0]
    for _ in range(3):
        past.append(float(np.dot(terms(past), coefficients)))
    return np.array(past[-3:])


def plain_time(x: np.ndarray, degree: int) -> np.ndarray:
    return np.polyval(np.polyfit(np.arange(len(x)), x, degree), len(x) + np.arange(3))


@pytest.mark.spec("03:TS-4", "03:TS-5", "04:TS-FC")
@pytest.mark.parametrize("length", [6, 10, 40])
def test_many_series_at_once_are_forecast_as_one_after_the_other(length: int) -> None:
    rng = np.random.default_rng(length)
    series = 20 + rng.normal(size=(30, length)).cumsum(axis=1)
    oracles = {
        ("simple-smoothing", "lag"): plain_smoothing,
        ("double-smoothing", "lag"): plain_holt,
        ("regression", "lag"): lambda x: plain_lags(x, 1, 1),
        ("regression", "time"): lambda x: plain_time(x, 1),
        ("multiple-regression", "lag"): lambda x: plain_lags(x, 2, 1),
        ("polynomial-regression", "lag"): lambda x: plain_lags(x, 1, 2),
        ("polynomial-regression", "time"): lambda x: plain_time(x, 2),
    }
    for (model, basis), oracle in oracles.items():
        found = forecasts(series, model, 3, basis=basis)  # type: ignore[arg-type]
        np.testing.assert_allclose(found, [oracle(x) for x in series], rtol=1e-6, err_msg=f"{model} {basis}")


@pytest.mark.spec("04:TS-FC")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("basis", BASES)
def test_a_constant_forecasts_itself_and_short_series_something_finite(model: Model, basis: Basis) -> None:
    for length in range(1, 8):
        flat = np.full((1, length), 0.1)
        assert forecasts(flat, model, 3, basis=basis).tolist() == [[0.1, 0.1, 0.1]]
        rising = np.arange(1.0, length + 1)[None, :] ** 1.5
        assert np.isfinite(forecasts(rising, model, 3, basis=basis)).all()


@pytest.mark.spec("04:TS-FC")
@pytest.mark.parametrize("model", MODELS[1:])
@pytest.mark.parametrize("basis", BASES)
def test_a_straight_line_goes_on(model: Model, basis: Basis) -> None:
    """Its two previous values say the same, so that multiple regression has no unique solution."""
    line = 3.0 + 2.0 * np.arange(9.0)[None, :]
    np.testing.assert_allclose(forecasts(line, model, 3, basis=basis), [[21.0, 23.0, 25.0]], rtol=1e-9)


@pytest.mark.spec("04:TS-FC")
def test_of_equal_errors_the_smallest_constant_is_taken() -> None:
    """With two points every constant has the same error one step ahead."""
    assert forecasts(np.array([[1.0, 2.0]]), "simple-smoothing", 1)[0, 0] == pytest.approx(1.1)


@pytest.mark.spec("04:TS-FC")
def test_the_order_is_reduced_for_short_series() -> None:
    """Three points allow one lag and a straight line in time."""
    short = np.array([[1.0, 2.0, 4.0]])
    assert forecasts(short, "multiple-regression", 1)[0, 0] == pytest.approx(8.0)
    assert forecasts(short, "regression", 1)[0, 0] == pytest.approx(8.0)
    assert forecasts(short[:, :2], "polynomial-regression", 2, basis="time")[0] == pytest.approx([3.0, 4.0])
    assert forecasts(short[:, :2], "polynomial-regression", 1, basis="lag")[0] == pytest.approx([2.0])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("basis", BASES)
def test_forecasts_follow_a_change_of_units_and_do_not_depend_on_neighbours(model: Model, basis: Basis) -> None:
    found = forecasts(PRICES, model, 3, basis=basis)
    np.testing.assert_allclose(forecasts(7 - 5 * PRICES, model, 3, basis=basis), 7 - 5 * found, rtol=1e-6)
    np.testing.assert_array_equal(forecasts(PRICES[::-1], model, 3, basis=basis)[::-1], found)


@pytest.mark.parametrize("model", MODELS)
def test_series_of_unequal_length_are_forecast_after_their_own_end(model: Model) -> None:
    ragged = PRICES.copy()
    ragged[1, :2], ragged[2, 7:], ragged[3] = np.nan, np.nan, np.nan
    found = forecasts(ragged, model, 3)
    np.testing.assert_allclose(found[0], forecasts(PRICES[:1], model, 3)[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], forecasts(PRICES[1:2, 2:], model, 3)[0], rtol=1e-9)
    np.testing.assert_allclose(found[2], forecasts(PRICES[2:3, :7], model, 3)[0], rtol=1e-9)
    assert np.isnan(found[3]).all()


def test_times_that_are_not_equidistant_count_on_the_basis_of_time() -> None:
    times = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    found = forecasts((1 + 2 * times)[None, :], "regression", 2, positions=times, basis="time")
    assert found[0] == pytest.approx([19.0, 21.0])


def test_ten_thousand_series_of_a_hundred_points_take_seconds() -> None:
    """About two on two idle cores; the bound only tells vectorised work from a loop over series."""
    series = np.random.default_rng(1).normal(size=(10_000, 100)).cumsum(axis=1)
    forecasts(series[:10], "double-smoothing", 3)
    start = perf_counter()
    for model in MODELS:
        assert np.isfinite(forecasts(series, model, 3)).all()
    assert perf_counter() - start < 40


# --- models of statsmodels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", FITTED)
def test_fitted_models_follow_a_trend_and_leave_constants(model: str) -> None:
    pytest.importorskip("statsmodels", reason='statsmodels is not installed: pip install "microveil[forecasts]"')
    rising = np.linspace(10, 40, 20) + np.random.default_rng(3).normal(0, 0.1, 20)
    series = np.array([rising, np.full(20, 0.1), np.full(20, np.nan)])
    found = fitted_forecasts(series, model, 3)  # type: ignore[arg-type]
    assert 40 < found[0, 0] < found[0, 1] < found[0, 2] < 47
    assert found[1].tolist() == [0.1] * 3
    assert np.isnan(found[2]).all()


@pytest.mark.parametrize("model", FITTED)
def test_series_too_short_for_fitted_models_are_refused(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microveil.numerics.series.fitted_models.find_spec", lambda name: True)
    with pytest.raises(DataError, match=f"{model} needs series of at least 10 time points"):
        fitted_forecasts(PRICES, model, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", FITTED)
def test_without_statsmodels_a_sentence_says_what_to_install(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microveil.numerics.series.fitted_models.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=rf"{model} needs the package statsmodels.*microveil\[forecasts\]"):
        fitted_forecasts(PRICES, model, 3)  # type: ignore[arg-type]
