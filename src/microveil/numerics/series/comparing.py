"""Series of two files on a common scale, and what of them is compared: a row is a series, a column a time."""

from __future__ import annotations

from typing import Literal

import numpy as np

from microveil.numerics.series.normalising import Normalisation, normalised
from microveil.numerics.series.spans import Spans
from microveil.typing import BoolArray, FloatArray, IntArray

CommonScale = Literal["none", "global", "file", "series", "ranks", "file-mirrored", "series-mirrored", "ranks-mirrored"]
_ROUNDING = 1e-9  # of a released value: a true one that far outside an interval is on its border


def on_common_scale(known: FloatArray, released: FloatArray, scale: CommonScale) -> tuple[FloatArray, FloatArray]:
    """The series of one variable of both files on a common scale; NaN stays NaN, and a constant becomes 0.

    By mean and standard deviation of all known values (`global`), of all values of each file (`file`) or of each
    series, or by the ranks of the values in their series; `mirrored` turns the released ones upside down.

    >>> known, released = np.array([[1.0, 2.0, 3.0]]), np.array([[50.0, 40.0, 30.0]])
    >>> one, other = on_common_scale(known, released, "series-mirrored")
    >>> bool(np.allclose(one, other))
    True
    """
    by = scale.removesuffix("-mirrored")
    if by == "global":
        common = Normalisation.of(known, "global")
        known, released = common.apply(known), common.apply(released)
    elif by == "file":
        known, released = normalised(known, "global"), normalised(released, "global")
    elif by == "series":
        known, released = normalised(known, "series"), normalised(released, "series")
    elif by == "ranks":
        known, released = centred_ranks(known), centred_ranks(released)
    return known, released if by == scale else -released


def centred_ranks(values: FloatArray) -> FloatArray:
    """The rank of each value in its series, from -1/2 to 1/2; equal values share theirs, and NaN stays NaN.

    >>> centred_ranks(np.array([[7.0, 3.0, np.nan, 7.0, 9.0]])).tolist()
    [[0.0, -0.375, nan, 0.0, 0.375]]
    """
    from scipy.stats import rankdata

    missing = np.isnan(values)
    ranks = rankdata(np.where(missing, np.inf, values), axis=1)  # missing cells come after all others
    count = np.maximum((~missing).sum(axis=1, keepdims=True), 1)
    return np.where(missing, np.nan, (ranks - 0.5) / count - 0.5)


def in_order(values: FloatArray) -> FloatArray:
    """The values of each series in ascending order, whatever their times; where cells are missing, as many quantiles of
    those that are there. NaN where none is.

    >>> in_order(np.array([[3.0, 1.0, 2.0], [5.0, np.nan, 4.0]])).tolist()
    [[1.0, 2.0, 3.0], [4.0, 4.5, 5.0]]
    """
    ordered = np.sort(values, axis=1)
    points = values.shape[1]
    count = (~np.isnan(values)).sum(axis=1)
    for row in np.flatnonzero((count > 0) & (count < points)):
        at = np.linspace(0, count[row] - 1, points)
        ordered[row] = np.interp(at, np.arange(count[row]), ordered[row, : count[row]])
    return ordered


def outside(values: FloatArray) -> BoolArray:
    """Which cells lie before the first or after the last value of their series.

    >>> outside(np.array([[np.nan, 1.0, np.nan, 2.0, np.nan]])).tolist()
    [[True, False, False, False, True]]
    """
    spans, at = Spans.of(~np.isnan(values)), np.arange(values.shape[1])
    return np.asarray((at < spans.first[:, None]) | (at > spans.last[:, None]))


def mean_cycle(values: FloatArray, length: int) -> FloatArray:
    """The mean over all cycles of so many points, phase by phase; the last may be cut short.

    >>> mean_cycle(np.array([[1.0, 5.0, 3.0, np.nan, 8.0]]), 2).tolist()
    [[4.0, 5.0]]
    """
    made = np.full((len(values), min(length, values.shape[1])), np.nan)
    for phase in range(made.shape[1]):
        cells = values[:, phase::length]
        present = ~np.isnan(cells)
        count = present.sum(axis=1)
        sums = np.sum(cells, axis=1, where=present)
        made[:, phase] = np.where(count > 0, sums / np.maximum(count, 1), np.nan)
    return made


def cells_within(known: FloatArray, released: FloatArray, width: float) -> BoolArray:
    """Which known values lie at most `width` per cent of the released value away from it; a released 0 tells only a 0.

    >>> cells_within(np.array([9.0, 11.2, 0.0, -9.5]), np.array([10.0, 10.0, 0.0, -10.0]), 10).tolist()
    [True, False, True, True]
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(100 * np.abs(known - released) <= (width + _ROUNDING) * np.abs(released))


def stretches(points: int, length: int, wanted: int) -> list[IntArray]:
    """So many stretches of consecutive points, evenly spread over a series; all there are if these are no more.

    >>> [stretch.tolist() for stretch in stretches(6, 2, 3)]
    [[0, 1], [2, 3], [4, 5]]
    """
    length = min(length, points)
    starts = np.unique(np.linspace(0, points - length, wanted).round().astype(np.int64))
    return [np.arange(start, start + length) for start in starts]


def scattered(points: int, length: int, wanted: int, rng: np.random.Generator) -> list[IntArray]:
    """So many different choices of points of a series, each in order, as far as there are any."""
    length = min(length, points)
    drawn = [tuple(np.sort(rng.permutation(points)[:length]).tolist()) for _ in range(20 * wanted)]
    return [np.array(choice, dtype=np.int64) for choice in list(dict.fromkeys(drawn))[:wanted]]
