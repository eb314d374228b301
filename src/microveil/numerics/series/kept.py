"""What masked series have kept of the original ones, measured over a whole file: mean, autocorrelation, spectrum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.series.autocorrelated_noise import file_amplitudes
from microveil.numerics.series.components import spreads
from microveil.numerics.series.statistics import autocovariance, greatest, means
from microveil.typing import BoolArray, FloatArray


@dataclass(frozen=True)
class KeptMeans:
    """Changes as percentages of the standard deviation of all original cells: of the mean of all cells, and, without
    its sign, of the mean of one series on average."""

    file: float
    series: float


@dataclass(frozen=True)
class KeptDynamics:
    """Autocorrelations before and after, on average over the series that vary in both files, at lag 1 and at a `lag` of
    a quarter of the length; and the percentage of the power of the average spectrum that lies at other frequencies."""

    first_before: float
    first_after: float
    lag: int
    quarter_before: float
    quarter_after: float
    spectrum: float


def kept_means(before: FloatArray, after: FloatArray) -> KeptMeans | None:
    """None where all values are equal, so that there is nothing to measure by."""
    present = ~np.isnan(before)
    if not present.any():
        return None
    centre = float(before[present].mean())
    spread = float(before[present].std())
    if spread <= 1e-12 * abs(centre):
        return None
    moved = np.abs(means(after) - means(before))
    file = abs(float(after[present].mean()) - centre)
    return KeptMeans(_but_for_rounding(file / spread), _but_for_rounding(float(np.nanmean(moved)) / spread))


def _but_for_rounding(share: float) -> float:
    """A share as a percentage, 0 where only the last digits differ."""
    return 100.0 * share if share > 1e-12 else 0.0


def kept_dynamics(before: FloatArray, after: FloatArray) -> KeptDynamics | None:
    """None where no series varies in both files, or where they are too short to have an autocorrelation."""
    length = before.shape[1]
    varying = _varies(before) & _varies(after)
    if length < 3 or not varying.any():
        return None
    one, other = before[varying], after[varying]
    lag = max(1, length // 4)
    first, quarter = (tuple(_autocorrelation(cells, j) for cells in (one, other)) for j in (1, lag))
    powers = [file_amplitudes(cells) ** 2 for cells in (one, other)]
    shares = [power / power.sum() for power in powers]
    moved = 50.0 * float(np.abs(shares[0] - shares[1]).sum())
    return KeptDynamics(first[0], first[1], lag, quarter[0], quarter[1], moved)


def _autocorrelation(values: FloatArray, lag: int) -> float:
    return float(autocovariance(values, lag, normalise=True).mean())


def _varies(values: FloatArray) -> BoolArray:
    return spreads(values) > 1e-12 * greatest(values)
