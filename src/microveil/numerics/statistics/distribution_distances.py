"""Distances between the distributions of two samples of one variable, and the density of a sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.typing import FloatArray

_REACH = 8.5  # bandwidths beyond which a normal kernel is nothing


class Steps(NamedTuple):
    """Between the distribution functions of two samples: the greatest gap, the area between them, and the area of the
    squared gap."""

    kolmogorov: float
    wasserstein: float
    squared: float


def step_distances(one: FloatArray, other: FloatArray) -> Steps:
    """The distances between the distribution functions of two ascending samples, which may be of unequal length.

    >>> step_distances(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    Steps(kolmogorov=0.5, wasserstein=1.0, squared=0.5)
    """
    both = np.concatenate([one, other])
    both.sort(kind="stable")
    gap = np.searchsorted(one, both, side="right") / len(one) - np.searchsorted(other, both, side="right") / len(other)
    gap, width = np.abs(gap[:-1]), np.diff(both)
    return Steps(float(gap.max(initial=0.0)), float(gap @ width), float(gap**2 @ width))


def quantile_shares(one: FloatArray, other: FloatArray, bins: int) -> tuple[FloatArray, FloatArray]:
    """The shares of two ascending samples in intervals cut at quantiles of the first; the ends are open."""
    cuts = np.unique(one[(np.arange(1, bins) * len(one)) // bins])
    shares = (
        np.diff(np.searchsorted(sample, cuts, side="left"), prepend=0, append=len(sample)) / len(sample)
        for sample in (one, other)
    )
    first, second = shares
    return first, second


def hellinger(one: FloatArray, other: FloatArray) -> float:
    """The Hellinger distance of two distributions over the same cells, in [0, 1]."""
    return float(np.sqrt(max(0.0, np.square(np.sqrt(one) - np.sqrt(other)).sum() / 2)))


def jensen_shannon(one: FloatArray, other: FloatArray) -> float:
    """The Jensen-Shannon divergence in bits, in [0, 1]."""
    middle = (one + other) / 2
    return max(0.0, (_kullback(one, middle) + _kullback(other, middle)) / 2)


def _kullback(shares: FloatArray, middle: FloatArray) -> float:
    there = shares > 0
    return float((shares[there] * np.log2(shares[there] / middle[there])).sum())


def density_at(points: FloatArray, ascending: FloatArray) -> FloatArray:
    """The normal-kernel density of an ascending sample at some points, with Silverman's bandwidth; 0 for a constant.

    >>> density_at(np.array([0.0]), np.array([-1.0, 0.0, 1.0])).round(4).tolist()
    [0.335]
    """
    n = len(ascending)
    deviation = float(ascending.std(ddof=1)) if n > 1 else 0.0
    low, high = np.quantile(ascending, [0.25, 0.75])
    spread = min(deviation, float(high - low) / 1.34) or deviation
    width = 0.9 * spread * n**-0.2
    if not width > 0:
        return np.zeros(len(points))
    found = np.empty(len(points))
    for i, point in enumerate(points):
        start, end = np.searchsorted(ascending, [point - _REACH * width, point + _REACH * width])
        found[i] = np.exp(-0.5 * ((ascending[start:end] - point) / width) ** 2).sum()
    return np.asarray(found / (n * width * np.sqrt(2 * np.pi)))
