"""The energy distance between two tables whose records belong together in pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.numerics.core.compiled import kernel, over_chunks
from microveil.progress import Progress, silent
from microveil.typing import FloatArray

_CHUNK = 64


class Energy(NamedTuple):
    """The energy distance as a share of its greatest possible size, and its standard error if the rows are a sample."""

    share: float
    error: float


def energy_distance(
    one: FloatArray, other: FloatArray, progress: Progress = silent, label: str = "comparing records"
) -> Energy:
    """The root of (2 E|X - Y| - E|X - X'| - E|Y - Y'|) / (2 E|X - Y|), in [0, 1]: 0 only for equal distributions.

    The error follows from how much each record takes part in the two means.

    >>> round(energy_distance(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]])).share, 3)
    0.577
    """
    one, other = np.ascontiguousarray(one), np.ascontiguousarray(other)

    def work(start: int, end: int) -> FloatArray:
        return _means_of_some(one, other, start, end)

    across, within = np.concatenate(over_chunks(work, len(one), _CHUNK, progress, label)).T
    whole = float(across.mean())
    if not whole > 0:
        return Energy(0.0, 0.0)
    squared = max(0.0, (whole - float(within.mean())) / whole)
    share = float(np.sqrt(squared))
    influence = across * (1 - squared) - within
    error = 2 * float(influence.std()) / (whole * np.sqrt(len(one)))
    return Energy(share, error / (2 * share) if share > 0 else 0.0)


@kernel
def _means_of_some(one: FloatArray, other: FloatArray, start: int, end: int) -> FloatArray:
    """For each record the mean distance to all records of the other table, from both sides, and within its own."""
    n, d = one.shape
    means = np.zeros((end - start, 2))
    for i in range(start, end):
        across, within = 0.0, 0.0
        for j in range(n):
            xy = yx = xx = yy = 0.0
            for c in range(d):
                xy += (one[i, c] - other[j, c]) ** 2
                yx += (other[i, c] - one[j, c]) ** 2
                xx += (one[i, c] - one[j, c]) ** 2
                yy += (other[i, c] - other[j, c]) ** 2
            across += np.sqrt(xy) + np.sqrt(yx)
            within += np.sqrt(xx) + np.sqrt(yy)
        means[i - start, 0], means[i - start, 1] = across / n, within / n
    return means
