"""How many of the population share a combination of which f are in the sample: its distribution under two models.

Each unit of the population is in the sample with probability pi. If the population frequency F has a Poisson
distribution with mean lambda, then F - f is Poisson with mean (1 - pi) lambda whatever f is. If lambda itself varies
between combinations by a gamma distribution with shape a and mean lambda (the negative binomial form), then given f it
has the shape a + f and the rate a / lambda + pi, and F - f is negative binomial: size a + f, and success probability
(a / lambda + pi) / (a / lambda + 1). For large a the second is the first; at a = 0 it is the distribution behind the
individual risk.
"""

from __future__ import annotations

import numpy as np

from microveil.typing import FloatArray

_NODES = 64
_REACH = 40.0  # beyond, the integrand has fallen below exp(-40) of where it began


def unseen_poisson(rate: FloatArray, population: FloatArray) -> FloatArray:
    """The expected number of units of the combination outside the sample, (1 - pi) lambda."""
    return np.asarray((1.0 - np.clip(rate, 0.0, 1.0)) * population)


def success_rate(rate: FloatArray, population: FloatArray, shape: float) -> FloatArray:
    """The success probability of the negative binomial distribution of F - f; 1 where nobody is outside."""
    prior = shape / np.maximum(population, 1e-300)
    return np.asarray((prior + np.clip(rate, 0.0, 1.0)) / (prior + 1.0))


def unique_poisson(unseen: FloatArray) -> FloatArray:
    """P(F = 1 | f = 1): nobody of the combination is outside the sample.

    >>> unique_poisson(np.array([0.0, 1.0])).round(6).tolist()
    [1.0, 0.367879]
    """
    return np.exp(-unseen)


def unique_negative_binomial(success: FloatArray, shape: float) -> FloatArray:
    """The same in the negative binomial form: p^(a + 1).

    >>> unique_negative_binomial(np.array([0.5, 1.0]), 1.0).tolist()
    [0.25, 1.0]
    """
    return np.asarray(success ** (shape + 1.0))


def inverse_poisson(sampled: FloatArray, unseen: FloatArray) -> FloatArray:
    """E(1 / F | f), the integral over s from 0 to 1 of s^(f - 1) exp(-m (1 - s)) for m expected outside the sample.

    For f = 1 it is (1 - exp(-m)) / m.

    >>> inverse_poisson(np.array([1.0, 2.0]), np.array([1.0, 0.0])).round(6).tolist()
    [0.632121, 0.5]
    """
    f, m = np.maximum(sampled, 1.0)[:, None], unseen[:, None]
    ends = np.minimum(1.0, _REACH / np.maximum(m + f - 1.0, _REACH))
    y, weights = _nodes(ends)
    return np.asarray((weights * np.exp(-m * y + (f - 1.0) * np.log1p(-y))).sum(axis=1))


def inverse_negative_binomial(sampled: FloatArray, success: FloatArray, shape: float) -> FloatArray:
    """E(1 / F | f), the integral of s^(f - 1) (p / (1 - q s))^(a + f); with z = log(1 + (q / p)(1 - s)) the
    integrand falls evenly. For f = 1 it is p (1 - p^a) / (q a).

    >>> inverse_negative_binomial(np.array([1.0, 3.0]), np.array([0.5, 1.0]), 1.0).round(6).tolist()
    [0.5, 0.333333]
    """
    f, p = np.maximum(sampled, 1.0)[:, None], np.clip(success, 1e-300, 1.0)[:, None]
    q = 1.0 - p
    odds = q / p
    fall = shape + f - 1.0  # of the integrand in z, beside what (1 - y)^(f - 1) adds
    ends = np.minimum(-np.log(p), _REACH / np.maximum(fall, 1e-3))
    z, weights = _nodes(ends)
    y = np.minimum(np.expm1(z) / np.maximum(odds, 1e-300), 1.0 - 1e-16)
    found = (weights * np.exp(-fall * z + (f - 1.0) * np.log1p(-y))).sum(axis=1)[:, None] / np.maximum(odds, 1e-300)
    return np.where(q[:, 0] < 1e-12, 1.0 / f[:, 0], found[:, 0])


def _nodes(ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on the intervals from 0 to each end."""
    x, w = np.polynomial.legendre.leggauss(_NODES)
    return ends * (x + 1.0) / 2.0, ends * w / 2.0


def below_poisson(k: int, sampled: FloatArray, unseen: FloatArray) -> FloatArray:
    """P(F < k | f) where F - f is Poisson.

    >>> below_poisson(2, np.array([1.0, 2.0]), np.array([1.0, 0.0])).round(6).tolist()
    [0.367879, 0.0]
    """
    from scipy.special import pdtr

    room = k - 1.0 - np.maximum(sampled, 1.0)
    return np.where(room >= 0, pdtr(np.maximum(room, 0.0), unseen), 0.0)


def truncated_mean(sampled: FloatArray) -> FloatArray:
    """The mean of the Poisson distribution under which, of frequencies above 0, f is the expected one: the maximum
    likelihood estimate from one combination of which it is known that it is in the sample.

    It solves m / (1 - exp(-m)) = f; a single record gives 0.

    >>> truncated_mean(np.array([1.0, 2.0])).round(6).tolist()
    [0.0, 1.593624]
    """
    from scipy.special import lambertw

    several = sampled > 1
    f = np.where(several, sampled, 2.0)
    return np.where(several, f + np.real(lambertw(-f * np.exp(-f))), 0.0)


def below_negative_binomial(k: int, sampled: FloatArray, rate: FloatArray) -> FloatArray:
    """P(F < k | f) where F is negative binomial with f successes at the sampling rate: f of k - 1 trials succeed.

    >>> below_negative_binomial(2, np.array([1.0, 2.0]), np.array([0.25, 0.25])).tolist()
    [0.25, 0.0]
    """
    from scipy.special import betainc

    f = np.maximum(sampled, 1.0)
    room = k - f
    return np.where(room > 0, betainc(f, np.maximum(room, 1.0), np.clip(rate, 0.0, 1.0)), 0.0)


def proving_frequency(k: int, rate: float, significance: float) -> int:
    """The least frequency in the sample that proves at least k in the population: if there were k, so many would be
    drawn with a smaller probability than the level of significance, by the Poisson distribution truncated at zero.

    >>> proving_frequency(5, 0.1, 0.1), proving_frequency(5, 1.0, 0.1)
    (3, 5)
    """
    from scipy.special import pdtrc

    if rate >= 1:
        return k
    mean = rate * k
    lower, upper = 1, k  # k records prove it themselves
    while lower < upper:
        f = (lower + upper) // 2
        rare = pdtrc(f - 1, mean) / pdtrc(0, mean) < significance
        lower, upper = (lower, f) if rare else (f + 1, upper)
    return lower
