"""Normal noise that varies over time as the series do: by their spectrum, or by how much they change in a step.

All noise here has standard deviation 1 over a series without gaps; whoever adds it takes out its mean over the values
that are there, multiplies it by a size, and shifts the level by a number of its own.
"""

from __future__ import annotations

import numpy as np

from microveil.numerics.series.components import deviations, spreads
from microveil.typing import BoolArray, FloatArray

_GRID = np.concatenate([np.linspace(-0.99, 0.9, 379, endpoint=False), 1.0 - np.geomspace(0.1, 0.0005, 120)])


def amplitudes(values: FloatArray) -> FloatArray:
    """The amplitude spectrum of each series, scaled to the variance 1; flat 0 for a constant one.

    Missing values count as the level, so that a gap adds no power of its own.
    """
    length = values.shape[1]
    spectrum = np.abs(np.fft.rfft(deviations(values), axis=1))
    spectrum[:, 0] = 0.0
    spectrum[spreads(values) == 0] = 0.0
    power = two_sided(spectrum**2, length)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(power[:, None] > 0, spectrum * length / np.sqrt(power)[:, None], 0.0))


def file_amplitudes(values: FloatArray) -> FloatArray:
    """The amplitude spectrum of the whole file: each series that varies counts alike. Flat where none varies."""
    each = amplitudes(values)
    varying = each.any(axis=1)
    if varying.any():
        return np.asarray(np.sqrt((each[varying] ** 2).mean(axis=0)))
    flat = np.ones(each.shape[1])
    flat[0] = 0.0
    return np.asarray(flat * values.shape[1] / np.sqrt(max(1.0, float(two_sided(flat[None] ** 2, values.shape[1])[0]))))


def two_sided(power: FloatArray, length: int) -> FloatArray:
    """The power over all frequencies, where those of an array stand for a real series of this length."""
    weight = np.full(power.shape[1], 2.0)
    weight[0] = 1.0
    if length % 2 == 0:
        weight[-1] = 1.0
    return np.asarray(power @ weight)


def noise_by_spectrum(amplitude: FloatArray, length: int, rng: np.random.Generator) -> FloatArray:
    """For each row of amplitudes a series whose periodogram is theirs, squared, in expectation."""
    shape = amplitude.shape
    drawn = np.empty(shape, dtype=np.complex128)
    drawn.real, drawn.imag = rng.standard_normal(shape), rng.standard_normal(shape)
    drawn *= np.sqrt(0.5)
    if length % 2 == 0:  # the highest frequency has no phase
        drawn[:, -1] = drawn[:, -1].real * np.sqrt(2.0)
    return np.asarray(np.fft.irfft(amplitude * drawn, n=length, axis=1))


def step_ratios(values: FloatArray) -> FloatArray:
    """The mean square of the changes between neighbouring points over the variance (von Neumann's ratio); NaN for a
    series that is constant or has no two neighbouring values."""
    changes = np.diff(values, axis=1)
    pairs = (~np.isnan(changes)).sum(axis=1)
    spread = spreads(values)
    usable = (pairs > 0) & (spread > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.nansum(changes**2, axis=1) / pairs / spread**2
    return np.asarray(np.where(usable, ratio, np.nan))


def coefficients(ratios: FloatArray, length: int) -> FloatArray:
    """The coefficient with which a sum of steps falls back, so that noise of this length has the ratio in expectation.

    A series smoother than a random walk of its length cannot be followed; it gets the largest coefficient.
    """
    reached = 2.0 * (1.0 - _GRID) / (1.0 - variance_of_mean(_GRID, length))
    return np.asarray(np.interp(ratios, reached[::-1], _GRID[::-1]))


def variance_of_mean(coefficient: FloatArray, length: int) -> FloatArray:
    """The variance of the mean of so many values of an autoregressive process of variance 1."""
    rest = 1.0 - coefficient
    spread_out = length * (1.0 - coefficient**2) - 2.0 * coefficient * (1.0 - coefficient**length)
    return np.asarray(spread_out / (length * rest) ** 2)


def noise_by_steps(coefficient: FloatArray, length: int, rng: np.random.Generator) -> FloatArray:
    """For each coefficient independent steps that are summed up and fall back, from the first point on as widely spread
    as at any other. Its own mean is still in it."""
    drawn = rng.standard_normal((len(coefficient), length))
    step = np.sqrt(1.0 - coefficient**2)
    for t in range(1, length):
        drawn[:, t] = coefficient * drawn[:, t - 1] + step * drawn[:, t]
    return np.asarray(drawn / np.sqrt(1.0 - variance_of_mean(coefficient, length))[:, None])


def without_mean(noise: FloatArray, present: BoolArray) -> FloatArray:
    """The noise less its mean over the values that are there."""
    mean = (noise * present).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    return np.asarray(noise - mean[:, None])


def covariance_by_spectrum(amplitude: FloatArray, length: int) -> FloatArray:
    """The covariances of noise with these amplitudes between the points of a series."""
    lagged = np.fft.irfft(amplitude**2, n=length) / length
    at = np.arange(length)
    return np.asarray(lagged[(at[:, None] - at) % length])


def covariance_by_steps(coefficient: float, length: int) -> FloatArray:
    """The covariances of summed steps less their mean, between the points of a series."""
    at = np.arange(length)
    raw = coefficient ** np.abs(at[:, None] - at)
    centred = raw - raw.mean(axis=0) - raw.mean(axis=1)[:, None] + raw.mean()
    return np.asarray(centred / (1.0 - variance_of_mean(np.array([coefficient]), length)[0]))
