"""Noise has the spectrum, the variance and the differences that it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.series.autocorrelated_noise import (
    amplitudes,
    coefficients,
    covariance_by_spectrum,
    covariance_by_steps,
    file_amplitudes,
    noise_by_spectrum,
    noise_by_steps,
    step_ratios,
    variance_of_mean,
    without_mean,
)

DRAWS = 20_000


def wave(length: int) -> np.ndarray:
    at = np.arange(length)
    return 3 * np.sin(2 * np.pi * at / length) + np.cos(2 * np.pi * 3 * at / length) + 0.2 * (at % 2)


@pytest.mark.parametrize("length", [2, 7, 8, 24])
def test_noise_by_spectrum_has_the_periodogram_of_the_series_and_variance_one(length: int) -> None:
    series = wave(length)[None]
    amplitude = amplitudes(series)
    noise = noise_by_spectrum(np.repeat(amplitude, DRAWS, axis=0), length, np.random.default_rng(1))
    power = (np.abs(np.fft.rfft(noise, axis=1)) ** 2).mean(axis=0)
    expected = np.abs(np.fft.rfft(series[0] - series[0].mean())) ** 2 / series[0].var()
    np.testing.assert_allclose(power, expected, rtol=0.06, atol=1e-9 * expected.max())
    assert noise.var(axis=0).mean() == pytest.approx(1.0, rel=0.03)
    np.testing.assert_allclose(noise.mean(axis=1), 0.0, atol=1e-12)


def test_adding_noise_by_spectrum_keeps_the_normalised_circular_autocorrelation() -> None:
    series = wave(24)
    size = 0.8
    noise = noise_by_spectrum(np.repeat(amplitudes(series[None]), DRAWS, axis=0), 24, np.random.default_rng(2))
    masked = series + size * series.std() * noise

    def autocovariances(rows: np.ndarray) -> np.ndarray:
        centred = rows - rows.mean(axis=1, keepdims=True)
        return np.array([(centred * np.roll(centred, -j, axis=1)).mean() for j in range(12)])

    before, after = autocovariances(series[None]), autocovariances(masked)
    np.testing.assert_allclose(after, (1 + size**2) * before, atol=0.03 * before[0])


def test_noise_by_steps_keeps_the_ratio_of_differences_to_variance() -> None:
    rng = np.random.default_rng(3)
    for wanted in (0.3, 1.0, 2.0, 3.0):
        coefficient = coefficients(np.full(DRAWS, wanted), 30)
        noise = without_mean(noise_by_steps(coefficient, 30, rng), np.ones((DRAWS, 30), dtype=np.bool_))
        variance = (noise**2).mean()
        assert variance == pytest.approx(1.0, rel=0.03)
        assert (np.diff(noise, axis=1) ** 2).mean() / variance == pytest.approx(wanted, rel=0.03)


def test_summed_steps_neither_drift_nor_fade_at_the_ends() -> None:
    noise = noise_by_steps(np.full(DRAWS, 0.9), 200, np.random.default_rng(4))
    spread = noise.std(axis=0)
    assert spread.max() / spread.min() < 1.06


def test_a_series_smoother_than_a_random_walk_gets_the_largest_coefficient() -> None:
    line = np.arange(50.0)[None]
    assert coefficients(step_ratios(line), 50)[0] > 0.999


def test_the_variance_of_a_mean_is_that_of_its_covariances() -> None:
    at = np.arange(13)
    for coefficient in (-0.5, 0.0, 0.9):
        expected = (coefficient ** np.abs(at[:, None] - at)).mean()
        assert variance_of_mean(np.array([coefficient]), 13)[0] == pytest.approx(expected)


def test_the_covariances_are_those_of_the_noise() -> None:
    rng = np.random.default_rng(5)
    series = wave(9)[None]
    amplitude = file_amplitudes(series)
    noise = noise_by_spectrum(np.repeat(amplitude[None], DRAWS, axis=0), 9, rng)
    np.testing.assert_allclose(np.cov(noise.T), covariance_by_spectrum(amplitude, 9), atol=0.04)
    stepped = without_mean(noise_by_steps(np.full(DRAWS, 0.6), 9, rng), np.ones((DRAWS, 9), dtype=np.bool_))
    np.testing.assert_allclose(np.cov(stepped.T), covariance_by_steps(0.6, 9), atol=0.05)


def test_constant_series_have_no_spectrum_and_no_ratio() -> None:
    constant = np.array([[0.1] * 7, [np.nan] * 7])
    assert not amplitudes(constant).any()
    assert np.isnan(step_ratios(constant)).all()
    assert np.isfinite(file_amplitudes(constant)).all()


def test_a_gap_adds_no_power_of_its_own() -> None:
    series = np.array([[1.0, -1.0] * 8])
    series[0, 4:8] = np.nan
    power = amplitudes(series)[0] ** 2
    assert power[-1] == pytest.approx(power.max())
