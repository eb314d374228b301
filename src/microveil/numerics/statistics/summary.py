"""The summary of one attribute that papers print for their files."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microveil.numerics.grouping.univariate import modal_value
from microveil.typing import FloatArray


class Summary(NamedTuple):
    """Extremes, mean, median, mode and sample deviation. They show values of single records: not for release."""

    maximum: float
    minimum: float
    mean: float
    median: float
    mode: float
    deviation: float


def summarise(values: FloatArray) -> Summary:
    """Over the values present; NaN throughout where there is none, and no deviation of a single value.

    The mode is the most frequent value, of equally frequent ones the first in the file; where all values differ, the
    least.

    >>> summarise(np.array([3.0, 1.0, 1.0, np.nan, 7.0]))[:5]
    (7.0, 1.0, 3.0, 2.0, 1.0)
    """
    present = values[~np.isnan(values)]
    if present.size == 0:
        return Summary(*[float("nan")] * 6)
    common = modal_value(present)
    return Summary(
        maximum=float(present.max()),
        minimum=float(present.min()),
        mean=float(present.mean()),
        median=float(np.median(present)),
        mode=float(present.min()) if common is None else common,
        deviation=float(present.std(ddof=1)) if present.size > 1 else float("nan"),
    )
